"""Random stories, shrunk to the shortest that shows the same violation; exhaustive.py explores every sequence of events."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import random
import sys
import time
import typing as t

from . import events, liveness
from .canonical import canonical
from .events import Event
from .runs import Outcome, play
from .stories import OPEN, RUN
from .world import NORTHBOUND, SOUTHBOUND, Violation, World

# How often each event is drawn, by what it happens to.
_OF_HOSTS = {
    **dict.fromkeys(
        ("burst", "crash", "down", "lose", "snapshot", "restore", "cut", "deaf", "mute", "lead", "damage", "rot"), 8
    ),
    **dict.fromkeys(("start", "boot", "unlink", "cut_off_join", "fill", "free", "slow", "fast", "flaky", "steady"), 3),
    **dict.fromkeys(("trail", "keep_up", "hold_one"), 2),
    **dict.fromkeys(("unreachable", "reachable", "wrong_address", "right_address", "lose_record", "kick", "rejoin"), 3),
    **dict.fromkeys(("backup_record", "restore_record", "unmount", "mount"), 3),
}
_OF_PAIRS = {"clone": 2, "move": 2, "half": 2}
_OF_ALL = {
    "write": 40,
    **dict.fromkeys(("heal", "bad_settings", "useless_settings", "good_settings", "install", "lose_all_records"), 2),
    **dict.fromkeys(("time", "clock", "hesitate", "decide", "hold", "release"), 2),
}
# Only where they make sense.
_OF_STARTS = {"shrink": 8, "scale": 8, "replace_hosts": 5, "recreate": 6, "container": 40}
# What random stories begin with: something is due, and something that lasts is in its way.
_DUE = ("good_settings", "install", "lose", "unlink", "crash", "kick", "scale", "lose_all_records", "run")
_LASTING = ("slow", "trail", "fill", "flaky", "unmount", "cut", "deaf", "half", "hesitate")
# An event and the one that undoes it are drawn together: that one alone says nothing, but for corrected settings, which also make a restart due.
_UNDONE_BY = {
    **dict.fromkeys(("cut", "deaf", "mute", "half"), "heal"),
    "down": "boot",
    "snapshot": "restore",
    "unmount": "mount",
    "fill": "free",
    "slow": "fast",
    "trail": "keep_up",
    "flaky": "steady",
    "unreachable": "reachable",
    "wrong_address": "right_address",
    "backup_record": "restore_record",
    "hold": "release",
    "hold_one": "release",
    "hesitate": "decide",
    "bad_settings": "good_settings",
    "useless_settings": "good_settings",
}
_UNDOING = frozenset(_UNDONE_BY.values()) - {"good_settings"}
# A run reads the inventory once, when it starts.
_NOT_INSIDE = frozenset({"wrong_address", "right_address", "scale", "shrink", "replace_hosts"})
# What no explorer draws, and why.
NOT_DRAWN = {"containers": "how a start begins", "confirm": "each run that is drawn has options of its own"}
# What a run may be given.
OPTIONS = (
    *("no_restart", "no_bootstrap", "unsearched", "expected", "allow_outage"),
    *("accept_lost_disk", "accept_rollback", "new_cluster", "unwitnessed"),
)
WEIGHTS: dict[str, int] = {**_OF_HOSTS, **_OF_PAIRS, **_OF_ALL, **_OF_STARTS}


@dataclasses.dataclass(frozen=True)
class Start:
    """Where a story begins: the arguments of `World`, and the events that lead to the first state."""

    name: str
    size: int = 3
    databases: tuple[str, ...] = (NORTHBOUND,)
    spare: int = 0
    pods: bool = False
    events: tuple[Event, ...] = ()

    def world(self) -> World:
        world = World(self.size, self.databases, spare=self.spare, pods=self.pods)
        for event in self.events:
            play(world, event)
        return world


STARTS: dict[str, Start] = {
    start.name: start
    for start in (
        Start("new machines"),
        Start("five new machines", size=5),
        Start("three machines", events=(RUN, ("write",))),
        Start("two databases", databases=(NORTHBOUND, SOUTHBOUND), events=(RUN, ("write",))),
        Start("three containers", events=(RUN, ("write",), ("containers",))),
        Start("five machines", size=5, events=(RUN, ("write",))),
        Start("shrunk machines", size=5, events=(RUN, ("write",), ("down", "m5"), ("shrink", "m4", "m5"), ("write",))),
        Start("growing machines", size=5, events=(("scale", 1), RUN, ("write",))),
        Start("other hosts", size=3, spare=3, events=(RUN, ("write",))),
        Start("new pods", pods=True),
        Start("three pods", pods=True, events=(RUN, ("write",))),
        Start("five pods", size=5, pods=True, events=(RUN, ("write",))),
        Start("growing pods", size=5, pods=True, events=(("scale", 1), RUN, ("write",))),
    )
}


@dataclasses.dataclass
class Story:
    """A sequence of events and what it leads to."""

    start: str
    events: tuple[Event, ...]
    violation: str
    shortest: bool = True  # False: the time was over before every event had been left out once

    def sentences(self) -> list[str]:
        lines = [f"Start: {self.start}."]
        for event in self.events:
            lines += describe(event)
        numbered = [f"{number}. {line}" for number, line in enumerate([*lines, f"Seen: {self.violation}."], 0)]
        return (
            numbered if self.shortest else [*numbered, "The budget ended before this story was as short as it can be."]
        )


def describe(event: Event) -> list[str]:
    """One sentence an event; what happens during a run follows it."""
    if event[0] == "kill":
        return ["The run is killed."]
    if event[0] == "vanish":
        return ["The control node of the run is gone."]
    if event[0] == "pause":
        return ["The run sleeps longer than its lock lasts."]
    if event[0] != "run":
        return [events.sentence(event)]
    left = f" without {', '.join(event[1])}" if event[1] else ""
    options = f" with {', '.join(event[3])}" if event[3:] else ""
    lines = [f"A run{left}{options}."]
    for point, inner in event[2]:
        lines += [f"During that run, at point {point}: {line}" for line in describe(inner)]
    return lines


@dataclasses.dataclass
class Report:
    """What an exploration has done. `reached` counts what runs said and did."""

    stories: int = 0
    states: int = 0
    runs: int = 0
    rounds: int = 0
    depth: int = 0
    closed: bool = False  # nothing leads out of the states: deeper stories only come back to them
    seconds: float = 0.0
    processor: float = 0.0  # seconds of it
    reached: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    found: list[Story] = dataclasses.field(default_factory=list)

    def note(self, outcome: t.Any) -> None:
        if outcome is None or outcome.remembered:
            return
        self.runs += 1
        self.rounds += outcome.rounds
        self.reached.update(outcome.decisions)
        if outcome.message:
            self.reached[outcome.message] += 1

    def add(self, other: Report) -> None:
        self.stories += other.stories
        self.states += other.states
        self.runs += other.runs
        self.rounds += other.rounds
        self.depth = max(self.depth, other.depth)
        self.seconds += other.seconds
        self.processor += other.processor
        self.reached += other.reached
        self.found += other.found


def kind_of(violation: str) -> str:
    """Violations of one kind differ only in names and numbers."""
    return " ".join(word for word in violation.split() if not any(c.isdigit() for c in word))[:240]


def open_kinds() -> set[str]:
    """The kinds of violation that are known and not corrected yet."""
    return {kind_of(replay(story.start, story.events)) for story in OPEN}


def replay(
    start: str,
    story: t.Sequence[Event],
    *,
    live: bool = True,
    said: set[str] | None = None,
    known: liveness.Known | None = None,
) -> str:
    """The violation that the story leads to, empty if none; what runs said and did goes to `said`."""
    said = set() if said is None else said
    try:
        world = STARTS[start].world()
        for event in story:
            said.update(_kinds_of(play(world, event)))
            canonical(world)
        if live:
            said.update(_kinds_of(liveness.check(world, {} if known is None else known)))
    except Violation as e:
        return str(e)
    return ""


# --- random ----------------------------------------------------------------------------------------------------------------


class Palette(t.NamedTuple):
    """What a random story is made of: few kinds of events meet more often than all do. `names` are the hosts that they happen to."""

    weights: t.Mapping[str, int]
    names: tuple[str, ...]
    runs: float  # the part of them that are runs


def draw_palette(world: World, random_: random.Random) -> Palette:
    """Every other story has few kinds of events on few hosts, each kind as often as the others, with the event that undoes it; what starts and ends servers
    is always there. Of the rest, every other one draws all kinds equally often.
    """
    names, roll = tuple(world.hosts), random_.random()
    if roll < 0.5:
        return Palette(WEIGHTS if roll < 0.25 else dict.fromkeys(WEIGHTS, 1), names, 0.35)
    kinds = [kind for kind in WEIGHTS if kind not in _UNDOING and _is_possible(world, kind)]
    some = random_.sample(kinds, random_.randint(1, 4))
    undone = [_UNDONE_BY[kind] for kind in some if kind in _UNDONE_BY]
    weights = dict.fromkeys((*some, *undone, "write", "crash", "container" if world.adopts else "start"), 1)
    return Palette(weights, tuple(random_.sample(names, random_.choice((1, 1, 2, 3)))), random_.choice((0.2, 0.4)))


def _begin(world: World, random_: random.Random, palette: Palette) -> list[Event | None]:
    """The first events of every other story: up to three of those that make something due, and up to two that last; often on one host."""
    if random_.random() < 0.5:
        return []
    kinds = [
        *random_.choices(_DUE, k=random_.choice((1, 1, 2, 3))),
        *random_.choices(_LASTING, k=random_.choice((0, 1, 2))),
    ]
    random_.shuffle(kinds)
    if random_.random() < 0.5:
        palette = palette._replace(names=(random_.choice(palette.names),))
    return [_event(kind, world, random_, palette) for kind in kinds if _is_possible(world, kind)]


def _is_possible(world: World, kind: str) -> bool:
    size = len(world.hosts)
    only = {
        "scale": size == 5 and not world.former,
        "shrink": bool(world.former) and len(world.declared) > 1,
        "replace_hosts": size == 6,
        "recreate": world.pods,
        "container": world.adopts,
        "hold_one": not world.pods,
    }
    return only.get(kind, True)


def random_event(
    world: World, random_: random.Random, palette: Palette | None = None, *, inside: bool = False
) -> Event:
    palette = palette or Palette(WEIGHTS, tuple(world.hosts), 0.35)
    if not inside and random_.random() < palette.runs:
        return _random_run(world, random_, palette)
    kinds = [k for k in palette.weights if _is_possible(world, k) and not (inside and k in _NOT_INSIDE)]
    return _event(random_.choices(kinds, [palette.weights[k] for k in kinds])[0], world, random_, palette)


def _event(kind: str, world: World, random_: random.Random, palette: Palette) -> Event:
    if kind == "run":
        points = _points(world, RUN)
        return _interrupted(RUN, random_.randint(1, points), ("kill",)) if points else RUN
    if kind in _OF_ALL:
        return ("clock", 400) if kind == "clock" else (kind,)
    if kind == "scale":
        return ("scale", random_.choice((1, 3, 5)))
    if kind == "shrink":
        return ("shrink", *random_.sample(world.declared, 2))
    if kind == "replace_hosts":
        return ("replace_hosts", *list(world.hosts)[3:])
    if kind == "recreate":
        return ("recreate",)
    names = [n for n in palette.names if n in world.declared or random_.random() < 0.2] or list(palette.names)
    name = random_.choice(names)
    other = random_.choice([other for other in world.hosts if other != name] or [name])
    return (kind, name, other) if kind in _OF_PAIRS else (kind, name)


def _points(world: World, run: Event) -> int:
    """How often something more can happen during this run; never if it breaks a rule as it is, which its story then shows."""
    try:
        outcome = play(world.copy(), run)
    except Violation:
        return 0
    return outcome.points if outcome else 0


def _interrupted(run: Event, point: int, inner: Event) -> Event:
    """The same run, and something more that happens at this point."""
    return ("run", run[1], tuple(sorted((*run[2], (point, inner)), key=lambda pair: pair[0])), *run[3:])


def _random_run(world: World, random_: random.Random, palette: Palette) -> Event:
    left_out = (random_.choice(world.declared),) if random_.random() < 0.1 and not world.pods else ()
    options = (tuple(random_.sample(OPTIONS, random_.choice((1, 2, 3)))),) if random_.random() < 0.2 else ()
    run: Event = ("run", left_out, (), *options)
    last: tuple[int, Event] | None = None
    while random_.random() < 0.4 and len(run[2]) < 3:
        points = _points(world, run)
        if not points:
            break
        point = random_.randint(1, points)
        roll = random_.random()
        if last and last[1] == ("pause",) and random_.random() < 0.5:
            point, roll = last[0], 0.5  # a run overtakes the one that sleeps
        if roll < 0.3:
            inner: Event = ("kill",)
        elif roll < 0.35:
            inner = ("vanish",)
        elif roll < 0.45:
            inner = ("pause",)
        elif roll < 0.6:
            deaths = ((random_.randint(1, 16), random_.choice((("kill",), ("vanish",)))),)
            inner = ("run", (), deaths if random_.random() < 0.3 else ())
        else:
            inner = random_event(world, random_, palette, inside=True)
        last = (point, inner)
        run = _interrupted(run, point, inner)
    return run


def _disturb(run: Event, world: World, random_: random.Random, palette: Palette) -> Event:
    """The same run, and something more that happens during it."""
    points = _points(world, run)
    if not points:
        return run
    return _interrupted(run, random_.randint(1, points), random_event(world, random_, palette, inside=True))


class Corpus:
    """Stories that led runs to say or do something new. What is found behind a rare state is found sooner from there."""

    def __init__(self) -> None:
        self.stories: list[tuple[str, tuple[Event, ...]]] = []
        self.known: set[str] = set()

    @property
    def part(self) -> float:
        """Return the share of stories that vary a known one."""
        return 0.5

    def note(self, start: str, story: t.Sequence[Event], said: set[str]) -> None:
        fresh = said - self.known
        if fresh:
            self.known |= fresh
            self.stories.append((start, tuple(story)))

    def draw(self, starts: t.Collection[str], random_: random.Random) -> tuple[str, list[Event | None]] | None:
        """Return a story to vary: its beginning, or all of it with one event left out or one more. None stands for an event that is not drawn yet."""
        stories = [story for story in self.stories if story[0] in starts]
        if not stories:
            return None
        start, story = random_.choice(stories)
        varied = list[Event | None](story)
        position, roll = random_.randrange(len(varied)), random_.random()
        if roll < 0.4:
            del varied[position + 1 :]
        elif roll < 0.7:
            varied.insert(position, None)
        elif roll < 0.85:
            varied[position] = None
        else:
            del varied[position]
        return start, [*varied, *[None] * random_.randint(0, 2)]


def _kinds_of(outcome: Outcome | None) -> t.Iterator[str]:
    """What a run has done, step after step, and how it ended."""
    kinds = ["", *map(kind_of, outcome.decisions), kind_of(outcome.message)] if outcome is not None else []
    for one, two in itertools.pairwise(kinds):
        yield f"{one} > {two}"


def randomly(
    starts: t.Sequence[str],
    depth: int,
    budget: float,
    seed: int,
    *,
    live: bool = True,
    most: int = 1,
    stories: int = sys.maxsize,
    corpus: Corpus | None = None,
    is_known: t.Callable[[Story], bool] = lambda _story: False,
    shorten: bool = True,
) -> Report:
    """`stories` of up to `depth` events, less if the budget (processor time) ends before or `most` violations are found that are not known."""
    report, began, random_ = Report(depth=depth), time.monotonic(), random.Random(seed)
    processor = time.process_time()
    firsts = {start: STARTS[start].world() for start in starts}
    for first in firsts.values():
        canonical(first)
    kinds, corpus = open_kinds(), corpus or Corpus()
    known: liveness.Known = {}
    while report.stories < stories and time.process_time() - processor < budget and len(report.found) < most:
        varied = corpus.draw(starts, random_) if random_.random() < corpus.part else None
        start, plan = varied or (random_.choice(list(starts)), [])
        world, story = firsts[start].copy(), list[Event]()
        palette = draw_palette(world, random_)
        if varied is None:
            plan = _begin(world, random_, palette)
            plan += [None] * random_.randint(0 if plan else 2, random_.choice((2, depth)))
        said = set[str]()
        report.stories += 1
        try:
            for event in plan[:depth]:
                if event is None:
                    event = random_event(world, random_, palette)
                elif event[0] == "run" and random_.random() < 0.2:
                    event = _disturb(event, world, random_, palette)
                story.append(event)
                report.states += 1
                outcome = play(world, story[-1])
                report.note(outcome)
                said.update(_kinds_of(outcome))
                canonical(world)
            if live:
                outcome = liveness.check(world, known)
                report.note(outcome)
                said.update(_kinds_of(outcome))
        except Violation as e:
            found = Story(start, tuple(story), str(e))
            if kind_of(str(e)) not in kinds and not is_known(found):
                kinds.add(kind_of(str(e)))
                report.found.append(shrink(found, began + budget) if shorten else found)
        corpus.note(start, story, said)
    report.seconds, report.processor = time.monotonic() - began, time.process_time() - processor
    return report


def shrink(story: Story, until: float) -> Story:
    """Leave out whatever the violation does not need: events, then what happens during runs. `until`: when `time.monotonic()` ends the search."""
    kind = kind_of(story.violation)
    best = story

    def still(candidate: tuple[Event, ...]) -> bool:
        nonlocal best
        if time.monotonic() > until:
            best = dataclasses.replace(best, shortest=False)
            return False
        found = replay(story.start, candidate)
        if not found or kind_of(found) != kind:
            return False
        best = Story(story.start, candidate, found)
        return True

    smaller = True
    while smaller:
        smaller = False
        for position in range(len(best.events) - 1, -1, -1):
            candidate = (*best.events[:position], *best.events[position + 1 :])
            if still(candidate):
                smaller = True
        for position, event in enumerate(best.events):
            if event[0] != "run":
                continue
            for inner in range(len(event[2])):
                fewer = ("run", event[1], (*event[2][:inner], *event[2][inner + 1 :]), *event[3:])
                if still((*best.events[:position], fewer, *best.events[position + 1 :])):
                    smaller = True
                    break
            for simpler in (("run", (), *event[2:]), ("run", *event[1:3])):
                if simpler != event and still((*best.events[:position], simpler, *best.events[position + 1 :])):
                    smaller = True
                    break
    return best
