# SPDX-License-Identifier: GPL-3.0-or-later
"""One host as it is declared and as it was measured. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._machine.supervisor import Supervisor
from .declared import DeclaredHost
from .system import CHASSIS_UNIT, MEMBER_UNIT

OWN_UNITS = "c5c3-ovn-"

Facts = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a host may have. `guest_mtu` in octets, 0 if nobody has said it; `clock_seconds`; `free_octets` of a file system with databases."""

    guest_mtu: int = 0
    clock_seconds: float = 5.0
    free_octets: int = 1 << 30


@dataclasses.dataclass(frozen=True)
class MeasuredHost:
    """`facts` are empty if the host could not be measured, and then `problem` says why."""

    declared: DeclaredHost
    facts: Facts = dataclasses.field(default_factory=dict)
    sent: float = 0.0  # the clock of the control node, before and after
    received: float = 0.0
    unreachable: bool = False
    problem: str = ""
    limits: Limits = Limits()

    @classmethod
    def of(cls, declared: DeclaredHost, result: t.Mapping[str, t.Any], limits: Limits = Limits()) -> MeasuredHost:
        """Return the host with what the task of ovn_precheck has registered for it."""
        if declared.problem:
            return cls(declared, problem=declared.problem, limits=limits)
        facts, clock = result.get("facts"), result.get("control_clock") or {}
        if facts and not result.get("failed"):
            return cls(declared, facts, clock.get("sent", 0.0), clock.get("received", 0.0), limits=limits)
        # A task that was ended by its time limit may have waited for a connection that nobody answers any more.
        unreachable = bool(result.get("unreachable") or result.get("timedout"))
        return cls(declared, unreachable=unreachable, problem=str(result.get("msg") or "no result"), limits=limits)

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def becomes_member(self) -> bool:
        """Return whether the host is to be a central host and is none yet: what runs already is checked by the roles, which repair it."""
        return self.declared.central and bool(self.facts) and MEMBER_UNIT not in self.facts["own_units"]

    @property
    def becomes_chassis(self) -> bool:
        """Return whether the host is to be a hypervisor and is none yet."""
        return self.declared.hypervisor and bool(self.facts) and CHASSIS_UNIT not in self.facts["own_units"]

    def runs_control_plane(self, process: Facts) -> bool:
        """Return whether the process is northd or serves a Northbound or Southbound database."""
        return process["pid"] in self.facts["control_plane"]

    @property
    def is_new(self) -> bool:
        return self.becomes_member or self.becomes_chassis


def supervisor_of(process: Facts) -> Supervisor:
    return Supervisor(**process["supervisor"])


def is_ours(process: Facts) -> bool:
    """Return whether a unit of the collection runs the process."""
    supervisor = supervisor_of(process)
    return supervisor.kind == "unit" and supervisor.name.startswith(OWN_UNITS)


def place_of(process: Facts) -> str:
    """Return what keeps the process running, for a sentence; empty if nothing does."""
    supervisor = supervisor_of(process)
    return "" if supervisor.kind == "none" else f"{supervisor.runtime} {supervisor}".strip()
