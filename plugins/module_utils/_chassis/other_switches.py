# SPDX-License-Identifier: GPL-3.0-or-later
"""Another Open vSwitch on a host: whether ours may start beside it, or can be the one that is there. Pure.

Two of them in one network take each other's ports out of the datapath of the kernel, which knows nothing of who has made one.
"""

from __future__ import annotations

import json
import typing as t

from .._base.errors import list_names
from .._machine.supervisor import Supervisor

OWN_UNIT = "c5c3-ovn-controller.service"
DATAPATH = "ovs-system"
# Units of the distributions whose daemons are taken over.
DISTRIBUTION_UNITS = (
    "ovs-vswitchd.service",
    "ovsdb-server.service",
    "openvswitch.service",
    "openvswitch-switch.service",
)
PROGRAMS = ("ovs-vswitchd", "ovsdb-server", "ovn-controller")
_MOST = 8  # names of a kind in a message


class Program(t.NamedTuple):
    """A process that runs. `arguments` are those of its command line, in one text."""

    pid: int
    name: str
    arguments: str
    supervisor: Supervisor

    def __str__(self) -> str:
        kind = self.supervisor.kind
        place = "started by hand" if kind == "none" else f"{self.supervisor.runtime} {self.supervisor}".strip()
        return f"{self.name} (pid {self.pid}, {place})"

    @property
    def is_switch(self) -> bool:
        """Return whether it is part of an Open vSwitch, and not a database server of something else."""
        database = self.name == "ovsdb-server" and ("vswitch" in self.arguments or "conf.db" in self.arguments)
        return self.name == "ovs-vswitchd" or database

    def is_in(self, units: t.Collection[str]) -> bool:
        return self.supervisor.kind == "unit" and self.supervisor.name in units


class HostSwitches(t.NamedTuple):
    """What was found on a host. `ports` are those of the kernel's datapath, `known` the interfaces of our database, None if there is no database.

    `answers`: a database of Open vSwitch answers at the address that is to be used.
    """

    programs: t.Sequence[Program]
    bridges: t.Sequence[str]
    ports: t.Sequence[str]
    known: t.Collection[str] | None
    answers: bool


def parse_datapath_ports(links: str) -> list[str]:
    """Return the ports of the kernel's datapath in the output of `ip -json -details link show`.

    Its tunnel devices (genev_sys_6081) are no ports of a database, and whoever starts finds them there.
    """
    ports = []
    for link in json.loads(links or "[]"):
        name, kind = link.get("ifname", ""), (link.get("linkinfo") or {}).get("info_kind")
        is_port = link.get("master") == DATAPATH or (kind == "openvswitch" and name != DATAPATH)
        if is_port and "_sys" not in name:
            ports.append(name)
    return sorted(ports)


def managed_findings(found: HostSwitches, units: t.Collection[str]) -> list[str]:
    """Return what belongs to another Open vSwitch, if ours were to start there; `units` are those whose daemons are taken over."""
    switches = [one for one in found.programs if one.is_switch]
    others = [one for one in switches if not one.is_in(units)]
    if others:
        return [
            *(str(one) for one in others),
            *_named("bridges", found.bridges),
            *_named("ports of the kernel's datapath", found.ports),
        ]
    if any(one.name == "ovs-vswitchd" for one in switches):  # it keeps the datapath as its database says
        return []
    lacking = [port for port in found.ports if port not in (found.known or ())]
    return _named(f"ports of the kernel's datapath ({DATAPATH}) that no database here knows:", lacking)


def managed_problem(found: HostSwitches, units: t.Collection[str]) -> str:
    """Return why our Open vSwitch may not start there, empty if it may."""
    findings = managed_findings(found, units)
    if not findings:
        return ""
    return (
        f"Open vSwitch is not started: another one is on this host: {', '.join(findings)}. Two of them would take each other's ports out of the kernel. "
        "Use it as it is with ovn_hypervisor_openvswitch: existing, or stop it and keep it from starting, "
        "or name its unit with openvswitch_service in ovn_hypervisor_distribution. Nothing was changed."
    )


def controllers_of_others(found: HostSwitches) -> list[str]:
    """Return the processes of ovn-controller that are not ours."""
    return [str(one) for one in found.programs if one.name == "ovn-controller" and not one.is_in((OWN_UNIT,))]


def existing_problem(found: HostSwitches, database: str) -> str:
    """Return why the Open vSwitch of somebody else cannot be used, empty if it can."""
    if controllers := controllers_of_others(found):
        return (
            f"ovn-controller is not started: another one runs on this host: {', '.join(controllers)}. Two of them would replace each other's flows and "
            "settings. Leave the host out of ovn_hypervisors, or stop it and keep it from starting. Nothing was changed."
        )
    if not found.answers:
        return (
            f"No Open vSwitch answers at {database}, and ovn_hypervisor_openvswitch is existing. Start it, name its socket with "
            "ovn_hypervisor_openvswitch_database, or leave it to the role with ovn_hypervisor_openvswitch: managed. Nothing was changed."
        )
    return ""


def _named(kind: str, names: t.Sequence[str]) -> list[str]:
    return [f"{kind} {list_names(names, _MOST)}"] if names else []
