# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One member on a machine that something else still runs: as an observation it is a member that has to restart, and its restart is the adoption.

So the planner decides about it as about every restart (`_raft/maintenance.py`): one at a time, behind the same gates, the leader last. Only how the
step is executed differs. Cut off anywhere, it leaves a member that runs as before, or one that is stopped and that every run starts from its file.
"""

from __future__ import annotations

import dataclasses
import pathlib
import time
import typing as t

from .._databases import STEMS
from .._deadline import Deadline
from .._errors import OvnError, Refused
from .._ovsdb.unixctl import appctl
from .._raft.host import HostMember
from .._raft.observation import Observation
from .._stop_budget import HANDOVER_SECONDS
from .._units import PROPERTIES, Unit, forbidding_verbs, parse_show
from .containers import examine_container, forbid_command
from .processes import ControlPlaneProcess, control_socket, database_socket, find_contained, find_server, is_same_file
from .transfer import begin, finish, is_begun
from .units import read_stopped_units

DISTRIBUTION_UNITS = {"northbound": "ovn-ovsdb-server-nb.service", "southbound": "ovn-ovsdb-server-sb.service"}
_STOPPED = ("inactive", "failed")


@dataclasses.dataclass
class AdoptedMember(HostMember):
    """A member on a host that may have no launcher and no settings of ours yet. `contained` is its server in a container, as of the last look."""

    contained: ControlPlaneProcess | None = None

    def socket(self, kind: str) -> str:
        """Return the path of a socket; in a container it has the place that its command line says, which is seen from here."""
        if self.contained is None or kind not in ("ctl", "sock"):
            return super().socket(kind)
        path = control_socket(self.contained) if kind == "ctl" else database_socket(self.contained)
        return self.contained.root + path

    def observe(self) -> Observation:
        self.contained = self._find_contained()
        observed = super().observe()
        if not observed.installed:
            observed = self._observe_server(observed)
        foreign = self._foreign() if observed.running else None
        if foreign is None:
            return observed
        return dataclasses.replace(observed, restart_reason=f"it runs in {foreign.supervisor} and is adopted")

    def _observe_server(self, observed: Observation) -> Observation:
        """Return what the server says itself: check mode knows the whole order before anything of ours is installed."""
        answer = self.ask(twice=True)
        if answer.status is None and answer.server is None:
            return self._with_file(observed, {}) if self.contained else observed
        observed = self.with_answer(observed, answer, running=True)
        if not observed.connected:
            return observed
        return dataclasses.replace(
            observed,
            file_class="member" if self.contained else self.presence(self._file()),
            file_reason="",
            file_cid=observed.cid,
            file_sid=observed.sid,
        )

    def _file(self) -> str:
        return self.environment().get("OVN_DB_FILE") or self.database_file or f"/var/lib/ovn/{STEMS[self.database]}.db"

    def _find_contained(self) -> ControlPlaneProcess | None:
        return find_contained(self.database, self.environment().get("OVN_LOCAL_ADDRESS", ""))

    def _with_file(self, observed: Observation, environment: dict[str, str]) -> Observation:
        """In a container the file is not where ours will be; a server that does not answer says nothing of it, and no step acts on it."""
        if self.contained is None:
            return super()._with_file(observed, environment)
        if observed.connected:
            return dataclasses.replace(
                observed, file_class="member", file_reason="", file_cid=observed.cid, file_sid=observed.sid
            )
        reason = f"the server in {self.contained.supervisor} is not connected. Wait or repair it, then run again"
        return dataclasses.replace(observed, file_class="unknown", file_reason=reason)

    def _foreign(self) -> ControlPlaneProcess | None:
        """Return the server of our file that our unit does not run."""
        server = find_server(self._file()) or self._find_contained()
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
        self._end_foreign()
        super().start()

    def _end_foreign(self) -> None:
        server = self._foreign()
        container = self._examine(server)
        units = {DISTRIBUTION_UNITS[self.database], *self._stopped_units()}
        if server is not None and server.supervisor.kind == "unit":
            units.add(server.supervisor.name)
        if server is not None and container is not None:
            units.update(container["units"])
            if not is_same_file(container["host_file"], self._file()) or is_begun(self._file()):
                begin(self._file(), container["host_file"])
            command = forbid_command(server.supervisor.runtime, container)
            if command:
                self._execute(command)
        # Never both enabled: after a power loss in between, two servers would want one file, and one set of sockets.
        for unit in sorted(units):
            self._forbid(unit)
        self._systemctl("enable", self.unit)
        if server is not None:
            self._hand_over(server)
        for unit in sorted(units):
            self._await_stopped(unit)
        if server is not None and container is not None:
            # It fails where the engine has removed the container by now; whether the server has ended is looked at below.
            self.run([server.supervisor.runtime, "stop", container["name"]], {})
        self.contained = None
        left = self._foreign()
        if left is not None:
            raise OvnError(
                f"{self.database} on {self.member} was not ended: process {left.pid} in {left.supervisor} still has its file. End it, then run again; "
                "the next run starts the member from its file."
            )
        if is_begun(self._file()):
            finish(self._file())

    def _examine(self, server: ControlPlaneProcess | None) -> dict[str, t.Any] | None:
        """Return what is known of the container of a server, None without one; `Refused` before any change if it cannot be ended safely."""
        if server is None or server.supervisor.kind not in ("container", "pod"):
            return None
        self.contained = server if server.root else None
        facts = examine_container(self._output, server.supervisor, server.file, server.root)
        if facts["problem"]:
            raise Refused(
                f"{self.database} on {self.member} runs in {server.supervisor} and cannot be adopted while it runs: {facts['problem']}. "
                f'Nothing was changed. See "Containers" in docs/adopt.md. {server.supervisor.stop_command(self.socket("ctl"))}'.rstrip()
            )
        return facts

    def _output(self, *command: str) -> str:
        code, out, _err = self.run(list(command), {})
        return out if code == 0 else ""

    def _execute(self, command: list[str]) -> None:
        code, out, err = self.run(command, {})
        if code != 0:
            raise OvnError(
                f"{' '.join(command)} failed on {self.member}: {(err or out).strip()}. Run it by hand, then run again."
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


def _is_alive(pid: int) -> bool:
    """Return whether a process has its memory still: one that only its parent has to notice has no arguments any more."""
    try:
        return bool(pathlib.Path("/proc", str(pid), "cmdline").read_bytes())
    except OSError:
        return False
