"""Mutants: for each rule one line of the product (or of the modelled launcher, or of the order of a run) broken on purpose.

The explorer has to find each (`search`), not only the story that was written for it: `python -m simulation --mutants`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import random
import sys
import textwrap
import types
import typing as t

from . import liveness, observe, world
from .events import Event
from .exhaustive import exhaustive
from .explore import STARTS, Corpus, Report, Story, randomly, replay
from .stories import AWAY_TWICE, BEFORE_IT_SHRANK, FULL_CONTAINER, FULL_DISKS, RUN, STORIES, during

# Most events of a story in the search for a mutant.
DEPTH = 9
_LONG = 36000.0  # seconds that are never needed
# Every sequence from these starts comes before the random stories: start, depth, faults, seconds at most.
_EVERY = (("three machines", 4, 2, 20.0), ("new machines", DEPTH, 1, 10.0))
# Those of more kinds of events come after them, if they have found nothing.
_WIDE = ("three machines", 4, 2)
_PRODUCT = "ansible_collections.c5c3.ovn.plugins.module_utils."


class Mutant(t.NamedTuple):
    """`old` stands once in the source of `function` (of a class or a module) and becomes `new`.

    `start` and `events` are the story that finds it; without one the named stories have to.
    """

    rule: str
    what: str
    function: str
    old: str
    new: str
    start: str = ""
    events: tuple[Event, ...] = ()


def _function(name: str) -> tuple[t.Any, dict[str, t.Any]]:
    """The function behind decorators, and the names that its code sees."""
    module_name, _dot, path = name.partition(".")
    places = {"launcher": "simulation.", "runs": "simulation.", "lease": f"{_PRODUCT}_kubernetes."}
    module = importlib.import_module(places.get(module_name, f"{_PRODUCT}_raft.") + module_name)
    found: t.Any = module
    for part in path.split("."):
        found = inspect.getattr_static(found, part)
    if isinstance(found, property):
        found = found.fget
    return inspect.unwrap(found), vars(module)


@contextlib.contextmanager
def applied(mutant: Mutant) -> t.Iterator[None]:
    """The function runs with the broken code wherever it is used."""
    function, names = _function(mutant.function)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(mutant.old) != 1:
        raise AssertionError(
            f"{mutant.what}: {mutant.old!r} stands {source.count(mutant.old)} times in {mutant.function}"
        )
    broken: dict[str, t.Any] = {}
    lines = source.replace(mutant.old, mutant.new).splitlines()
    while lines[0].startswith("@"):
        del lines[0]
    exec(compile("from __future__ import annotations\n" + "\n".join(lines), mutant.function, "exec"), names, broken)
    with _running(function, broken[function.__name__].__code__, _Memos({}, {}, {})):
        yield


class _Memos(t.NamedTuple):
    """What the model remembers of functions that may be broken: the broken and the good code each have their own."""

    observed: dict[t.Any, t.Any]
    settled: dict[t.Any, t.Any]
    leaders: dict[t.Any, t.Any]

    def use(self) -> _Memos:
        """Returns those that were used before."""
        before = _Memos(observe._OBSERVED, world._SETTLED, world._LEADERS)
        observe._OBSERVED, world._SETTLED, world._LEADERS = self
        return before


@contextlib.contextmanager
def _running(function: t.Any, code: types.CodeType, memos: _Memos) -> t.Iterator[None]:
    """Give the function this code."""
    before, function.__code__ = function.__code__, code
    used = memos.use()
    try:
        yield
    finally:
        function.__code__ = before
        used.use()


def found_by(mutant: Mutant) -> str:
    """The violation that the mutant leads to in its own story, empty if it survives."""
    with applied(mutant):
        if mutant.start:
            return replay(mutant.start, mutant.events)
        for story in STORIES:
            violation = replay(story.start, story.events)
            if violation:
                return f"{story.name}: {violation}"
    return ""


def gather(stories: int, seed: int) -> Corpus:
    """What random stories reach without any mutant; the search for each of them begins there."""
    corpus = Corpus()
    randomly(list(STARTS), DEPTH, _LONG, seed, stories=stories, most=stories, corpus=corpus)
    return corpus


class _Directed(Corpus):
    """Each known story once, then mostly variations of those in which the mutant made a difference: what it breaks is close to them."""

    def __init__(self, known: Corpus, said_without: t.Callable[[str, t.Sequence[Event]], set[str]]) -> None:
        super().__init__()
        self.stories, self.known = list(known.stories), set(known.known)
        self.said_without = said_without
        self._first = list(known.stories)
        self._different = Corpus()

    @property
    def part(self) -> float:
        return 0.85 if self._first or self._different.stories else super().part

    def note(self, start: str, story: t.Sequence[Event], said: set[str]) -> None:
        super().note(start, story, said)
        difference = said ^ self.said_without(start, story)
        if difference:  # as a whole: each set of differences is something new
            self._different.note(start, story, {"\n".join(sorted(difference))})

    def draw(self, starts: t.Collection[str], random_: random.Random) -> tuple[str, list[Event | None]] | None:
        if self._first:
            start, story = self._first.pop()
            return start, list(story)
        corpus = self._different if self._different.stories and random_.random() < 0.8 else super()
        return corpus.draw(starts, random_)


def search(
    mutant: Mutant,
    corpus: Corpus,
    seed: int,
    *,
    stories: int = sys.maxsize,
    budget: float = _LONG,
    shorten: bool = True,
    every: bool = False,
) -> Report:
    """Search for a story that breaks a rule with the mutant, and not without it: at random, and with `every` in all short sequences before, and in a wide
    search at last. `budget`: seconds of processor time for the random stories, and seconds for the wide search.
    """
    function = _function(mutant.function)[0]
    good, memos = function.__code__, _Memos({}, {}, {})
    known: liveness.Known = {}

    def breaks_without(story: Story) -> bool:
        with _running(function, good, memos):
            return bool(replay(story.start, story.events, known=known))

    def said_without(start: str, events: t.Sequence[Event]) -> set[str]:
        said = set[str]()
        with _running(function, good, memos):
            replay(start, events, said=said, known=known)
        return said

    with applied(mutant):
        for start, depth, faults, seconds in _EVERY if every else ():
            report = exhaustive(start, depth, seconds, faults)
            report.found = [story for story in report.found if not breaks_without(story)]
            if report.found:
                return report
        report = randomly(
            *(list(STARTS), DEPTH, budget, seed),
            stories=stories,
            corpus=_Directed(corpus, said_without),
            is_known=breaks_without,
            shorten=shorten,
        )
        if every and not report.found:
            start, depth, faults = _WIDE
            report.add(exhaustive(start, depth, budget, faults, wide=True))
            report.found = [story for story in report.found if not breaks_without(story)]
        return report


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "R1",
        "a cluster is created although a host was not examined",
        "plan._found",
        "missing = find_unexamined(run, observed)",
        "missing = list[str]()",
        "new machines",
        (("run", ("m1",), ()),),
    ),
    Mutant(
        "R2",
        "a launcher creates without the permit",
        "launcher.decide",
        "if permit != member:",
        "if False:",
        "new machines",
        (during((10, ("kill",))), ("start", "m2")),
    ),
    Mutant(
        "R5",
        "a lost member joins before its old server id is removed",
        "replacement.Replacement.replace",
        "listed = not self.cluster.is_unlisted(old_sid)",
        "listed = False",
    ),
    Mutant(
        "R5",
        "a lost member is stopped although the others are no quorum",
        "replacement.Replacement.replace",
        'stop = self.steps.gated("may_stop", o.member, step) if costs else step',
        "stop = step",
        "three machines",
        (("unlink", "m1"), ("cut", "m3"), RUN),
    ),
    Mutant(
        "R6",
        "a member joins while another is away",
        "maintenance.Maintenance._join",
        'return self.steps.gated("may_add", None, step)',
        "return step",
        "five machines",
        (("lose", "m5"), ("cut", "m4"), RUN),
    ),
    Mutant(
        "R7",
        "ghosts stay",
        "replacement.Replacement.remove_ghost",
        "if short not in owned and not anonymous and short not in heard and address not in away:",
        "if False:",
        "three machines",
        (("rejoin", "m3"), ("lose_all_records",)),
    ),
    Mutant(
        "R7",
        "zombies stay",
        "replacement.Replacement.replace",
        'zombie = (\n            member.state == "confirmed"',
        "zombie = (\n            False",
        "three machines",
        (("crash", "m3"), ("kick", "m3"), ("start", "m3")),
    ),
    Mutant(
        "R7",
        "a member is stopped for a removal that is not committed",
        "replacement.Replacement.replace",
        'unsettled = self.steps.unsettled() if zombie and not o.is_lost else ""',
        'unsettled = ""',
        "three machines",
        (("cut", "m2"), ("kick", "m3"), RUN),
    ),
    Mutant(
        "R13",
        "the leader restarts first",
        "maintenance.Maintenance._restart",
        "(o.leader, -self.cluster.lag(o))",
        "(not o.leader, -self.cluster.lag(o))",
    ),
    Mutant(
        "R13",
        "a restart does not look at the gate",
        "maintenance.Maintenance._restart",
        'return self.steps.gated("may_stop", target.member, step)',
        "return step",
        "three machines",
        (("good_settings",), ("crash", "m3"), ("install",), ("start", "m3"), ("cut", "m3"), RUN),
    ),
    Mutant(
        "R13",
        "the gate of a stop counts nobody",
        "gates._Gates.may_stop",
        "if len(others) < majority(size):",
        "if False:",
        "three machines",
        (("good_settings",), ("crash", "m3"), ("install",), ("start", "m3"), ("cut", "m3"), RUN),
    ),
    Mutant(
        "R13",
        "the gate of a stop does not ask whether the others have caught up",
        "gates._Gates.may_stop",
        "for other in others:\n",
        "for other in ():\n",
        "three machines",
        (("good_settings",), ("slow", "m3"), ("write",), RUN),
    ),
    Mutant(
        "R13",
        "the leader stops although its followers do not reach each other",
        "gates._Gates.may_stop",
        "if server.is_self:",
        "if False:",
        "three machines",
        (("unlink", "m1"), ("half", "m3", "m2"), RUN),
    ),
    Mutant(
        "G1",
        "a member that does not follow the leader counts as live",
        "gates._Gates.one_leader",
        "if leader_sid != status.sid:",
        "if False:",
        "three machines",
        (("hesitate",), ("good_settings",), ("deaf", "m3"), RUN),
    ),
    Mutant(
        "G1",
        "entries that are not committed are not waited for",
        "gates._Gates.one_leader",
        "if all(sample.not_committed for sample in recent) and committed[-1] <= committed[0]:",
        "if False:",
        "five machines",
        (("slow", "m2"), ("slow", "m3"), ("slow", "m4"), ("lose", "m5"), ("write",), RUN),
    ),
    Mutant(
        "G1",
        "another change of the members is not waited for",
        "gates._Gates.quiet",
        "if status.changes or any(server.phase for server in status.servers):",
        "if False:",
        "five machines",
        (("lose", "m5"), ("slow", "m5"), during((23, ("kill",))), ("lose", "m4"), RUN),
    ),
    Mutant(
        "G1",
        "the leader may have been elected a moment ago",
        "gates._Gates.quiet",
        "status.election_won > needed",
        "True",
        "three machines",
        (("good_settings",), ("lead", "m2"), RUN),
    ),
    Mutant(
        "G1",
        "a member is removed a moment after an election",
        "gates._Gates.may_remove",
        "self.quiet()",
        "pass",
        "five machines",
        (("lose", "m5"), ("lead", "m2"), RUN),
    ),
    Mutant(
        "G1",
        "a member joins a moment after an election",
        "gates._Gates.may_add",
        "self.quiet()",
        "pass",
        "five machines",
        (("lose", "m5"), during((13, ("lead", "m2")))),
    ),
    Mutant(
        "R6",
        "a member joins although the leader does not hear another",
        "gates._Gates.may_add",
        "if absent:",
        "if False:",
        "five machines",
        (("lose", "m5"), ("cut", "m4"), RUN),
    ),
    Mutant(
        "G1",
        "a member that is a moment behind under steady writes is waited for",
        "gates._Gates.caught_up",
        "if lag > MAXIMUM_LAG:",
        "if lag >= MAXIMUM_LAG:",
        "three machines",
        (("good_settings",), ("trail", "m3"), RUN),
    ),
    Mutant(
        "G1",
        "a member that is too far behind counts as caught up",
        "gates._Gates.caught_up",
        "if lag > MAXIMUM_LAG:",
        "if lag > 2 * MAXIMUM_LAG:",
        "three machines",
        (("good_settings",), ("slow", "m3"), ("write",), RUN),
    ),
    Mutant(
        "R32",
        "a disk that is not mounted is lost for who accepts a rollback",
        "plan._plan_round",
        "if not run.accept_lost_disk:",
        "if False:",
        "three machines",
        (("unmount", "m3"), ("run", (), (), ("accept_rollback",))),
    ),
    Mutant(
        "R25",
        "a rollback is accepted without the option",
        "plan._plan_round",
        "if run.accept_rollback:",
        "if True:",
        "three machines",
        (("snapshot", "m3"), ("write",), ("restore", "m3"), RUN),
    ),
    Mutant(
        "R30",
        "a new cluster is also created by a run that must not create",
        "plan._found",
        "if not run.bootstrap or run.adopt:",
        "if not (run.bootstrap or run.new_cluster) or run.adopt:",
        "new machines",
        (("run", (), (), ("no_bootstrap", "new_cluster")),),
    ),
    Mutant(
        "R14",
        "members that are no longer declared are left out",
        "record_checks._refuse_other_members",
        "if undeclared:",
        "if False:",
        "five machines",
        (("scale", 3), RUN),
    ),
    Mutant(
        "R20",
        "a member with a full disk counts for the quorum",
        "step_gates.StepGates.gated",
        "reason = self._disks_full(gate, member)",
        "pass",
        "five machines",
        (("cut", "m3"), ("unlink", "m1"), ("fill", "m5"), RUN),
    ),
    Mutant(
        "R20",
        "members change while the disk of the leader is full",
        "step_gates.StepGates._disks_full",
        "if not is_stop and",
        "if False and",
    ),
    Mutant(
        "R25",
        "the launcher starts an old copy",
        "launcher._class",
        "if file.position < witness.position",
        "if False",
    ),
    Mutant(
        "R25",
        "the launcher starts a copy on another disk",
        "launcher._class",
        "if witness.disk != disk:",
        "if False:",
        "three machines",
        (("crash", "m3"), ("clone", "m3", "m1"), ("unmount", "m3"), ("clone", "m1", "m3"), ("start", "m3")),
    ),
    Mutant(
        "R25",
        "pods do not read the witness that Kubernetes keeps",
        "launcher.decide_for",
        "known = slot.witness",
        "known = None if world.pods else slot.witness",
    ),
    Mutant(
        "R39",
        "the launcher reads only the end of a file",
        "launcher._class",
        '"broken" if file.kind == "rotten"',
        '"member" if file.kind == "rotten"',
    ),
    Mutant(
        "R26",
        "the record lets a member join before its gate was seen open",
        "rounds.hold_back",
        "if joins and name",
        "if False and name",
        "five pods",
        (("lose", "ovn-northbound-4"), ("cut", "ovn-northbound-3"), RUN),
    ),
    Mutant(
        "R26",
        "an expected member that is out of the list is waited for",
        "replacement.Replacement._note_outcast",
        'member.state == "expected"\n',
        "False\n",
        "new machines",
        (during((28, ("kill",))), ("crash", "m3"), ("kick", "m3"), ("start", "m3")),
    ),
    Mutant(
        "R26",
        "a cluster without a leader is recorded without members that others list",
        "plan._adopt",
        "for o in sources:",
        "for o in [leader] if leader else []:",
        "five machines",
        (("scale", 3), ("crash", "m1"), ("lead", "m4"), ("lose_all_records",), RUN),
    ),
    Mutant(
        "R27",
        "settings are written before anything could refuse",
        "runs.SimulatedRun._roll_out",
        "_raise_all(check.refusals)",
        "pass",
        "three machines",
        (("wrong_address", "m2"), ("bad_settings",), RUN),
    ),
    Mutant(
        "R28",
        "a file that could not be examined counts as lost",
        "observation.Observation.is_lost",
        "return self.file_class in LOST",
        'return self.file_class in LOST or self.file_class == "unknown"',
        "three machines",
        (("flaky", "m3"), ("unlink", "m3"), RUN),
    ),
    Mutant(
        "R28",
        "a member that could not be examined counts as examined",
        "step.find_unexamined",
        'if o.file_class != "unknown" or o.connected',
        "if True",
        "three machines",
        (("crash", "m3"), ("flaky", "m3"), ("lose_all_records",), RUN),
    ),
    Mutant(
        "R29",
        "corrected settings do not reach a member that is disconnected",
        "maintenance.Maintenance._restart_disconnected",
        "is_due = o.restart_reason and (self.cluster.run.restart or o.member in self.cluster.failed)",
        "is_due = False",
    ),
    Mutant(
        "R29",
        "members that could not write are waited for",
        "recorded_cluster.RecordedCluster.__init__",
        "if o.write_failed and",
        "if False and",
        "three machines",
        FULL_DISKS,
    ),
    Mutant(
        "R29",
        "corrected settings do not reach a leader that is alone",
        "maintenance.Maintenance._restart_alone",
        "leader is None\n",
        "True\n",
    ),
    Mutant(
        "R29",
        "corrected settings do not reach a cluster without a leader",
        "maintenance.Maintenance._without_leader",
        "self.history.leaderless > patience",
        "False",
    ),
    Mutant(
        "R29",
        "a closed gate does not name a container that could not write",
        "step_gates.StepGates.advise",
        "{self.advise_restart()}",
        "",
        "three containers",
        FULL_CONTAINER,
    ),
    Mutant("R29", "a run waits without end", "rounds.next_round", "now - since > run.wait_timeout", "False"),
    Mutant(
        "R30",
        "a cluster is founded although clients know another",
        "plan._refuse_witnesses",
        "if run.witnesses and not run.new_cluster:",
        "if False:",
    ),
    Mutant(
        "R31",
        "a run goes on with what it saw before the lock was its own",
        "rounds.converge",
        "continue  # another run",
        "pass  # another run",
        "three pods",
        (("lose", "ovn-northbound-2"), RUN),
    ),
    Mutant(
        "R31",
        "a run takes back the lock that another run has acquired meanwhile",
        "lock.renewed",
        "if current is None or current.holder != request.holder:",
        "if False:",
        "three machines",
        (("lose", "m3"), during((5, ("pause",)), (5, RUN))),
    ),
    Mutant(
        "R31",
        "a run acts under the lock of another run",
        "lock.check_held",
        "if current is None or current.holder != holder:",
        "if current is None:",
        "three machines",
        (("lose", "m3"), during((6, ("pause",)), (6, during((5, ("vanish",)))))),
    ),
    Mutant(
        "R31",
        "a run acts although its lock has expired",
        "lock.check_held",
        "if current.seconds_left(clock) <= 0:",
        "if False:",
        "three machines",
        (("lose", "m3"), during((6, ("pause",)))),
    ),
    Mutant(
        "C1",
        "two runs work at the same time",
        "lock.LockRequest.yields_to",
        "return not self.break_lock",
        "return False and not self.break_lock",
        "three machines",
        (("lose", "m3"), during((6, RUN))),
    ),
    Mutant(
        "R31",
        "a run acts although its Lease has expired",
        "lease.RunLease.check",
        "if self.clock() - self._renewed > _SECONDS:",
        "if False:",
        "three pods",
        (("lose", "ovn-northbound-2"), during((7, ("pause",)))),
    ),
    Mutant(
        "C1",
        "two runs hold the Lease at the same time",
        "lease.RunLease._await_free",
        "if observed is None or left <= 0 or self.break_lock:",
        "if True:",
        "three pods",
        (("lose", "ovn-northbound-2"), during((6, RUN))),
    ),
    Mutant(
        "R33",
        "a member is stopped that would not come back",
        "step_gates.StepGates.refuse_start_problem",
        "if problem:",
        "if False:",
        "three machines",
        (("useless_settings",), RUN),
    ),
    Mutant(
        "R32",
        "a disk that is not mounted is a lost one",
        "plan._plan_round",
        "if run.accept_lost_disk:",
        "if True:",
        "three machines",
        (("unmount", "m3"), RUN),
    ),
    Mutant(
        "R32",
        "an accepted lost disk counts for every server that had it",
        "launcher.decide",
        "my_sid == witness.sid",
        "bool(my_sid)",
        "three machines",
        AWAY_TWICE,
    ),
    Mutant(
        "R32",
        "an accepted lost disk is not recorded for the server that had it",
        "plan._give_up_disks",
        'if member.state == "expected" and lost.get(name):',
        "if False:",
        "three machines",
        AWAY_TWICE,
    ),
    Mutant(
        "R32",
        "a closed gate does not name the disk of a member whose id is not recorded",
        "step_gates.StepGates._advise_mount",
        "if not missing:",
        "if not missing or self.cluster.is_unlisted(self.cluster.record.members[missing[0].member].sid):",
        "five machines",
        (("clone", "m5", "m3"), ("lose_all_records",), ("move", "m3", "m5")),
    ),
    Mutant(
        "R34",
        "members that are removed count for the quorum until that is recorded",
        "recorded_cluster.RecordedCluster.electorates",
        "if not lists or any(",
        "if found.clear() or True or any(",
        "five machines",
        (("unlink", "m4"), ("lose", "m3"), ("bad_settings",), RUN, RUN, during((5, ("damage", "m1")))),
    ),
    Mutant(
        "R34",
        "a member that takes no part is no failure",
        "rounds.incomplete",
        "if o is None or not o.connected:",
        "if False:",
        "three machines",
        (("unmount", "m3"), RUN),
    ),
    Mutant(
        "R34",
        "a member that joined again by an older copy of the record stays unnoticed",
        "recorded_members.update_record",
        " or cluster.has_joined_again(o)",
        "",
        "new machines",
        (during((31, ("kill",))), ("lose", "m3"), ("start", "m3")),
    ),
    Mutant(
        "R34",
        "a member that lost its file before it was confirmed stays unnoticed",
        "recorded_cluster.RecordedCluster.can_be_confirmed",
        'return member.state == "expected" and member.sid != sid',
        "return False and member.sid != sid",
        "new machines",
        (during((28, ("kill",))), ("unlink", "m3")),
    ),
    Mutant(
        "R5",
        "a container is stopped although too few are left",
        "replacement.Replacement.replace_running",
        'for gate, member in [("may_add", None), *gates] if target.connected else gates:',
        "for gate, member in ():",
        "three containers",
        (("half", "m3", "m2"), RUN),
    ),
    Mutant(
        "R5",
        "a container that leads is stopped although its followers do not reach each other",
        "replacement.Replacement.replace_running",
        '("may_stop", target.member), ',
        "",
        "three containers",
        (("half", "m3", "m2"), RUN),
    ),
    Mutant(
        "R5",
        "a container is stopped before the record says that it is replaced",
        "replacement.Replacement.replace_running",
        'self.cluster.record = self.cluster.record.with_member(target.member, state="replacing")',
        "pass",
        "three containers",
        (RUN,),
    ),
    Mutant(
        "R13",
        "the container that leads is replaced first",
        "replacement.Replacement.replace_running",
        "(o.connected, o.leader, -self.cluster.lag(o))",
        "(o.connected, not o.leader, -self.cluster.lag(o))",
        "three containers",
        (RUN,),
    ),
    Mutant(
        "R33",
        "a run acts before it refuses for what it observed first",
        "plan.plan_round",
        "if refusal is None",
        "if True",
        "three containers",
        (("useless_settings",), RUN),
    ),
    Mutant(
        "R26",
        "a container that is only down is replaced",
        "recorded_members.find_away",
        "if not run.adopt or not any(o.running for o in observed):",
        "if True:",
        "three containers",
        (("crash", "m3"), RUN),
    ),
    Mutant(
        "R7",
        "a container that was replaced runs on where ours has lost its file",
        "replacement.Replacement._is_replaced",
        "return bool(o.replace_reason) and",
        "return False and",
        "three containers",
        (RUN, ("lose", "m2"), ("container", "m2")),
    ),
    Mutant(
        "R29",
        "nobody says which stopped container the others need",
        "step.find_stopped",
        "if not run.adopt or record is None or newest_leader(observed) is not None:",
        "if True:",
        "three containers",
        (during((9, ("kick", "m3"))),),
    ),
    Mutant(
        "R13",
        "a run says that all is done while a restart is due",
        "maintenance.Maintenance._restart",
        "if not due or not self.cluster.run.restart:",
        "if True:",
        "three machines",
        (("good_settings",), RUN),
    ),
    Mutant(
        "R13",
        "a run restarts members although it must not",
        "maintenance.Maintenance._restart",
        "if not due or not self.cluster.run.restart:",
        "if not due:",
        "three machines",
        (("good_settings",), ("run", (), (), ("no_restart",))),
    ),
    Mutant(
        "R13",
        "the only member is restarted without the permission for an outage",
        "maintenance.Maintenance._restart",
        "if self.cluster.run.allow_outage:",
        "if True:",
        "growing machines",
        (("good_settings",), RUN),
    ),
    Mutant(
        "R31",
        "a step does not say what its targets looked like",
        "maintenance.Maintenance.round",
        "step = dataclasses.replace(step, expects=targets)",
        "pass",
        "three machines",
        (("good_settings",), during((6, ("lead", "m2")))),
    ),
    Mutant(
        "R31",
        "a step does not say which role its target had",
        "observation.Observation.target",
        '"connected": self.connected, "leader": self.leader',
        '"connected": self.connected',
        "three machines",
        (("good_settings",), during((6, ("lead", "m2")))),
    ),
    Mutant(
        "R31",
        "a step does not say which file its target had",
        "observation.Observation.target",
        'return {**target, "file_class": "none" if self.file_class == DISK_MISSING else self.file_class}',
        'return {**target, "file_class": "none"}',
        "three machines",
        (("crash", "m3"), during((6, ("damage", "m3")))),
    ),
    Mutant(
        "R7",
        "a member that came back since its removal was planned is removed",
        "step.check_unresponsive",
        "server.last_message < limit",
        "False",
        "three machines",
        (("snapshot", "m3"), ("lose", "m3"), during((6, ("restore", "m3")))),
    ),
    Mutant(
        "R1",
        "a cluster is created by a run that must not",
        "plan._found",
        "if not run.bootstrap or run.adopt:",
        "if run.adopt:",
        "new machines",
        (("run", (), (), ("no_bootstrap",)),),
    ),
    Mutant(
        "R1",
        "a first run that was cut off is finished by a run that must not create",
        "plan._resume_bootstrap",
        "if run.adopt or not run.bootstrap:",
        "if run.adopt:",
        "new machines",
        (during((10, ("kill",))), ("run", (), (), ("no_bootstrap",))),
    ),
    Mutant(
        "R30",
        "a cluster is founded although nobody looked for an older one",
        "plan._refuse_witnesses",
        "if run.witnesses is None and not run.new_cluster:",
        "if False:",
        "new machines",
        (("run", (), (), ("unsearched",)),),
    ),
    Mutant(
        "R1",
        "a run works on another cluster than the expected one",
        "record_checks.refuse_cluster",
        "if run.expected_cid and cid != run.expected_cid:",
        "if False:",
        "three machines",
        (("run", (), (), ("expected",)),),
    ),
    Mutant(
        "R23",
        "a run works on a cluster that is on hold",
        "record_checks.refuse_by_record",
        "if record.hold:",
        "if False:",
        "three machines",
        (("hold",), RUN),
    ),
    Mutant(
        "R23",
        "a launcher starts a member that is on hold",
        "launcher.decide",
        "if record is not None and record.hold:",
        "if False:",
        "three machines",
        (("hold",), ("crash", "m3"), ("start", "m3")),
    ),
    Mutant(
        "R23",
        "a hold that only one copy of the record has does not count",
        "record.latest",
        "any(record.hold for record in records.values() if record.cid not in agreed.retired_cids)",
        "agreed.hold",
        "three machines",
        (
            *(("backup_record", "m1"), ("backup_record", "m2"), ("hold",)),
            *(("restore_record", "m1"), ("restore_record", "m2"), RUN),
        ),
    ),
    Mutant(
        "R5",
        "a removed server takes part as long as it calls itself connected",
        "replacement.Replacement.replace",
        "takes_part = o.connected and not (self.cluster.listed and self.cluster.is_unlisted(o.sid))",
        "takes_part = o.connected",
        "three machines",
        (("deaf", "m3"), ("hesitate",), ("kick", "m2")),
    ),
    Mutant(
        "R26",
        "a server without a file and without a place in the list is taken for a joiner",
        "replacement.Replacement._note_outcast",
        'in ("left", "none")',
        'in ("left",)',
        "two databases",
        (("kick", "m3"), ("lose_all_records",), during((1, ("unlink", "m3")))),
    ),
    Mutant(
        "R29",
        "a member whose disk is back while it was being replaced does not start without a leader",
        "recorded_cluster.RecordedCluster.can_be_confirmed",
        "return is_kept and",
        "return False and",
        "two databases",
        (
            *(("deaf", "m3"), ("unmount", "m3")),
            ("run", (), ((8, ("mount", "m3")), (19, ("vanish",))), ("no_restart", "accept_lost_disk", "unsearched")),
            ("unmount", "m1"),
        ),
    ),
    Mutant(
        "R27",
        "a leader without a quorum lets a run write settings",
        "maintenance.Maintenance._with_leader",
        "self._refuse_without_quorum()",
        "pass",
        "three machines",
        (("unmount", "m1"), ("unlink", "m3"), RUN, ("bad_settings",), ("lose", "m3"), RUN),
    ),
    Mutant(
        "R27",
        "what is checked before the first change refuses nothing",
        "machine_plan.check_databases",
        "refusals[database] = e\n",
        "pass\n",
        "two databases",
        (("wrong_address", "m2"), ("good_settings",), RUN),
    ),
    Mutant(
        "R8",
        "members vote twice in one term, so that logs differ at one term and index",
        "launcher.decide_for",
        "known = slot.witness",
        "known = slot.witness = None",
        "three machines",
        (
            *(("snapshot", "m2"), ("snapshot", "m3"), ("lead", "m1"), ("down", "m2"), ("down", "m3"), ("burst", "m1")),
            *(("down", "m1"), ("restore", "m2"), ("restore", "m3"), ("write",), ("boot", "m1"), ("time",)),
        ),
    ),
    Mutant(
        "R37",
        "a server that left for good goes on running",
        "plan._plan_round",
        "if stop is not None:",
        "if False:",
        "shrunk machines",
        (("boot", "m5"), RUN),
    ),
    Mutant(
        "R37",
        "a server that left for good is stopped after other steps",
        "recorded_members.stop_retired",
        "return Step(",
        "return None and Step(",
        "shrunk machines",
        (("boot", "m5"), ("good_settings",), RUN),
    ),
    Mutant(
        "R37",
        "members that left are pruned from the record",
        "step.next_revision",
        "record.replace(",
        "record.replace(members=record.present, ",
        "shrunk machines",
        (("good_settings",), ("lose", "m3"), RUN, ("boot", "m5"), RUN),
    ),
    Mutant(
        "R37",
        "a server that left for good counts as a ghost",
        "recorded_members.stop_retired",
        "if short in past:",
        "if False:",
        "five machines",
        BEFORE_IT_SHRANK,
    ),
    Mutant(
        "R37",
        "the host of a member that left keeps an older record",
        "plan._plan_round",
        "behind = any(o.recorded != record for o in former)",
        "behind = False",
        "shrunk machines",
        (("boot", "m5"), ("crash", "m5"), RUN),
    ),
)
