"""Random stories, shrunk to the shortest that shows the same violation; exhaustive.py explores every sequence of events."""

from __future__ import annotations

import collections
import dataclasses
import random
import sys
import time
import typing as t

from . import events, liveness
from .canonical import canonical
from .events import Event
from .runs import play
from .stories import OPEN, RUN
from .world import NORTHBOUND, SOUTHBOUND, Violation, World

# Events with one host, those of the exhaustive search first.
_CORE = ("burst", "crash", "down", "lose", "snapshot", "restore", "cut", "deaf", "mute", "lead", "damage")
_MORE = (
    *(
        "start",
        "boot",
        "unlink",
        "cut_off_join",
        "fill",
        "free",
        "slow",
        "fast",
        "flaky",
        "steady",
        "unreachable",
        "reachable",
    ),
    *("wrong_address", "right_address", "lose_record", "backup_record", "restore_record", "kick"),
)
_GLOBAL = ("write", "heal", "bad_settings", "useless_settings", "good_settings", "install", "lose_all_records", "time")


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
    if event[0] == "pause":
        return ["The run sleeps longer than its lock lasts."]
    if event[0] != "run":
        return [events.sentence(event)]
    left = f" without {', '.join(event[1])}" if event[1] else ""
    lines = [f"A run{left}."]
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
        if outcome is None:
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


def replay(start: str, story: t.Sequence[Event], *, live: bool = True) -> str:
    """The violation that the story leads to, empty if none."""
    try:
        world = STARTS[start].world()
        for event in story:
            play(world, event)
        if live:
            liveness.check(world)
    except Violation as e:
        return str(e)
    return ""


# --- random ----------------------------------------------------------------------------------------------------------------


def random_event(world: World, random_: random.Random, *, inside: bool = False) -> Event:
    hosts = [name for name in world.hosts if name in world.declared or random_.random() < 0.2]
    name = random_.choice(hosts or list(world.hosts))
    if world.adopts and random_.random() < (0.25 if inside else 0.12):
        return ("container", name)
    roll = random_.random()
    if roll < 0.35 and not inside:
        return _random_run(world, random_)
    if roll < 0.45:
        return ("write",)
    if roll < 0.75:
        return (random_.choice(_CORE), name)
    if roll < 0.90:
        event = random_.choice(_MORE)
        # A run reads the inventory once, when it starts.
        return ("write",) if inside and event in ("wrong_address", "right_address") else (event, name)
    if roll < 0.94:
        return (random_.choice(_GLOBAL),)
    other = random_.choice([other for other in world.hosts if other != name] or [name])
    choices: list[Event] = [("clone", name, other), ("move", name, other), ("clock", 400), ("boot", name)]
    if len(world.hosts) == 5:
        choices += [("scale", 1), ("scale", 3), ("scale", 5)]
    if len(world.hosts) == 6:
        choices += [("replace_hosts", *list(world.hosts)[3:])]
    if world.pods:
        choices += [("recreate",), ("recreate",)]
    return random_.choice(choices)


def _random_run(world: World, random_: random.Random) -> Event:
    left_out = (random_.choice(world.declared),) if random_.random() < 0.1 and not world.pods else ()
    interruptions: list[tuple[int, Event]] = []
    while random_.random() < 0.4 and len(interruptions) < 3:
        point = int(random_.random() ** 2 * 30) + 1
        roll = random_.random()
        if roll < 0.35:
            inner: Event = ("kill",)
        elif roll < 0.45:
            inner = ("pause",)
        elif roll < 0.6:
            inner = RUN
        else:
            inner = random_event(world, random_, inside=True)
        interruptions.append((point, inner))
    return ("run", left_out, tuple(sorted(interruptions, key=lambda pair: pair[0])))


def randomly(
    starts: t.Sequence[str],
    depth: int,
    budget: float,
    seed: int,
    *,
    live: bool = True,
    most: int = 1,
    stories: int = sys.maxsize,
) -> Report:
    """`stories` of up to `depth` events, less if the budget ends before or `most` violations are found."""
    report, began, random_ = Report(depth=depth), time.monotonic(), random.Random(seed)
    processor = time.process_time()
    firsts = {start: STARTS[start].world() for start in starts}
    for first in firsts.values():
        canonical(first)
    kinds = open_kinds()
    while report.stories < stories and time.monotonic() - began < budget and len(report.found) < most:
        start = random_.choice(list(starts))
        world, story = firsts[start].copy(), list[Event]()
        report.stories += 1
        try:
            for _event in range(random_.randint(2, depth)):
                story.append(random_event(world, random_))
                report.states += 1
                report.note(play(world, story[-1]))
                canonical(world)
            if live:
                report.note(liveness.check(world))
        except Violation as e:
            if kind_of(str(e)) not in kinds:
                kinds.add(kind_of(str(e)))
                report.found.append(shrink(Story(start, tuple(story), str(e)), began + budget))
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
                fewer = ("run", event[1], (*event[2][:inner], *event[2][inner + 1 :]))
                if still((*best.events[:position], fewer, *best.events[position + 1 :])):
                    smaller = True
                    break
            if event[1] and still((*best.events[:position], ("run", (), event[2]), *best.events[position + 1 :])):
                smaller = True
    return best
