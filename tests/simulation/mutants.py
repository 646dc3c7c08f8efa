"""Mutants: for each rule one line of the product (or of the modelled launcher, or of the order of a run) broken on purpose. Each has to be found."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import textwrap
import typing as t

from . import observe, world
from .events import Event
from .explore import replay
from .stories import FULL_DISKS, RUN, STORIES, during

_PRODUCT = "ansible_collections.c5c3.ovn.plugins.module_utils._raft."


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
    prefix = "simulation." if module_name in ("launcher", "backend", "runs") else _PRODUCT
    module = importlib.import_module(prefix + module_name)
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
    good, function.__code__ = function.__code__, broken[function.__name__].__code__
    forget()
    try:
        yield
    finally:
        function.__code__ = good
        forget()


def forget() -> None:
    """What the model remembers of functions that may be broken now."""
    observe._OBSERVED.clear()
    world._SETTLED.clear()
    world._LEADERS.clear()


def found_by(mutant: Mutant) -> str:
    """The violation that the mutant leads to, empty if it survives."""
    with applied(mutant):
        if mutant.start:
            return replay(mutant.start, mutant.events)
        for story in STORIES:
            violation = replay(story.start, story.events)
            if violation:
                return f"{story.name}: {violation}"
    return ""


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
        "if short not in owned and not anonymous and short not in heard:",
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
        (("cut", "m2"), during((4, ("kick", "m3")), (29, ("damage", "m1")))),
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
        "if gate in OF_STOPS and not reason:",
        "if False:",
        "five machines",
        (("cut", "m3"), ("unlink", "m1"), ("fill", "m5"), RUN),
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
        "pods do not read the witness that Kubernetes keeps",
        "launcher.decide_for",
        "known = slot.witness",
        "known = None if world.pods else slot.witness",
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
        "for o in observed if leader is None else [leader]:",
        "for o in [] if leader is None else [leader]:",
        "five machines",
        (("scale", 1), ("deaf", "m1"), ("lose_all_records",), RUN),
    ),
    Mutant(
        "R27",
        "settings are written before anything could refuse",
        "runs.SimulatedRun._run",
        "next_round(plans[database], observed, RoundProgress(), self.world.now)",
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
        (("flaky", "m3"), RUN),
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
        "three machines",
        (("lose", "m3"), during((5, ("pause",)))),
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
        "a closed gate does not name the disk of a member whose id is not recorded",
        "step_gates.StepGates.disks_missing",
        "if self.cluster.old_sid(o, self.cluster.record.members[o.member])",
        "if not self.cluster.is_unlisted(self.cluster.record.members[o.member].sid)",
        "five machines",
        (("clone", "m5", "m3"), ("lose_all_records",), ("move", "m3", "m5")),
    ),
    Mutant(
        "R34",
        "members that never joined count for the quorum",
        "recorded_cluster.RecordedCluster.may_vote",
        'if member.sid and member.state not in ("expected", "absent"):',
        "if True:",
        "five new machines",
        (
            *(during((42, ("kill",))), ("lose", "m3"), ("bad_settings",), ("install",)),
            *(("crash", "m1"), ("crash", "m2"), ("start", "m1"), ("start", "m2")),
        ),
    ),
    Mutant(
        "R34",
        "a member that takes no part is no failure",
        "rounds.incomplete",
        "if o is None or not o.connected:",
        "if False:",
        "three machines",
        (("crash", "m3"), ("flaky", "m3"), RUN),
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
        "R34",
        "nobody says that the leader is not declared",
        "maintenance.Maintenance._without_leader",
        "refuse_undeclared(self.cluster)\n",
        "pass\n",
        "five machines",
        (("scale", 1), ("crash", "m1"), ("lose_all_records",)),
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
        "a container is stopped although ours could not start",
        "replacement.Replacement.replace_running",
        "self.steps.refuse_start_problem(target)",
        "pass",
        "three containers",
        (("useless_settings",), RUN),
    ),
    Mutant(
        "R26",
        "a container that is only down is replaced",
        "away.find_away",
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
)
