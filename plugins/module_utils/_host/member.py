# SPDX-License-Identifier: GPL-3.0-or-later
"""The member of a Raft database on this host, as the options of `ovn_raft_member` describe it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing as t

from .._base.databases import STEMS
from .._base.errors import Changed, OvnError, Refused
from .._machine.commands import Commands
from .._machine.systemd_units import own_unit
from .._raft.answer import Answer
from .._raft.host import UNIXCTL_SECONDS, HostMember
from .._raft.observation import Observation
from .._raft.standalone import Space, find_space_problem, measure_space
from .foreign_processes import ControlPlaneProcess, control_socket, database_socket, find_contained, find_server
from .foreign_units import read_stopped_units
from .supervision import Supervision, end_process

# One member on a machine that something else still runs. As an observation, one of a unit is a member that has to restart, and its restart is the adoption.
# One of a container has to be replaced (R5): its file stays in the container, and a new member joins under an id of its own, so that what starts the
# container again can do no harm (R8). The planner decides about both as about every restart and every replacement (`_raft/maintenance.py`,
# `_raft/replacement.py`), only how the step is executed differs. Cut off anywhere, a step leaves a member that runs as before, or one that is stopped and
# that the next run starts from its file or replaces.

DISTRIBUTION_UNITS = {"northbound": "ovn-ovsdb-server-nb.service", "southbound": "ovn-ovsdb-server-sb.service"}


@dataclasses.dataclass
class AdoptedMember(HostMember):
    """A member on a host that may have no launcher and no settings of ours yet. `contained` is its server in a container, as of the last look."""

    contained: ControlPlaneProcess | None = None

    def socket(self, kind: str) -> str:
        """Return the path of a socket; in a container it has the place that its command line says, which is seen from here."""
        if self.contained is None or kind not in ("ctl", "sock"):
            return super().socket(kind)
        path = control_socket(self.contained) if kind == "ctl" else database_socket(self.contained)
        return self.contained.reach(path)

    def ask(self, seconds: float = UNIXCTL_SECONDS, *, twice: bool = False) -> Answer:
        """Ask the server in the container, unless a file in our place says that ours is the member."""
        self.contained = None if os.path.lexists(self._file()) else self._find_contained()
        return super().ask(seconds, twice=twice)

    def observe(self) -> Observation:
        foreign = self._foreign()
        if foreign is not None:
            self._refuse_same_file(foreign)
        ours = self._is_ours()
        if not ours:
            self._refuse_beside()
        observed = super().observe()
        if not observed.installed:
            observed = self._observe_server(observed)
        if self.contained is not None:
            return self._observe_contained(observed, self.contained)
        if foreign is None or not observed.running:
            return dataclasses.replace(observed, ours=observed.running or ours)
        return dataclasses.replace(observed, restart_reason=f"it runs in {foreign.supervisor} and is adopted")

    def _is_ours(self) -> bool:
        """Return whether a run has begun to take the member over, or has done so: then our unit starts with the host."""
        return self._mark().exists() or self.run(["systemctl", "is-enabled", "--quiet", self.unit], {})[0] == 0

    def _mark(self) -> pathlib.Path:
        """Return the file that is there between the first change of the units of others and the start of ours with the host."""
        return pathlib.Path(f"{self.record.rstrip('/')}.taking-over")

    def _refuse_beside(self) -> None:
        """Raise `Refused` for a container beside a file in our place."""
        server = self._find_contained() if os.path.lexists(self._file()) else None
        if server is not None:
            command = self._supervision().stop_command(server)
            raise Refused(
                f"{self.database} on {self.member} runs in {server.supervisor}, and {self._file()} is there as well. The member was not changed. If it was "
                f"taken over before, the container is no member any more: end it for good ({command}). If not, move that file away. Then run again."
            )

    def _observe_server(self, observed: Observation) -> Observation:
        """Return what the server says itself: check mode knows the whole order before anything of ours is installed."""
        answer = self.ask(twice=True)
        if answer.status is None and answer.server is None:
            return observed
        observed = self.with_answer(observed, answer, running=True)
        if not observed.connected:
            return observed
        return dataclasses.replace(
            observed,
            file_class=self.presence(self._file()),
            file_reason="",
            file_cid=observed.cid,
            file_sid=observed.sid,
        )

    def _observe_contained(self, observed: Observation, server: ControlPlaneProcess) -> Observation:
        """Return the observation with what the server in the container says. Its file is not where ours will be."""
        space = Space(_size(server.reach(server.file)), measure_space(self._file()).free)
        full = find_space_problem(self._file(), space)
        observed = dataclasses.replace(
            observed,
            running=True,
            starting=False,
            restart_reason="",
            replace_reason=f"it runs in {server.supervisor}, and a new member joins in its place",
            start_problem=observed.start_problem or full,
            host_problem=observed.host_problem or full,
        )
        if observed.sid is None:
            reason = f"the server in {server.supervisor} does not say which member it is. Repair or stop it"
            return dataclasses.replace(observed, file_class="unknown", file_reason=reason)
        return dataclasses.replace(
            observed, file_class="member", file_reason="", file_cid=observed.cid, file_sid=observed.sid
        )

    def _refuse_same_file(self, server: ControlPlaneProcess) -> None:
        if server.supervisor.kind in ("container", "pod"):
            raise Refused(
                f"{self.database} on {self.member} runs in {server.supervisor} from {self._file()}, which is where ours has its file. The member was not "
                f"changed. End it for good ({self._supervision().stop_command(server)}), then run again."
            )

    def _file(self) -> str:
        return self.environment().get("OVN_DB_FILE") or self.database_file or f"/var/lib/ovn/{STEMS[self.database]}.db"

    def _find_contained(self) -> ControlPlaneProcess | None:
        return find_contained(self.database, self._file())

    def _foreign(self) -> ControlPlaneProcess | None:
        """Return the server of our file that our unit does not run."""
        server = find_server(self._file())
        ours = server is not None and server.supervisor.kind == "unit" and server.supervisor.name == self.unit
        return None if ours else server

    def restart(self) -> None:
        """Adopt the member if a unit of others, or nothing, runs it."""
        if self._foreign() is None and self._find_contained() is None:
            super().restart()
        else:
            self.start()

    def start(self) -> None:
        """Start our unit, and make sure before that nothing else runs the member, now or after a reboot."""
        self._refuse_beside()
        server = self._find_contained()
        if server is not None:
            raise Changed(f"{self.database} on {self.member} runs in {server.supervisor} again.")
        self._end_foreign()
        super().start()

    def stop(self) -> None:
        """Stop the member. A container that runs it is kept from starting again."""
        server = self._find_contained()
        if server is None:
            super().stop()
        else:
            self._supervision().end_container(server, still_runs=lambda: self._find_contained() is not None)

    def _end_foreign(self) -> None:
        server, supervision = self._foreign(), self._supervision()
        if server is not None:
            self._refuse_same_file(server)
        units = {DISTRIBUTION_UNITS[self.database], *self._stopped_units(supervision)}
        if server is not None and server.supervisor.kind == "unit":
            units.add(server.supervisor.name)
        self._mark().parent.mkdir(parents=True, exist_ok=True)
        self._mark().touch()
        # Never both enabled: after a power loss in between, two servers would want one file, and one set of sockets.
        for unit in sorted(units):
            supervision.forbid(unit)
        supervision.systemctl("enable", self.unit)
        self._mark().unlink()
        if server is not None:
            end_process(server)
        for unit in sorted(units):
            supervision.await_stopped(unit)
        left = self._foreign()
        if left is not None:
            raise OvnError(
                f"{self.database} on {self.member} was not ended: process {left.pid} in {left.supervisor} still has its file. End it, then run again; "
                "the next run starts the member from its file."
            )

    def _stopped_units(self, supervision: Supervision) -> list[str]:
        """Return the units that do not run and would start the server with the host."""
        stopped = read_stopped_units(supervision.systemctl)
        return [unit.name for unit in stopped if unit.starts(self.database, self._file())]

    def _supervision(self) -> Supervision:
        return Supervision(self.run, self.member)


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


OPTIONS: dict[str, dict[str, t.Any]] = {
    "database": {"type": "str", "choices": ["northbound", "southbound"], "required": True},
    "member": {"type": "str", "required": True},
    "record": {"type": "path", "required": True},
    "environment_file": {"type": "path", "required": True},
    "launcher": {"type": "path", "default": "/usr/lib/c5c3-ovn/ovn-raft-launcher"},
    "unit": {"type": "str"},
    "database_file": {"type": "path"},
    "adopt": {"type": "bool", "default": False},
    "revision": {"type": "str"},
    "address": {"type": "str"},
}


def member_of(params: t.Mapping[str, t.Any], commands: Commands) -> HostMember:
    kind = AdoptedMember if params["adopt"] else HostMember
    return kind(
        database=params["database"],
        member=params["member"],
        record=params["record"],
        environment_file=params["environment_file"],
        launcher=params["launcher"],
        unit=params["unit"] or own_unit(params["database"]),
        run=commands.run,
        database_file=params["database_file"] or "",
        revision=params["revision"] or "",
        address=params["address"] or "",
    )


def observe_member(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return the result of `ovn_raft_member` with `state: examined`."""
    member = member_of(params, commands)
    return {"observation": {"database": member.database, **member.observe().as_dict()}}
