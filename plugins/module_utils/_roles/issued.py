# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a run knows of the certificates of chassis and clients, and which central hosts have another list of them. Pure, but for the certificates of clients, which
are read on the control node.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import InvalidInput
from .._pki import certificates
from .._pki.files import read
from .._pki.issued import CHASSIS, CLIENT, FILE_NAME, IssuedCertificate, IssuedChange, is_time, merge_list, parse_list
from .pki import makes_secret
from .variables import Groups, Hostvars, Variables, backend_of, first_value, hosts_by_backend, members_of

# What a hypervisor says of its certificate goes into texts that Ansible may take for templates, and to the central hosts.
_STRANGE = re.compile(r"[^\w .,:;@()+=/'-]")
_LONGEST_NAME = 200
_SERIAL_NUMBER = re.compile("[0-9a-f]{1,40}")


def issued_change(
    hosts: t.Iterable[str],
    hostvars: Hostvars,
    groups: Groups,
    clients: t.Sequence[Variables] | None = None,
    *,
    check_mode: bool = False,
) -> dict[str, t.Any]:
    """Return `change` (options of `ovn_issued_certificates`) and where it is due: `machines` and `clusters`, both names of central hosts.

    `hosts` take part in the run, `clients` are from `pki_clients`; None if this run has nothing to do with them.
    """
    change = _change(hosts, hostvars, groups, clients, check_mode)
    central = hosts_by_backend(members_of(groups, "ovn_central"), hostvars)
    knows_something = change.certificates or change.removed_chassis or change.clients is not None
    return {
        "change": {
            "certificates": [one._asdict() for one in change.certificates],
            "removed_chassis": list(change.removed_chassis),
            **({} if change.clients is None else {"clients": list(change.clients)}),
        },
        "machines": [host for host in central["host"] if knows_something and _is_due(hostvars[host], change)],
        "clusters": central["kubernetes"] if knows_something else [],
    }


def issued_path(central: Variables) -> str:
    """Return the file of a central host."""
    return f"{first_value(central, 'ovn_central_config_directory', default='/etc/c5c3-ovn')}/{FILE_NAME}"


def _change(
    hosts: t.Iterable[str],
    hostvars: Hostvars,
    groups: Groups,
    clients: t.Sequence[Variables] | None,
    check_mode: bool,
) -> IssuedChange:
    found: list[IssuedCertificate] = []
    removed: list[str] = []
    hypervisors = set(members_of(groups, "ovn_hypervisors"))
    for host in (one for one in hosts if one in hypervisors):
        variables = hostvars[host]
        name = _name(host, variables)
        if first_value(variables, "ovn_hypervisor_state", default="present") != "present":
            removed.append(name)
            continue
        result = _result(host, variables, hostvars, groups)
        certificate = _certificate(CHASSIS, name, result, check_mode)
        if certificate is not None:
            found.append(certificate)
    if clients is None:
        return IssuedChange(found, removed)
    found += [one for client in clients if (one := _client(client)) is not None]
    return IssuedChange(found, removed, [client["name"] for client in clients])


def _name(host: str, variables: Variables) -> str:
    """Return the name of the chassis, or that of the cluster whose nodes share a certificate."""
    if backend_of(variables) == "kubernetes":
        return str(first_value(variables, "ovn_pki_common_name", default=host))
    return str(first_value(variables, "ovn_hypervisor_system_id", "ovn_system_id", default=host))


def _result(host: str, variables: Variables, hostvars: Hostvars, groups: Groups) -> Variables:
    """Return what this run knows of the certificate of a chassis: as it was issued, else as it was compared; empty if it is not known, or not ours."""
    issued = (variables.get("ovn_pki_issued") or {}).get(CHASSIS)
    if issued:
        return t.cast("Variables", issued)
    if backend_of(variables) == "kubernetes":
        # Members serve that of the control plane, so observers know it; another owner renews a given one without a run.
        own = makes_secret(host, CHASSIS, hostvars, groups)
        return t.cast("Variables", variables.get("ovn_pki_state") or {}) if own else {}
    compared = (variables.get("ovn_hypervisor_found") or {}).get("certificates") or [{}]
    return t.cast("Variables", compared[0])


def _certificate(kind: str, holder: str, result: Variables, check_mode: bool) -> IssuedCertificate | None:
    if check_mode and result.get("needed"):  # nobody knows yet when it will end
        return IssuedCertificate(kind, holder, "", "", "")
    serial_number, not_after = (str(result.get(key) or "") for key in ("serial_number", "not_after"))
    if not is_time(not_after) or not _SERIAL_NUMBER.fullmatch(serial_number):
        return None
    issuer = _STRANGE.sub("?", str(result.get("issuer_name") or ""))[:_LONGEST_NAME]
    return IssuedCertificate(kind, holder, issuer, serial_number, not_after)


def _client(client: Variables) -> IssuedCertificate | None:
    """Return the certificate of a client, which is kept on the control node; None before it is made."""
    path = client["pair"]["certificate"]
    text = read(path)
    if text is None or certificates.CRYPTOGRAPHY_PROBLEM is not None:
        return None
    try:
        found = certificates.load_certificate(text, path)
    except InvalidInput:  # the role makes another one
        return None
    result = {
        "issuer_name": certificates.common_name(found.issuer),
        "serial_number": f"{found.serial_number:x}",
        "not_after": f"{certificates.not_after(found):%Y-%m-%dT%H:%M:%SZ}",
    }
    return _certificate(CLIENT, client["name"], result, check_mode=False)


def _is_due(central: Variables, change: IssuedChange) -> bool:
    """Return whether the list of a machine would change, as far as this run has read it."""
    files = (central.get("ovn_central_found") or {}).get("files")
    if files is None:
        return True
    before = parse_list(files.get(issued_path(central)) or "") or []
    return merge_list(before, change) != before
