# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run knows of the certificates of chassis, their metadata agents and clients, and which central hosts have another list of them. Pure."""

from __future__ import annotations

import re
import typing as t

from .._api.names import issued_certificates_name
from .._base.inventory import as_list, system_id_of
from .._pki.issued import (
    CHASSIS,
    CLIENT,
    METADATA_AGENT,
    IssuedCertificate,
    IssuedChange,
    is_time,
    list_path,
    merge_list,
    parse_list,
)
from .central import PREFIX, CentralMachineOptions
from .endpoints import is_managed
from .pki import makes_secret
from .pki_clients import recorded_clients
from .variables import Groups, Hostvars, Variables, backend_of, first_value, is_true, members_of

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
    kind: str = CHASSIS,
    removed_chassis: t.Any = (),
    check_mode: bool = False,
) -> dict[str, t.Any]:
    """Return `change` (options of `ovn_issued_certificates`) and where it is due: `machines` and `clusters`, both names of central hosts.

    `hosts` take part in the run, `clients` are from `pki_clients`; None if this run has nothing to do with them. `kind` says whose certificates the run has
    issued: those of chassis or of their metadata agents. `removed_chassis` are names of chassis that leave the list, a list or a text with commas.
    """
    hosts = list(hosts)
    removed = as_list(removed_chassis or ())
    removed_agents = list(removed)
    if kind == METADATA_AGENT:
        entries = _of_metadata_agents(hosts, hostvars, groups, removed_agents, check_mode)
    else:
        entries = _of_chassis(hosts, hostvars, groups, removed, removed_agents, check_mode)
    if clients is not None:
        members = set(members_of(groups, "ovn_central"))
        issuers = [hostvars[host] for host in hosts if host in members]
        entries += _of_clients(clients, issuers, check_mode, left_out=_not_handed_out(hostvars, groups))
    names = None if clients is None else [client["name"] for client in clients]
    change = IssuedChange(
        [one for one, new in entries if not new], [one for one, new in entries if new], removed, names, removed_agents
    )
    central = {host: hostvars[host] for host in members_of(groups, "ovn_central")}
    # Those of others have no observer of ours.
    central = {host: one for host, one in central.items() if is_managed(one)}
    knows_something = bool(entries or removed or removed_agents or names is not None)
    return {
        "change": {
            "certificates": [{**one._asdict(), "issued": new} for one, new in entries],
            "removed_chassis": removed,
            "removed_metadata_agents": removed_agents,
            **({} if names is None else {"clients": names}),
        },
        "machines": [
            host for host, one in central.items() if knows_something and not is_cluster(one) and _is_due(one, change)
        ],
        "clusters": [host for host, one in central.items() if knows_something and is_cluster(one)],
    }


def _of_chassis(
    hosts: t.Iterable[str],
    hostvars: Hostvars,
    groups: Groups,
    removed: list[str],
    removed_agents: list[str],
    check_mode: bool,
) -> list[Entry]:
    """Return the entries of chassis, and add to `removed` who leaves the list, and to `removed_agents` whose metadata agent goes with the chassis."""
    entries: list[Entry] = []
    hypervisors = set(members_of(groups, "ovn_hypervisors"))
    for host in (one for one in hosts if one in hypervisors):
        variables = hostvars[host]
        known = _known(variables)
        if gone := _removed_chassis(host, variables):
            removed += gone
            removed_agents += gone
        elif leaving := _leaving(host, variables, known, hostvars, groups):
            removed += leaving
        elif (entry := _entry(CHASSIS, known, check_mode)) is not None:
            entries.append(entry)
    return entries


def _of_metadata_agents(
    hosts: t.Iterable[str], hostvars: Hostvars, groups: Groups, removed: list[str], check_mode: bool
) -> list[Entry]:
    """Return the entries of metadata agents on machines, and add to `removed` the chassis that have none of ours, or one without TLS."""
    entries: list[Entry] = []
    machines, gateways = set(members_of(groups, "ovn_hypervisors")), set(members_of(groups, "ovn_gateways"))
    for host in (one for one in hosts if one in machines):
        variables = hostvars[host]
        known = (variables.get("ovn_pki_recorded") or {}).get(METADATA_AGENT) or {}
        if backend_of(variables) == "kubernetes":  # its pods use the certificates of their nodes
            continue
        if host in gateways or not _has_agent_with_tls(variables):
            removed.append(system_id_of(host, variables))
        elif (entry := _entry(METADATA_AGENT, known, check_mode)) is not None:
            entries.append(entry)
    return entries


def _has_agent_with_tls(variables: Variables) -> bool:
    """Return whether c5c3.ovn.neutron renews a certificate of a metadata agent here, if the machine is no gateway."""
    has_tls = is_true(variables, "ovn_tls", default=True)
    return has_tls and bool(first_value(variables, "ovn_metadata_agent_nova_host"))


def _known(variables: Variables) -> Variables:
    """Return what this run knows of the certificate of a chassis: what ovn_pki has recorded, else how the look at the machine has found it; else nothing."""
    recorded = (variables.get("ovn_pki_recorded") or {}).get(CHASSIS)
    if recorded:
        return t.cast("Variables", recorded)
    declared = variables.get("ovn_pki_declared") or {}
    compared = _checked(variables).get("certificates")
    if declared.get("certificate") != CHASSIS or not compared or not declared.get("pairs"):
        return {}
    pair = declared["pairs"][0]
    return {**compared[0], "holder": pair["common_name"], "path": pair["certificate"], "issued": False}


def _checked(variables: Variables) -> Variables:
    """Return what the role ovn_hypervisor has found on a machine, or resolved of it, in this run; empty if it has not."""
    return variables.get("ovn_hypervisor_check") or {}


def _signed_name(host: str, variables: Variables) -> str:
    return str(first_value(variables, "ovn_pki_common_name", "ovn_system_id", default=host))


def _removed_chassis(host: str, variables: Variables) -> list[str]:
    """Return the names of a chassis that is removed, none if it is not: that in the Southbound, and that in its certificate."""
    removed = _checked(variables).get("removed_chassis")
    if removed or first_value(variables, "ovn_hypervisor_state", default="present") != "present":
        names = [str(removed or system_id_of(host, variables)), _signed_name(host, variables)]
        return list(dict.fromkeys(names))
    return []


def _leaving(host: str, variables: Variables, known: Variables, hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the names under which a host leaves the list because its chassis uses a certificate that another owner renews without a run."""
    signed = _signed_name(host, variables)
    if not known and backend_of(variables) == "kubernetes":
        # Members serve that of the control plane, so observers know it.
        return [] if makes_secret(host, CHASSIS, hostvars, groups) else [signed]
    used = _checked(variables).get("certificate") or first_value(variables, "ovn_hypervisor_certificate")
    return [known["holder"]] if known.get("path") and used and used != known["path"] else []


def _not_handed_out(hostvars: Hostvars, groups: Groups) -> set[str]:
    """Return the clients whose certificates c5c3.ovn.neutron brings to hosts, but not to all of them in this run: some may use one that ends earlier."""
    controllers = members_of(groups, "ovn_controllers")
    return set() if all(hostvars[host].get("ovn_neutron_handed_out") for host in controllers) else {"neutron"}


def _of_clients(
    clients: t.Sequence[Variables], central: t.Sequence[Variables], check_mode: bool, *, left_out: t.Collection[str]
) -> list[Entry]:
    """Return the entries of clients but for those that are left out, whose certificates one of the central hosts was to issue."""
    names = [client["name"] for client in clients]
    known: dict[str, Variables] = {}
    for variables in central:
        compared = (variables.get("ovn_pki_declared") or {}).get("clients") or []
        if len(compared) == len(names):
            known.update(zip(names, compared))
    for variables in central:
        known.update(recorded_clients(variables))
    shown = [name for name in names if name in known and name not in left_out]
    entries = (_entry(CLIENT, {**known[name], "holder": name}, check_mode) for name in shown)
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
    files = (central.get("ovn_central_check") or {}).get("files")
    if files is None:
        return True
    before = parse_list(files.get(issued_path(central)) or "") or []
    return merge_list(before, change) != before


def is_cluster(central: Variables) -> bool:
    """Return whether the control plane of this central host is in Kubernetes."""
    return backend_of(central) == "kubernetes"


def issued_path(central: Variables) -> str:
    """Return the file of a machine: the one of its observer if the role ovn_central has run, else what the inventory says."""
    recorded = ((central.get("ovn_central_check") or {}).get("desired") or {}).get("issued_certificates")
    directory = first_value(central, f"{PREFIX}config_directory", default=CentralMachineOptions.config_directory)
    return str(recorded or list_path(directory))


def issued_place(hostvars: Hostvars, host: str) -> dict[str, t.Any]:
    """Return the options of `ovn_issued_certificates` that name the list of this central host, and its `title` for messages."""
    central = hostvars[host]
    if not is_cluster(central):
        path = issued_path(central)
        return {"title": path, "path": path}
    namespace, cluster = _option(central, "namespace", "ovn-system"), _option(central, "cluster_name", "ovn")
    return {
        "title": f"ConfigMap {namespace}/{issued_certificates_name(cluster)}",
        "kubeconfig": _option(central, "kubeconfig"),
        "context": _option(central, "context"),
        "namespace": namespace,
        "cluster": cluster,
    }


def _option(central: Variables, name: str, default: str = "") -> t.Any:
    return first_value(central, f"ovn_{name}", default=default)
