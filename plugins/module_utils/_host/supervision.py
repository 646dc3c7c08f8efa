# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps units and containers of others from starting a daemon again, and ends them."""

from __future__ import annotations

import dataclasses
import pathlib
import time
import typing as t

from .._base.deadline import HANDOVER_SECONDS, Deadline
from .._base.errors import OvnError, Refused
from .._machine.commands import Runner
from .._machine.supervisor import Supervisor
from .._machine.systemd_units import PROPERTIES, Unit, forbidding_verbs, parse_show
from .._ovsdb.server import appctl
from .foreign_containers import (
    engine,
    examine_container,
    forbid_command,
    inspect_command,
    parse_inspect,
    shown_command,
    stop_command,
)
from .foreign_processes import ControlPlaneProcess, control_socket, neighbors

_STOPPED = ("inactive", "failed")
_TIMED_OUT = (124, 137)  # of timeout(1)


@dataclasses.dataclass(frozen=True)
class Supervision:
    """`place` is how messages name the host. `units` has the settings of units until the next boot."""

    run: Runner
    place: str
    units: str = "/run/systemd/system"

    def systemctl(self, *arguments: str) -> str:
        code, out, err = self.run(["systemctl", *arguments], {})
        if code != 0:
            raise OvnError(
                f"systemctl {' '.join(arguments)} failed: {(err or out).strip()}. See: journalctl -u {arguments[-1]}"
            )
        return out

    def forbid(self, unit: str) -> None:
        """Keep a unit from ever starting again. It goes on running."""
        for verb in forbidding_verbs(self._read_unit(unit)):
            self.systemctl(verb, unit)

    def await_stopped(self, unit: str) -> None:
        """Stop a unit and wait for its last command: it would stop whatever is named in the pid file, so ours must not be there yet."""
        if self._read_unit(unit).active_state not in _STOPPED:
            self.systemctl("stop", unit)

    def _read_unit(self, name: str) -> Unit:
        return parse_show(self.systemctl("show", f"--property={','.join(PROPERTIES)}", name))[0]

    def stop_command(self, server: ControlPlaneProcess) -> str:
        """Return the command with which a person ends a daemon for good."""
        supervisor = server.supervisor
        facts = examine_container(self._output, supervisor) if supervisor.kind == "container" else {}
        return stop_command(supervisor, facts, server.reach(control_socket(server)))

    def check(self, process: ControlPlaneProcess) -> None:
        """Raise `Refused` for a daemon in a container that cannot be ended for good. Nothing is changed."""
        if process.supervisor.kind == "container":
            self._examine_container(process)

    def end(self, process: ControlPlaneProcess) -> None:
        """End a daemon for good: with its unit, with its container, or by itself."""
        if process.supervisor.kind == "container":
            self.end_container(process, still_runs=lambda: is_alive(process.pid))
        elif process.supervisor.kind == "unit":
            self._end_unit(process.supervisor.name)
        elif not end_process(process):
            raise OvnError(
                f"{process.name} on {self.place} (process {process.pid}) still runs {HANDOVER_SECONDS} s after it was asked to end. Stop it "
                f"({process.supervisor.stop_command(control_socket(process))}, or with a signal), then run again."
            )

    def _end_unit(self, unit: str) -> None:
        """End a unit without the commands that it has for that: Debian's for northd is `ovn-ctl stop_northd`, which ends the host's databases as well."""
        changes = pathlib.Path(self.units, f"{unit}.d", "c5c3-ovn.conf")
        changes.parent.mkdir(parents=True, exist_ok=True)
        changes.write_text("[Service]\nExecStop=\nExecStopPost=\n", encoding="utf-8")
        self.systemctl("daemon-reload")
        self.forbid(unit)
        self.systemctl("stop", unit)

    def end_container(self, server: ControlPlaneProcess, still_runs: t.Callable[[], bool]) -> None:
        """End a daemon with its container, after everything that would start it again was told not to; `Refused` before that if it cannot be told."""
        supervisor, facts = server.supervisor, self._examine_container(server)
        if facts["policy"] not in ("", "no"):
            self._execute(forbid_command(supervisor.runtime, facts["name"]))
        for unit in facts["units"]:
            self.forbid(unit)
        end_process(server)
        for unit in facts["units"]:
            self.await_stopped(unit)
        # It fails where the engine has removed the container by now; whether it has ended is looked at below.
        self.run(engine(supervisor.runtime, "stop", facts["name"]), {})
        if still_runs() or self._runs_container(supervisor, facts["name"]):
            raise OvnError(
                f"{server.name} on {self.place} was not ended: container {facts['name']} still runs. Stop it ({stop_command(supervisor, facts)}), then run "
                "again; the next run goes on from there."
            )

    def _examine_container(self, server: ControlPlaneProcess) -> dict[str, t.Any]:
        facts = examine_container(self._output, server.supervisor, server.file, neighbors(server))
        if facts["problem"]:
            raise Refused(
                f"{server.name} on {self.place} runs in {server.supervisor}, which a run does not stop: {facts['problem']}. The container was "
                'not changed. See "Containers" in docs/adopt.md.'
            )
        return facts

    def _runs_container(self, supervisor: Supervisor, name: str) -> bool:
        code, out, _err = self.run(inspect_command(supervisor.runtime, name), {})
        return code == 0 and parse_inspect(out).running

    def _output(self, *command: str) -> str:
        code, out, _err = self.run(list(command), {})
        return out if code == 0 else ""

    def _execute(self, command: list[str]) -> None:
        code, out, err = self.run(command, {})
        if code != 0:
            reason = "it took too long" if code in _TIMED_OUT else (err or out).strip()
            raise OvnError(
                f"{shown_command(command)} failed on {self.place}: {reason}. Run it by hand, then run again."
            )


def end_process(server: ControlPlaneProcess) -> bool:
    """Let a daemon end by itself, a server after it has handed its leadership over; whether it has. What it does not do in time, its unit or engine does."""
    deadline = Deadline(HANDOVER_SECONDS)
    try:
        appctl(server.reach(control_socket(server)), "exit", deadline=deadline)
    except OvnError:
        return not is_alive(server.pid)
    while not deadline.expired and is_alive(server.pid):
        time.sleep(0.05)
    return not is_alive(server.pid)


def is_alive(pid: int) -> bool:
    """Return whether a process has its memory still: one that only its parent has to notice has no arguments any more."""
    try:
        return bool(pathlib.Path("/proc", str(pid), "cmdline").read_bytes())
    except OSError:
        return False
