"""Hosts as ovn_precheck measures them: healthy ones, of which a test changes what it is about."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.declared import DeclaredHost, declared_hosts
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measure import Limits, MeasuredHost

FACTS: dict[str, t.Any] = {
    "system": {"id": "debian", "version": "12", "name": "Debian 12", "kernel": "6.1.0", "machine": ""},
    "own_units": [],
    "daemons": [],
    "control_plane": [],
    "open_vswitch": {"bridges": [], "datapath_ports": [], "known_interfaces": None, "answers": False},
    "chassis": {"system_id": "", "remote": ""},
    "local_addresses": [],
    "listeners": [],
    "peers": [],
    "tunnel_devices": [],
    "underlay": None,
    "underlays": {},
    "paths": [],
    "file_systems": [],
    "kernel_modules": {},
    "datapath": None,
    "packages": {
        "manager": "apt",
        "installed": {},
        "candidates": {},
        "library_missing": False,
        "index": True,
        "index_age": 60.0,
        "archives": [],
        "repository": [],
        "unprobed": [],
        "problem": "",
    },
    "clock": {"began": 101.0, "ended": 102.0},
}
PACKAGES = (
    "ovn-central",
    "openvswitch-common",
    "python3-openvswitch",
    "python3-ovsdbapp",
    "openvswitch-switch",
    "ovn-host",
)


def facts(**changes: t.Any) -> dict[str, t.Any]:
    """The facts of a host that has everything; `packages` are added to what it has."""
    own = copy.deepcopy(FACTS)
    own["packages"]["candidates"] = dict.fromkeys(PACKAGES, "23.03.1-1~deb12u2")
    own["packages"].update(changes.pop("packages", {}))
    own["system"].update(changes.pop("system", {}))
    return {**own, **changes}


def declare(groups: t.Mapping[str, t.Mapping[str, t.Mapping[str, t.Any]]]) -> dict[str, DeclaredHost]:
    """What an inventory declares: groups, their hosts, and the variables of each."""
    hostvars: dict[str, dict[str, t.Any]] = {}
    for hosts in groups.values():
        for name, variables in hosts.items():
            hostvars.setdefault(name, {}).update(variables)
    return declared_hosts(hostvars, {group: list(hosts) for group, hosts in groups.items()}, hostvars)


def measured(declared: DeclaredHost, **changes: t.Any) -> MeasuredHost:
    limits = changes.pop("limits", Limits())
    return MeasuredHost(declared, facts(**changes), sent=100.0, received=103.0, limits=limits)


def central(name: str = "db1", **changes: t.Any) -> MeasuredHost:
    """A machine that is to be a central host, alone in its inventory."""
    variables = {"ovn_address": "192.0.2.11", **changes.pop("variables", {})}
    return measured(declare({"ovn_central": {name: variables}})[name], **changes)


def hypervisor(name: str = "compute1", **changes: t.Any) -> MeasuredHost:
    """A machine that is to be a hypervisor, alone in its inventory."""
    variables = {"ovn_address": "192.0.2.21", **changes.pop("variables", {})}
    return measured(declare({"ovn_hypervisors": {name: variables}})[name], **changes)


def process(program: str, supervisor: Supervisor | str = "", arguments: str = "", pid: int = 7) -> dict[str, t.Any]:
    """A process that a unit, if it has a name, or something else keeps running."""
    if isinstance(supervisor, str):
        supervisor = Supervisor("unit", supervisor) if supervisor else Supervisor("none")
    return {"program": program, "supervisor": dataclasses.asdict(supervisor), "arguments": arguments, "pid": pid}
