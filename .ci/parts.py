"""Run the parts of continuous integration side by side, each as soon as the parts that it needs have ended.

What a part prints goes to .nox/ci/PART.log and is shown as a whole when the part ends. The first failure ends all other parts. However the run
ends, the clusters and machines of the tests are removed, a table shows each part's time, and the reasons of a failure come last.
An hour is too short for everything. By the hash of the commit, half of the files of the integration tests and one other version of ansible-core
have their turn; by the number of commits, one of the long stories (`STORIES`), so that each is played every few landings. With --whole, both halves
and the stories on machines run; parts that are named run as a whole.
Usage: parts.py [--keep-going] [--whole] [PART...]    all parts but those on request, or these and the parts that they need; .ci/run calls it, which
installs what it needs. With --keep-going a failure ends nothing else: the parts that come after it start, too.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import os
import re
import resource
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".nox" / "ci"
# Sessions that wait more than they compute have parts of their own.
OWN_PARTS = ("integration", "molecule", "chaos")
# These compute most of the time, but start daemons and API servers, too, with limits of time: they do not yield.
WITH_DAEMONS = ("oldest",)
# The versions of ansible-core beside the one of all other parts.
VERSIONS = ("oldest", "newest")
DATAPATH = "tests/integration/test_datapath.py"
DATAPATH_OF_PODS = "tests/integration/test_datapath_pods.py"
# Debian's releases whose kernels the test bed builds for it.
KERNELS = ("bookworm", "trixie")
ADOPTION = "tests/integration/test_adoption_machines.py"
# Of tests/kind/test_stories.py, what a rollout in pods has to stand: the other stories of the clusters come on request.
CORE_OF_KIND = (
    "second_run_changes_nothing",
    "ping_between_nodes",
    "status_and_verify",
    "speak_tls_only",
    "delete_any_one_pod",
    "all_is_well",
    "pods_and_claims_are_lost",
    "kill_a_node",
)
# Long stories, of which a run plays one: the parts that it ends with.
STORIES = {
    "kind's core stories": ("kind core",),
    "the operator on kind": ("operator",),
    "OpenStack": ("openstack-down",),
    "adoption on machines": ("integration adoption",),
    "Debian 12": ("molecule machines",),
    "Debian 13": ("molecule trixie",),
    "the kernel's datapath": tuple(f"integration kernel {suite}" for suite in KERNELS),
}
# Stories that need as much processor time as a second ansible-core version: `oldest` and `newest` do not run beside them.
HEAVY = ("kind's core stories", "the operator on kind", "OpenStack")
# Tests of timing run at the same time: what only computes yields to them.
YIELDS = 5
REASONS = re.compile(r'fatal: |FAILED|^E  |"msg": |[Ee]rror: |It ended with|^(testbed|kind|machines): |^!!! ')
CLOSING = re.compile(r"=+ .*\b(passed|failed|error|errors)\b.* in [0-9.]+s.* =+$")
PATIENCE = 20  # seconds between SIGTERM and SIGKILL
SILENCE = 300  # seconds until a line says what still runs
# Minutes for all parts together: who starts this may end it after 90, and then there is no table. Twice that if everything runs.
LIMIT = 88


@dataclasses.dataclass(frozen=True)
class Part:
    """A command of continuous integration. `after` names the parts that have to end well before it starts."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    niceness: int = 0
    limit: float = 45  # minutes until it counts as failed
    on_request: bool = False  # runs only if it is named


@dataclasses.dataclass
class Outcome:
    """How a part ended. CPU seconds include its daemons where the kernel can tell (`Group`), but never the containers of a Docker engine."""

    part: Part
    result: str  # ok, failed, stopped
    start: float
    seconds: float
    cpu: float
    reason: str = ""


def default_sessions(noxfile: Path) -> list[str]:
    """The sessions that `nox` runs without arguments, read from the file: nox itself may not be there yet."""
    sessions = []
    for node in ast.parse(noxfile.read_text(encoding="utf-8")).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            call = decorator if isinstance(decorator, ast.Call) else None
            if ast.unparse(call.func if call else decorator) != "nox.session":
                continue
            keywords = {k.arg: ast.unparse(k.value) for k in call.keywords} if call else {}
            if keywords.get("default") != "False":
                sessions.append(t.cast(ast.FunctionDef, node).name)
    return sessions


@dataclasses.dataclass(frozen=True)
class Turn:
    """What a run plays: one of the halves 0 and 1, or both (None), and these of the `STORIES`."""

    half: int | None = None
    stories: tuple[str, ...] = ()

    def names(self, names: t.Sequence[str]) -> set[str]:
        """Return the name whose turn it is, or both names in a whole run."""
        return set(names) if self.half is None else {sorted(names)[self.half]}

    def parts(self) -> set[str]:
        """Return the parts that its stories end with."""
        found = {name for story in self.stories for name in STORIES[story]}
        kernels = self.names([f"integration kernel {suite}" for suite in KERNELS])
        return {name for name in found if "kernel" not in name or name in kernels}

    def __str__(self) -> str:
        half = "both halves" if self.half is None else f"half {self.half} of 0 and 1"
        return f"{half}, story in turn: {', '.join(self.stories)}"


WHOLE = Turn(None, ("Debian 12", "Debian 13", "the kernel's datapath"))


def turn_of_commit(root: Path = ROOT) -> Turn:
    """Return the turn: the half by the hash of the commit, the story by the number of commits, in a clone without history by the hash as well."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    commit = int(git("rev-parse", "HEAD"), 16)
    has_history = git("rev-parse", "--is-shallow-repository") == "false"
    # The last bit is that of the half.
    number = int(git("rev-list", "--count", "HEAD")) if has_history else commit >> 1
    return Turn(commit % 2, (list(STORIES)[number % len(STORIES)],))


def session(name: str, half: str, *after: str, niceness: int = 0, arguments: tuple[str, ...] = ()) -> Part:
    """A session of nox, or `half` of one, which the arguments choose."""
    command = (".venv/bin/nox", "--session", name, *(("--", *arguments) if arguments else ()))
    return Part(f"{name} {half}".strip(), command, after, niceness)


def parts_of_this_project(turn: Turn | None = None) -> list[Part]:
    """All parts, with a turn without those of the other half. The gates follow one another: they share a copy of the collection.

    Tests have limits of time, so those with daemons follow one another, but for chaos and the kernel's datapath, and the gates, which only compute, yield
    to them. The story comes last. Without a turn, a part needs no more than what it uses.
    """
    in_turn = turn or Turn()
    turn_option = () if in_turn.half is None else (f"--turn={in_turn.half}",)
    parts = [
        Part(
            "packages",
            ("bash", "-c", "tests/testbed/packages daemons machines kind docker && tests/testbed/kind tools"),
        ),
        Part("tools", ("make", "--silent", ".venv/.stamp")),
        Part("api-server", ("tests/testbed/node-image/build", "api-server"), ("packages",), YIELDS),
        session(
            "integration",
            "loopback",
            "packages",
            "tools",
            arguments=(
                "-m",
                "not api_server and not own_machines and not docker and not rotations",
                "--numprocesses=4",
                "--ignore=tests/integration/test_oldest.py",  # the part `oldest` runs them
                *turn_option,
            ),
        ),
    ]
    # Chaos waits nearly all of its time: both run while there are gates for the processors.
    places = {"hosts": (11, 75), "pods": (21, 60)}
    for place, (seed, seconds) in places.items():
        chaos = ("env", f"ON={place}", f"SEED={seed}", f"BUDGET={seconds}", ".venv/bin/nox", "--session", "chaos")
        binaries = ("api-server",) if place == "pods" else ()
        parts.append(Part(f"chaos {place}", chaos, ("integration loopback", *binaries)))
    parts.append(
        session(
            "integration",
            "on an API server",
            *(f"chaos {place}" for place in places),
            "api-server",
            arguments=("-m", "(api_server or docker) and not rotations", "--numprocesses=4", *turn_option),
        )
    )
    former, versions = "tools", set() if set(HEAVY) & set(in_turn.stories) else in_turn.names(VERSIONS)
    for name in default_sessions(ROOT / "noxfile.py"):
        if name not in OWN_PARTS and (name not in VERSIONS or name in versions):
            daemons = ("packages", "api-server") if name in WITH_DAEMONS else ()
            parts.append(session(name, "", former, *daemons, niceness=0 if daemons else YIELDS))
            former = name
    return parts + stories_on_request(() if turn is None else ("integration on an API server",))


def stories_on_request(last: tuple[str, ...]) -> list[Part]:
    """All parts of stories, which run if they are named or have their turn; those with limits of time come after `last`."""
    machines = ("packages", "tools", *last)
    parts = [
        # Six nodes take most of a processor.
        Part("images", ("tests/testbed/kind", "images"), ("packages", "api-server"), YIELDS),
        Part("clusters", ("tests/testbed/kind", "clusters"), ("images", *last)),
        session(
            "kind", "core", "tools", "clusters", arguments=("-k", f"test_stories.py and ({' or '.join(CORE_OF_KIND)})")
        ),
        session("kind", "", "tools", "clusters"),
        Part("kind-down", ("make", "--silent", "kind-down"), ("kind",)),
        Part("operator", ("make", "--silent", "operator"), ("images", *machines)),
        # A real Neutron on eight machines, for five minutes of both processors.
        Part("openstack", ("make", "--silent", "openstack"), machines),
        Part("openstack-down", ("make", "--silent", "openstack-down"), ("openstack",)),
        # Booted machines of their own: each test takes three to five minutes of both processors.
        session("integration", "adoption", *machines, arguments=(ADOPTION, "-m", "own_machines", "-n0")),
        # The datapath tests are apart: those of machines have parts of their own, those of pods run by name.
        session(
            *("integration", "own machines", *machines),
            arguments=("-m", "own_machines", "-n0", f"--ignore={DATAPATH}", f"--ignore={DATAPATH_OF_PODS}"),
        ),
        # Rotations that are cut off or killed, by hand, or with a given CA: the story `rotate` and the other tests of both CAs run in their turn.
        session("integration", "rotations", *machines, "api-server", arguments=("-m", "rotations", "-n0")),
    ]
    for path in sorted(ROOT.glob("molecule/*/molecule.yml")):
        if path.parent.name != "kind":  # a part of the session `kind`
            scenario = path.parent.name
            parts.append(session("molecule", scenario, *machines, arguments=("--scenario-name", scenario)))
    # Hypervisors that switch packets in a kernel of their own, of one release. Nearly all of its time it waits, as chaos does.
    for suite in KERNELS:
        build = Part(f"kernel {suite}", ("tests/testbed/kernel/build", suite), ("packages",), YIELDS)
        words = (DATAPATH, "-m", "own_machines", "-n0", "-k", f"{suite}-kernel")
        beside = ("integration loopback",) if last else ()
        parts += [build, session("integration", f"kernel {suite}", *beside, build.name, "tools", arguments=words)]
    return [dataclasses.replace(part, on_request=True) for part in parts]


def needed(parts: t.Sequence[Part], names: t.Sequence[str], in_turn: t.Collection[str] = ()) -> list[Part]:
    """The parts with these names and those that they need; without names, all that do not wait for a request, and those in turn."""
    by_name = {part.name: part for part in parts}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        sys.exit(f"There is no part {', '.join(unknown)}. Parts: {', '.join(by_name)}")
    wanted = set(names or (name for name, part in by_name.items() if not part.on_request or name in in_turn))
    while more := {before for name in wanted for before in by_name[name].after} - wanted:
        wanted |= more
    return [part for part in parts if part.name in wanted]


class Group:
    """A control group (v1) that counts the processor time of a part with the daemons that leave its process tree. None if there can be none."""

    def __init__(self, name: str, pid: int) -> None:
        self._folder: Path | None = None
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/cgroup").read_text().splitlines():
                _number, controllers, path = line.split(":", 2)
                if "cpuacct" in controllers.split(","):
                    folder = Path(f"/sys/fs/cgroup/cpuacct{path}", f"ci-{os.getpid()}-{name.replace(' ', '-')}")
                    folder.mkdir()
                    (folder / "cgroup.procs").write_text(str(pid))
                    self._folder = folder

    def seconds(self) -> float | None:
        """Processor seconds until now. The group goes, unless daemons still are in it."""
        if self._folder is None:
            return None
        nanoseconds = int((self._folder / "cpuacct.usage").read_text())
        for folder in sorted(self._folder.glob("**/"), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        return nanoseconds / 1e9


class Running:
    """A started part: a process group of its own, whose output goes to a file."""

    def __init__(self, part: Part, log: Path, started: float) -> None:
        self.part, self.log, self.started, self.begun = part, log, started, time.monotonic()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ["nice", "-n", str(part.niceness), *part.command],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # Where the kernel shares out the processors between sessions, this is what counts, not the niceness of a process.
        with contextlib.suppress(OSError):
            Path(f"/proc/{self._process.pid}/autogroup").write_text(str(part.niceness))
        self._group = Group(part.name, self._process.pid)

    def ended(self) -> Outcome | None:
        """How it ended; nothing while it runs. A part that takes too long is ended and has failed."""
        late = time.monotonic() - self.begun > self.part.limit * 60
        if late:
            self.stop()
        pid, status, usage = os.wait4(self._process.pid, 0 if late else os.WNOHANG)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        reason = f"not ready after {self.part.limit:g} min" if late else f"exit status {code}"
        return self._outcome("ok" if code == 0 and not late else "failed", usage, reason)

    def stopped(self, reason: str) -> Outcome:
        self.stop()
        _pid, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._outcome("stopped", usage, reason)

    def _outcome(self, result: str, usage: resource.struct_rusage, reason: str) -> Outcome:
        cpu = max(usage.ru_utime + usage.ru_stime, self._group.seconds() or 0)
        return Outcome(self.part, result, self.started, time.monotonic() - self.begun, cpu, reason)

    def stop(self) -> None:
        """SIGTERM for its process group, SIGKILL for what is left of it after a while. The leader stays to be waited for."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while (
            time.monotonic() < deadline
            and os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        ):
            time.sleep(0.1)
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Run:
    """One run of parts; `outcomes` in the order in which they ended."""

    def __init__(
        self, parts: t.Sequence[Part], logs: Path, pause: float = 0.5, limit: float = LIMIT, keep_going: bool = False
    ) -> None:
        self.outcomes: list[Outcome] = []
        # The number of a signal. The loop looks at it, so that no part is forgotten that is just being started.
        self.interrupted_by = 0
        self._late = False
        self._waiting, self._running = list(parts), list[Running]()
        self._logs, self._pause, self._begun, self._limit = logs, pause, time.monotonic(), limit
        self._keep_going = keep_going
        logs.mkdir(parents=True, exist_ok=True)

    def run(self) -> bool:
        """Start what can start until nothing is left, or a part fails that may end the others. True if all ended well."""
        silent_since = time.monotonic()
        try:
            while self._waiting or self._running:
                self._start()
                if time.monotonic() - silent_since > SILENCE:
                    silent_since = time.monotonic()
                    names = ", ".join(running.part.name for running in self._running)
                    say(f"--- after {(silent_since - self._begun) / 60:.0f} min: {names}")
                for running in list(self._running):
                    outcome = running.ended()
                    if outcome:
                        self._running.remove(running)
                        self._report(outcome)
                self._late = time.monotonic() - self._begun > self._limit * 60
                if self.interrupted_by or self._late or (self._failed() and not self._keep_going):
                    return False
                time.sleep(self._pause)
            return not self._failed()
        finally:
            for running in self._running:  # all get the signal before the first is waited for
                running._signal(signal.SIGTERM)
            for running in self._running:
                self._report(running.stopped(self._why_stopped()), tail=20)

    def _failed(self) -> bool:
        return any(outcome.result == "failed" for outcome in self.outcomes)

    def _why_stopped(self) -> str:
        if self.interrupted_by:
            return "interrupted"
        return f"not ready after {self._limit:g} min together" if self._late else "another part failed"

    def _start(self) -> None:
        ready = {outcome.part.name for outcome in self.outcomes if outcome.result == "ok" or self._keep_going}
        for part in [part for part in self._waiting if ready.issuperset(part.after)]:
            self._waiting.remove(part)
            elapsed = time.monotonic() - self._begun
            say(f"--- {part.name} starts after {elapsed / 60:.1f} min")
            self._running.append(Running(part, self.log(part), elapsed))

    def log(self, part: Part) -> Path:
        return self._logs / f"{part.name.replace(' ', '-')}.log"

    def _report(self, outcome: Outcome, tail: int = 0) -> None:
        self.outcomes.append(outcome)
        lines = self.log(outcome.part).read_text(encoding="utf-8", errors="replace").splitlines()
        end = f"{outcome.result} after {outcome.seconds / 60:.1f} min, {outcome.cpu:.0f} CPU seconds"
        say(f"\n=== {outcome.part.name}: {end}", *(lines[-tail:] if tail else lines), f"=== end of {outcome.part.name}")

    def summary(self) -> list[str]:
        """The table of parts, pytest's closing lines again, and at last why parts failed."""
        rows = [f"{'part':20} {'start':>6} {'minutes':>8} {'CPU s':>7}  result"]
        for outcome in sorted(self.outcomes, key=lambda o: o.start):
            times = f"{outcome.start / 60:6.1f} {outcome.seconds / 60:8.1f} {outcome.cpu:7.0f}"
            rows.append(f"{outcome.part.name:20} {times}  {outcome.result}")
        rows += [f"{part.name:20} {'-':>6} {'-':>8} {'-':>7}  not started" for part in self._waiting]
        closing, reasons = [], []
        for outcome in self.outcomes:
            lines = self.log(outcome.part).read_text(encoding="utf-8", errors="replace").splitlines()
            closing += [f"{outcome.part.name}: {line}" for line in lines if CLOSING.search(line)]
            if outcome.result == "failed" or (outcome.result == "stopped" and self._late):
                found = [line[:700] for line in lines if REASONS.search(line)][-25:] or lines[-10:]
                reasons += [
                    f"\n!!! {outcome.part.name} failed: {outcome.reason}. What its output says about it:",
                    *found,
                ]
        return [*rows, "", *closing, *reasons]


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def processor_seconds() -> tuple[float, float]:
    """Busy and idle seconds of all processors since boot."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    ticks = os.sysconf("SC_CLK_TCK")
    return (sum(fields) - idle) / ticks, idle / ticks


def clean_up(failed: bool, played: t.Collection[str]) -> None:
    """Remove the clusters and machines that a run of these parts has left. What is in .kind goes with them, so a failure shows the end of each log there."""
    if failed:
        for log in sorted(ROOT.glob(".kind/*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            say(f"==> .kind/{log.name}", *(line[:300] for line in lines[-15:]))
    commands: list[tuple[dict[str, str], list[str]]] = [({}, ["tests/testbed/kind", "down"])]
    if "openstack" in played and "openstack-down" not in played:
        commands.append(({}, ["tests/testbed/openstack", "down"]))
    for scenario in sorted(ROOT.glob("molecule/*/molecule.yml")):
        settings = dict(
            re.findall(r"^ +(MACHINES_[A-Z]+): *(\S+)$", scenario.read_text(encoding="utf-8"), re.MULTILINE)
        )
        if "MACHINES_STATE" in settings and os.path.exists(settings["MACHINES_STATE"]):
            commands.append((settings, ["tests/testbed/machines", "down"]))
    for environment, command in commands:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            say(f"!!! {' '.join(command)} failed: {(done.stdout + done.stderr)[-1000:]}")


def main(names: list[str]) -> int:
    begun, (busy, idle) = time.monotonic(), processor_seconds()
    keep_going, whole = "--keep-going" in names, "--whole" in names
    named = [name for name in names if name not in ("--keep-going", "--whole")]
    turn = None if named else WHOLE if whole else turn_of_commit()
    parts = needed(parts_of_this_project(turn), named, turn.parts() if turn else ())
    say(f"=== {turn or 'named parts'}: {', '.join(part.name for part in parts)}")
    run, good = Run(parts, LOGS, keep_going=keep_going, limit=LIMIT * (2 if named or whole else 1)), False

    def interrupt(number: int, _frame: object) -> None:
        run.interrupted_by = number

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        good = run.run()
    finally:
        if os.geteuid() == 0:
            clean_up(not good, {outcome.part.name for outcome in run.outcomes})
        now_busy, now_idle = processor_seconds()
        say(
            f"\n=== {(time.monotonic() - begun) / 60:.1f} min; the processors were busy for {now_busy - busy:.0f} s"
            f" and idle for {now_idle - idle:.0f} s, with all daemons and whatever else runs on this machine",
            *run.summary(),
        )
    if run.interrupted_by:
        return 128 + run.interrupted_by
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
