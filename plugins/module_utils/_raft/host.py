# SPDX-License-Identifier: GPL-3.0-or-later
"""One member of one database on a machine: its launcher, its unit, its control socket. Everything here touches the world; it decides nothing."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
import typing as t

from .._base.databases import DATABASE_NAMES, STEMS
from .._base.deadline import Deadline
from .._base.errors import Changed, OvnError, Refused
from .._machine.commands import Runner
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.server import appctl
from .answer import Answer
from .ask import ask_member
from .cluster_witness import Witness, number_or_none, parse_witness
from .observation import DISK_MISSING, Observation
from .record_dir import read_record
from .sizing import FINDS_OTHERS_SECONDS, LOADING_SECONDS
from .standalone import Space, find_host_problem, find_start_problem, measure_space
from .step import check_unresponsive, is_listed, not_joined_error, read_progress, still_listed_error

UNIXCTL_SECONDS = 5.0
# A waiting launcher reads the record every second (OVN_POLL of the unit): if it waits longer than this, then not for the record just written.
_WAITING_SECONDS = 5.0


@dataclasses.dataclass
class HostMember:
    """Where the parts of one member are."""

    database: str
    member: str
    record: str
    environment_file: str
    launcher: str
    unit: str
    run: Runner
    database_file: str = ""  # where the file is if there are no settings yet
    revision: str = (
        ""  # digest of the settings that the process should run with; that of the settings on this host if empty
    )
    address: str = ""  # the declared Raft address

    def environment(self) -> dict[str, str]:
        """Return the launcher's settings; empty if this host has none yet."""
        try:
            lines = pathlib.Path(self.environment_file).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        return {key.strip(): value for key, value in pairs}

    def socket(self, kind: str) -> str:
        directory = self.environment().get("OVN_RUN_DIR", "/run/ovn")
        return os.path.join(directory, f"{STEMS[self.database]}.{kind}")

    def ask(self, seconds: float = UNIXCTL_SECONDS, *, twice: bool = False) -> Answer:
        """Return the answer of the running process, from both of its sockets, within `seconds`."""
        return ask_member(
            self.member,
            DATABASE_NAMES[self.database],
            control_socket=self.socket("ctl"),
            endpoint=Endpoint("unix", self.socket("sock")),
            deadline=Deadline(seconds),
            twice=twice,
        )

    def observe(self) -> Observation:
        """Return everything that a plan needs to know of this member. A file that cannot be examined is "unknown", never "absent"."""
        record = read_record(self.record, self.database)
        observed = Observation(
            self.member,
            record=record.as_dict() if record else None,
            host_problem=find_host_problem(self.address, "", Space(None, None)),
        )
        environment = self.environment()
        if not environment or not os.access(self.launcher, os.X_OK):
            file_class, reason = self._unexamined_file()
            return dataclasses.replace(observed, installed=False, file_class=file_class, file_reason=reason)
        self._refuse_other_place(environment)
        answer = self.ask(twice=True)
        status, server = answer.status, answer.server
        running = status is not None or server is not None
        pid = None if running else self._pid()
        if pid is not None and self._age(pid) < LOADING_SECONDS:
            running = True  # it still reads its file: not connected yet, and not to be disturbed
        elif pid is not None:
            # A compaction of a large file takes as long. So the state of this member is unknown, and no step acts on it.
            reason = (
                f"the server of {self.unit} does not answer on {self.socket('ctl')} within {UNIXCTL_SECONDS:g} s. It is busy or it hangs: "
                "check its log, wait, and restart the unit if it stays so"
            )
            return dataclasses.replace(observed, running=True, file_class="unknown", file_reason=reason)
        observed = self.with_answer(observed, answer, running=running)
        observed = dataclasses.replace(observed, restart_reason=self._restart_reason(environment) if running else "")
        observed = self._with_file(observed, environment)
        if status is not None and status.log_next > 0:
            observed = dataclasses.replace(observed, last_index=status.log_next - 1, last_term=None)
        witness, space = self._witness(environment), measure_space(environment.get("OVN_DB_FILE", ""))
        state = pathlib.Path(environment.get("OVN_STATE_DIR", ""))
        # A server that has given up completes no file: only a restart helps it.
        space = space._replace(incomplete=observed.connected and (state / "incomplete").exists())
        # A member that does not run is worth its start on a small disk, too.
        needed = space if running else Space(None, None)
        return dataclasses.replace(
            observed,
            witness_index=witness.index_of(observed.sid or observed.file_sid),
            witnesses=witness.by_short_sid(),
            witness_entry=witness.entries.get(observed.sid or observed.file_sid or ""),
            start_problem=find_start_problem(environment, needed),
            host_problem=find_host_problem(self.address, environment.get("OVN_DB_FILE", ""), needed),
            starting=pid is not None or self._has_just_started(),
            file_bytes=space.file,
            free_bytes=space.free,
        )

    @staticmethod
    def with_answer(observed: Observation, answer: Answer, *, running: bool) -> Observation:
        """Return the observation with what the process said of itself."""
        status, server = answer.status, answer.server
        return dataclasses.replace(
            observed,
            running=running,
            connected=bool(server and server.connected),
            leader=bool(server and server.leader),
            cid=(server.cluster_id if server else None) or (status.cluster_id if status else None),
            sid=(server.server_id if server else None) or (status.server_id if status else None),
            listed={server.sid: server.address for server in status.servers} if status else {},
            answer=answer.as_dict(),
        )

    def _refuse_other_place(self, environment: t.Mapping[str, str]) -> None:
        """Raise `Refused` if the run names another file: an empty directory would look like a lost disk, and each healthy member would be replaced."""
        before = environment.get("OVN_DB_FILE", "")
        if self.database_file and before and before != self.database_file and os.path.exists(before):
            raise Refused(
                f"The {self.database} file of {self.member} is {before}, and the run names {self.database_file}. A run moves no database: put the old "
                "directory back into the inventory, or stop the unit, move the file there and run again. Nothing was changed."
            )

    def _with_file(self, observed: Observation, environment: dict[str, str]) -> Observation:
        """Return the observation with the state of the database file. A connected member knows its ids best: of its file only the presence counts."""
        if observed.connected:
            file_class, reason = self.presence(environment.get("OVN_DB_FILE", "")), ""
            if file_class == "none":  # a disk that was unmounted under the server is no deleted file
                file, problem = self._examined_file(environment)
                if problem:
                    file_class, reason = "unknown", problem
                elif file["class"] == DISK_MISSING:
                    file_class, reason = DISK_MISSING, file["reason"]
            return dataclasses.replace(
                observed, file_class=file_class, file_reason=reason, file_cid=observed.cid, file_sid=observed.sid
            )
        file, problem = self._examined_file(environment)
        if problem:
            return dataclasses.replace(observed, file_class="unknown", file_reason=problem)
        return dataclasses.replace(
            observed,
            file_class=file["class"],
            file_cid=file["cid"] or None,
            file_sid=file["sid"] or None,
            file_reason=file["reason"],
            last_term=number_or_none(file.get("last_term")),
            last_index=number_or_none(file.get("last_index")),
        )

    def _examined_file(self, environment: dict[str, str]) -> tuple[dict[str, str], str]:
        """Return the facts of the launcher about the file, or why there are none that can be used."""
        try:
            code, out, err = self.run([self.launcher, "state"], environment)
        except OvnError as e:
            code, out, err = 127, "", str(e).rstrip(".")  # as a shell
        file = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        if code != 0 or not {"class", "cid", "sid", "reason"} <= file.keys():
            message = err.strip()[-300:] or "it printed nothing"
            reason = f"{self.launcher} cannot examine the {self.database} file (code {code}): {message}. Run the playbook again."
            return {}, reason
        return file, ""

    @staticmethod
    def presence(path: str) -> str:
        try:
            return "member" if os.stat(path).st_size else "empty"
        except FileNotFoundError:
            return "none" if os.path.isdir(os.path.dirname(path)) else "unknown"
        except OSError:
            return "unknown"

    @staticmethod
    def _witness(environment: t.Mapping[str, str]) -> Witness:
        """Return the witness of this host, merged with that of the record."""
        record = environment.get("OVN_RECORD_DIR", "").rstrip("/")
        texts = []
        for path in (environment.get("OVN_WITNESS_FILE") or f"{record}.witness", f"{record}/witness"):
            try:
                texts.append(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
        return parse_witness("\n".join(texts))

    def _unexamined_file(self) -> tuple[str, str]:
        """Return class and reason of the file as far as they are known without launcher and settings, for check mode on a fresh host."""
        path = pathlib.Path(self.database_file or f"/var/lib/ovn/{STEMS[self.database]}.db")
        try:
            with path.open("rb") as file:
                magic = file.read(10)
        except FileNotFoundError:
            return "none", ""
        except OSError as e:
            return "unknown", f"The {self.database} file {path} cannot be read: {e}."
        if magic == b"OVSDB JSON":
            return "standalone", f"{path} is a standalone database. Move it aside, or import it with a playbook."
        return "unexamined" if magic else "empty", f"{path} is there"

    def _pid(self) -> int | None:
        """Return the server's process. A pid file can be stale and its number reused: only a process with our file on its command line counts."""
        file = self.environment().get("OVN_DB_FILE", "")
        try:
            pid = int(pathlib.Path(self.socket("pid")).read_text(encoding="ascii"))
            arguments = pathlib.Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if file and os.fsencode(file) in arguments else None

    @staticmethod
    def _age(pid: int) -> float:
        """Return the seconds since the process started: proc(5), field 22 of stat, in clock ticks since boot."""
        try:
            fields = pathlib.Path("/proc", str(pid), "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
        except OSError:
            return 0.0

    def _has_just_started(self) -> bool:
        pid = self._pid()
        return pid is not None and self._age(pid) < FINDS_OTHERS_SECONDS

    def _restart_reason(self, environment: dict[str, str]) -> str:
        """Return why the running process is not what a fresh start would give; empty if it is."""
        started = pathlib.Path(environment.get("OVN_STATE_DIR", ""), "revision")
        desired = self.revision or environment.get("OVN_REVISION", "")
        if desired and (not started.exists() or started.read_text(encoding="utf-8").strip() != desired):
            return "its settings have changed"
        pid = self._pid()
        try:
            replaced = pid is not None and os.readlink(f"/proc/{pid}/exe").endswith(" (deleted)")
        except OSError:
            replaced = False
        return "its package was upgraded" if replaced else ""

    def check_target(self, expected: t.Mapping[str, t.Any]) -> None:
        """Raise `Changed` if this member is no longer as when the step was planned. `expected` is `Observation.target()` of then."""
        now = self.observe().target()
        differs = sorted(key for key in expected if now.get(key) != expected[key])
        if differs:
            message = ", ".join(f"{key} was {expected[key]} and is {now.get(key)}" for key in differs)
            raise Changed(f"{self.database} on {self.member} has changed since the step was planned: {message}.")

    def start(self) -> None:
        """Start the unit. A launcher that waits in it has the settings of its own start: it is restarted with the current ones."""
        self.systemctl("restart" if self._launcher_waits() and self._pid() is None else "start")

    def restart(self) -> None:
        self.systemctl("restart")

    def stop(self) -> None:
        self.systemctl("stop")

    def systemctl(self, verb: str) -> None:
        # The unit may have been written a moment ago, by this or a killed run.
        self.run(["systemctl", "daemon-reload"], {})
        code, out, err = self.run(["systemctl", verb, self.unit], {})
        if code != 0:
            raise OvnError(f"systemctl {verb} {self.unit} failed: {(err or out).strip()}. {self._why_not_running()}")

    def _why_not_running(self) -> str:
        """Return the launcher's reason, or the command that shows the log."""
        reason = pathlib.Path(self.environment().get("OVN_STATE_DIR", ""), "reason")
        try:
            message = reason.read_text(encoding="utf-8").strip()
        except OSError:
            message = ""
        return message or f"See: journalctl -u {self.unit}"

    def _launcher_waits(self) -> bool:
        """Return whether the launcher says that it does not start the server."""
        state = pathlib.Path(self.environment().get("OVN_STATE_DIR", ""), "state")
        try:
            return state.read_text(encoding="utf-8").strip() in ("ask", "refuse", "idle")
        except OSError:
            return False

    def wait_connected(self, deadline: Deadline) -> None:
        """Wait until the member is connected, else `TimedOut` or `Refused`. Before its sockets exist there is no event, so this polls, ever less often."""
        pause, last = 0.05, "no answer"
        patience = Deadline(_WAITING_SECONDS)
        while True:
            answer = self.ask(min(UNIXCTL_SECONDS, max(0.1, deadline.left())))
            if answer.server is not None and answer.server.connected:
                return
            if answer.status is not None:
                last = f'its status is "{answer.status.status}"'
            elif self.run(["systemctl", "is-active", "--quiet", self.unit], {})[0] != 0:
                raise Refused(f"{self.unit} does not run. {self._why_not_running()}")
            elif not self._launcher_waits():
                patience = Deadline(_WAITING_SECONDS)
            elif patience.expired:
                raise Refused(f"{self.unit} waits. {self._why_not_running()}")
            if deadline.expired:
                raise not_joined_error(self.database, self.member, deadline, last)
            time.sleep(min(pause, deadline.left()))
            pause = min(pause * 1.5, 1.0)

    def kick(self, server_id: str, deadline: Deadline) -> None:
        """Remove a server from the cluster and wait until the leader's list lacks it: the reply only says that the removal has begun."""
        name = DATABASE_NAMES[self.database]
        leader = self.ask()
        if not self._lists(leader, server_id):
            return
        check_unresponsive(self.database, leader, server_id)
        appctl(self.socket("ctl"), "cluster/kick", name, server_id, deadline=Deadline(UNIXCTL_SECONDS))
        while self._lists(self.ask(), server_id):
            if deadline.expired:
                raise still_listed_error(self.database, server_id, deadline)
            time.sleep(0.1)

    def _lists(self, leader: Answer, server_id: str) -> bool:
        return is_listed(self.database, leader, server_id, self.socket("ctl"))

    def wait_for_change(self, seconds: float) -> None:
        """Wait until the answer of this member changes, at most `seconds`."""
        deadline, before = Deadline(seconds), read_progress(self.ask())
        while not deadline.expired and read_progress(self.ask()) == before:
            time.sleep(0.2)
