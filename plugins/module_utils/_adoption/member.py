# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One member on a machine that something else still runs.

As an observation, one of a unit is a member that has to restart, and its restart is the adoption. One of a container has to be replaced (R5): its file
stays in the container, and a new member joins under an id of its own, so that what starts the container again can do no harm (R8). The planner decides
about both as about every restart and every replacement (`_raft/maintenance.py`, `_raft/replacement.py`), only how the step is executed differs.
Cut off anywhere, a step leaves a member that runs as before, or one that is stopped and that the next run starts from its file or replaces.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time

from .._databases import STEMS
from .._deadline import Deadline
from .._errors import Changed, OvnError, Refused
from .._ovsdb.unixctl import appctl
from .._raft.answer import Answer
from .._raft.host import UNIXCTL_SECONDS, HostMember
from .._raft.observation import Observation
from .._raft.start_check import Space, find_space_problem, measure_space
from .._stop_budget import HANDOVER_SECONDS
from .._units import PROPERTIES, Unit, forbidding_verbs, parse_show
from .containers import (
    engine,
    examine_container,
    forbid_command,
    inspect_command,
    parse_inspect,
    shown_command,
    stop_command,
)
from .processes import (
    ControlPlaneProcess,
    control_socket,
    database_socket,
    find_contained,
    find_server,
    neighbors,
)
from .units import read_stopped_units

DISTRIBUTION_UNITS = {"northbound": "ovn-ovsdb-server-nb.service", "southbound": "ovn-ovsdb-server-sb.service"}
_STOPPED = ("inactive", "failed")
_TIMED_OUT = (124, 137)  # of timeout(1)


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
        self.contained = self._find_contained()
        return super().ask(seconds, twice=twice)

    def observe(self) -> Observation:
        observed = super().observe()
        if not observed.installed:
            observed = self._observe_server(observed)
        if self.contained is not None:
            return self._observe_contained(observed, self.contained)
        foreign = self._foreign() if observed.running else None
        if foreign is None:
            return observed
        self._refuse_same_file(foreign)
        return dataclasses.replace(observed, restart_reason=f"it runs in {foreign.supervisor} and is adopted")

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
        """Return the observation with what the server in the container says. Its file is not where ours will be; `Refused` if that place is taken."""
        if os.path.lexists(self._file()):
            raise Refused(
                f"{self.database} on {self.member} runs in {server.supervisor}, and {self._file()} is there as well. Nothing was changed on this member. If "
                f"it was taken over before, the container is no member any more: end it for good ({self._stop_command(server)}). If not, move that file "
                "away. Then run again."
            )
        space = Space(_size(server.reach(server.file)), measure_space(self._file()).free)
        observed = dataclasses.replace(
            observed,
            running=True,
            starting=False,
            restart_reason="",
            replace_reason=f"it runs in {server.supervisor}, and a new member joins in its place",
            start_problem=observed.start_problem or find_space_problem(self._file(), space),
        )
        if observed.sid is None:
            reason = f"the server in {server.supervisor} does not say which member it is. Repair or stop it"
            return dataclasses.replace(observed, file_class="unknown", file_reason=reason)
        return dataclasses.replace(
            observed, file_class="member", file_reason="", file_cid=observed.cid, file_sid=observed.sid
        )

    def _stop_command(self, server: ControlPlaneProcess) -> str:
        supervisor = server.supervisor
        facts = examine_container(self._output, supervisor) if supervisor.kind == "container" else {}
        return stop_command(supervisor, facts, server.reach(control_socket(server)))

    def _refuse_same_file(self, server: ControlPlaneProcess) -> None:
        if server.supervisor.kind in ("container", "pod"):
            raise Refused(
                f"{self.database} on {self.member} runs in {server.supervisor} from {self._file()}, which is where ours has its file. Nothing was changed "
                f"on this member. End it for good ({self._stop_command(server)}), then run again."
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
        """Adopt the member if something else runs it."""
        if self._foreign() is None:
            super().restart()
        else:
            self.start()

    def start(self) -> None:
        """Start our unit, and make sure before that nothing else runs the member, now or after a reboot."""
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
            self._end_container(server)

    def _end_foreign(self) -> None:
        server = self._foreign()
        if server is not None:
            self._refuse_same_file(server)
        units = {DISTRIBUTION_UNITS[self.database], *self._stopped_units()}
        if server is not None and server.supervisor.kind == "unit":
            units.add(server.supervisor.name)
        # Never both enabled: after a power loss in between, two servers would want one file, and one set of sockets.
        for unit in sorted(units):
            self._forbid(unit)
        self._systemctl("enable", self.unit)
        if server is not None:
            self._hand_over(server)
        for unit in sorted(units):
            self._await_stopped(unit)
        left = self._foreign()
        if left is not None:
            raise OvnError(
                f"{self.database} on {self.member} was not ended: process {left.pid} in {left.supervisor} still has its file. End it, then run again; "
                "the next run starts the member from its file."
            )

    def _end_container(self, server: ControlPlaneProcess) -> None:
        """End a server with its container, after everything that would start it again has been told not to."""
        supervisor, self.contained = server.supervisor, server
        facts = examine_container(self._output, supervisor, server.file, neighbors(server))
        if facts["problem"]:
            raise Refused(
                f"{self.database} on {self.member} runs in {supervisor}, which a run does not stop: {facts['problem']}. Nothing was changed on this member. "
                'See "Containers" in docs/adopt.md.'
            )
        if facts["policy"] not in ("", "no"):
            self._execute(forbid_command(supervisor.runtime, facts["name"]))
        for unit in facts["units"]:
            self._forbid(unit)
        self._hand_over(server)
        for unit in facts["units"]:
            self._await_stopped(unit)
        # It fails where the engine has removed the container by now; whether it has ended is looked at below.
        self.run(engine(supervisor.runtime, "stop", facts["name"]), {})
        code, out, _err = self.run(inspect_command(supervisor.runtime, facts["name"]), {})
        if self._find_contained() is not None or (code == 0 and parse_inspect(out).running):
            raise OvnError(
                f"{self.database} on {self.member} was not ended: container {facts['name']} still runs. Stop it "
                f"({stop_command(supervisor, facts)}), then run again; the next run replaces the member."
            )
        self.contained = None

    def _output(self, *command: str) -> str:
        code, out, _err = self.run(list(command), {})
        return out if code == 0 else ""

    def _execute(self, command: list[str]) -> None:
        code, out, err = self.run(command, {})
        if code != 0:
            reason = "it took too long" if code in _TIMED_OUT else (err or out).strip()
            raise OvnError(
                f"{shown_command(command)} failed on {self.member}: {reason}. Run it by hand, then run again."
            )

    def _stopped_units(self) -> list[str]:
        """Return the units that do not run and would start the server with the host."""
        return [unit.name for unit in read_stopped_units(self._systemctl) if unit.starts(self.database, self._file())]

    def _forbid(self, name: str) -> None:
        for verb in forbidding_verbs(self._read_unit(name)):
            self._systemctl(verb, name)

    def _read_unit(self, name: str) -> Unit:
        return parse_show(self._systemctl("show", f"--property={','.join(PROPERTIES)}", name))[0]

    def _systemctl(self, *arguments: str) -> str:
        code, out, err = self.run(["systemctl", *arguments], {})
        if code != 0:
            raise OvnError(
                f"systemctl {' '.join(arguments)} failed: {(err or out).strip()}. See: journalctl -u {arguments[-1]}"
            )
        return out

    def _hand_over(self, server: ControlPlaneProcess) -> None:
        """Let the server hand its leadership over and end by itself; what it does not do in time, its unit does. Units give it less time."""
        deadline = Deadline(HANDOVER_SECONDS)
        try:
            appctl(self.socket("ctl"), "exit", deadline=deadline)
        except OvnError:
            return
        while not deadline.expired and _is_alive(server.pid):
            time.sleep(0.05)

    def _await_stopped(self, unit: str) -> None:
        """Stop a unit and wait for its last command: it would stop whatever is named in the pid file, so ours must not be there yet."""
        if self._read_unit(unit).active_state not in _STOPPED:
            self._systemctl("stop", unit)


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _is_alive(pid: int) -> bool:
    """Return whether a process has its memory still: one that only its parent has to notice has no arguments any more."""
    try:
        return bool(pathlib.Path("/proc", str(pid), "cmdline").read_bytes())
    except OSError:
        return False
