# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a run knows of the certificates of chassis and clients, and which central hosts have another list of them. Pure.
"""

from __future__ import annotations

import re
import typing as t

from .._inventory import as_list, system_id_of
from .._pki.issued import CHASSIS, CLIENT, IssuedCertificate, IssuedChange, is_time, merge_list, parse_list
from .foreign_central import is_managed
from .issued_place import is_cluster, issued_path
from .pki import makes_secret
from .variables import Groups, Hostvars, Variables, backend_of, first_value, members_of

# What a hypervisor says of its certificate goes into texts that Ansible may take for templates, and to the central hosts.
_STRANGE = re.compile(r"[^\w .,:;@()+=/'-]")
_LONGEST_NAME = 200
_SERIAL_NUMBER = re.compile("[0-9a-f]{1,40}")

Entry = tuple[IssuedCertificate, bool]  # whether this run has issued it, or would


def issued_change(
    hosts: t.Iterable[str],
    hostvars: Hostvars,
    groups: Groups,
    clients: t.Sequence[Variables] | None = None,
    *,
    removed_chassis: t.Any = (),
    check_mode: bool = False,
) -> dict[str, t.Any]:
    """Return `change` (options of `ovn_issued_certificates`) and where it is due: `machines` and `clusters`, both names of central hosts.

    `hosts` take part in the run, `clients` are from `pki_clients`; None if this run has nothing to do with them. `removed_chassis` are names of chassis that
    leave the list, a list or a text with commas.
    """
    hosts = list(hosts)
    removed = as_list(removed_chassis or ())
    entries = _of_chassis(hosts, hostvars, groups, removed, check_mode)
    if clients is not None:
        members = set(members_of(groups, "ovn_central"))
        entries += _of_clients(clients, [hostvars[host] for host in hosts if host in members], check_mode)
    names = None if clients is None else [client["name"] for client in clients]
    change = IssuedChange(
        [one for one, new in entries if not new], [one for one, new in entries if new], removed, names
    )
    central = {host: hostvars[host] for host in members_of(groups, "ovn_central")}
    # Those of others have no observer of ours.
    central = {host: one for host, one in central.items() if is_managed(one)}
    knows_something = bool(entries or removed or names is not None)
    return {
        "change": {
            "certificates": [{**one._asdict(), "issued": new} for one, new in entries],
            "removed_chassis": removed,
            **({} if names is None else {"clients": names}),
        },
        "machines": [
            host for host, one in central.items() if knows_something and not is_cluster(one) and _is_due(one, change)
        ],
        "clusters": [host for host, one in central.items() if knows_something and is_cluster(one)],
    }


def _of_chassis(
    hosts: t.Iterable[str], hostvars: Hostvars, groups: Groups, removed: list[str], check_mode: bool
) -> list[Entry]:
    """Return the entries of chassis, and add to `removed` who leaves the list."""
    entries: list[Entry] = []
    hypervisors = set(members_of(groups, "ovn_hypervisors"))
    for host in (one for one in hosts if one in hypervisors):
        variables = hostvars[host]
        known = _known(variables)
        if leaving := _leaving(host, variables, known, hostvars, groups):
            removed += leaving
        elif (entry := _entry(CHASSIS, known, check_mode)) is not None:
            entries.append(entry)
    return entries


def _known(variables: Variables) -> Variables:
    """Return what this run knows of the certificate of a chassis: what ovn_pki has recorded, else how the look at the machine has found it; else nothing."""
    recorded = (variables.get("ovn_pki_recorded") or {}).get(CHASSIS)
    if recorded:
        return t.cast("Variables", recorded)
    declared = variables.get("ovn_pki_declared") or {}
    compared = (variables.get("ovn_hypervisor_found") or {}).get("certificates")
    if declared.get("certificate") != CHASSIS or not compared or not declared.get("pairs"):
        return {}
    pair = declared["pairs"][0]
    return {**compared[0], "holder": pair["common_name"], "path": pair["certificate"], "issued": False}


def _leaving(host: str, variables: Variables, known: Variables, hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the names under which a host leaves the list: its chassis is removed, or uses a certificate that another owner renews without a run."""
    signed = str(first_value(variables, "ovn_pki_common_name", "ovn_system_id", default=host))
    removed = first_value(variables, "ovn_hypervisor_removed_chassis")
    if removed or first_value(variables, "ovn_hypervisor_state", default="present") != "present":
        return list(dict.fromkeys([str(removed or system_id_of(host, variables)), signed]))
    if not known and backend_of(variables) == "kubernetes":
        # Members serve that of the control plane, so observers know it.
        return [] if makes_secret(host, CHASSIS, hostvars, groups) else [signed]
    used = first_value(variables, "ovn_hypervisor_certificate_in_use", "ovn_hypervisor_certificate")
    return [known["holder"]] if known.get("path") and used and used != known["path"] else []


def _of_clients(clients: t.Sequence[Variables], central: t.Sequence[Variables], check_mode: bool) -> list[Entry]:
    """Return the entries of clients, whose certificates one of the central hosts was to issue."""
    names = [client["name"] for client in clients]
    known: dict[str, Variables] = {}
    for variables in central:
        compared = (variables.get("ovn_pki_clients_compared") or {}).get("certificates") or []
        if len(compared) == len(names):
            known.update(zip(names, compared))
    for variables in central:
        known.update(variables.get("ovn_pki_recorded_clients") or {})
    entries = (_entry(CLIENT, {**known[name], "holder": name}, check_mode) for name in names if name in known)
    return [entry for entry in entries if entry is not None]


def _entry(kind: str, known: Variables, check_mode: bool) -> Entry | None:
    if check_mode and known.get("needed"):  # nobody knows yet when it will end
        return IssuedCertificate(kind, known["holder"], "", "", ""), True
    serial_number, not_after = (str(known.get(key) or "") for key in ("serial_number", "not_after"))
    if not is_time(not_after) or not _SERIAL_NUMBER.fullmatch(serial_number):
        return None
    issuer = _STRANGE.sub("?", str(known.get("issuer_name") or ""))[:_LONGEST_NAME]
    return IssuedCertificate(kind, known["holder"], issuer, serial_number, not_after), bool(known.get("issued"))


def _is_due(central: Variables, change: IssuedChange) -> bool:
    """Return whether the list of a machine would change, as far as this run has read it."""
    files = (central.get("ovn_central_found") or {}).get("files")
    if files is None:
        return True
    before = parse_list(files.get(issued_path(central)) or "") or []
    return merge_list(before, change) != before
