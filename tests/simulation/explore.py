"""Explorers: every sequence of events to a depth, and random ones beyond; both end in the shortest story of a violation."""

from __future__ import annotations

import collections
import dataclasses
import random
import sys
import time
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError

from . import events, liveness
from .canonical import canonical
from .events import Event
from .runs import SimulatedRun, play
from .state import key
from .world import NORTHBOUND, SOUTHBOUND, Violation, World

RUN: Event = ("run", (), ())

# Events with one host, those of the exhaustive search first.
_CORE = ("burst", "crash", "down", "lose", "snapshot", "restore", "cut", "lead", "damage")
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

    def sentences(self) -> list[str]:
        lines = [f"Start: {self.start}."]
        for event in self.events:
            lines += describe(event)
        return [f"{number}. {line}" for number, line in enumerate([*lines, f"Seen: {self.violation}."], 0)]


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
    return " ".join(word for word in violation.split() if not any(c.isdigit() for c in word))[:110]


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


# --- exhaustive ------------------------------------------------------------------------------------------------------------


def enabled(world: World, faults_left: int, *, points: int = 0) -> list[Event]:
    """What may happen next in the exhaustive search. `points` > 0: a run may die at each of them."""
    found: list[Event] = [RUN, ("write",)]
    found += [("run", (), ((point, ("kill",)),)) for point in range(1, points + 1)]
    if world.cut:
        found.append(("heal",))
    for name, host in world.hosts.items():
        if not host.on:
            found.append(("boot", name))
        elif any(slot.server is None and slot.settings is not None for slot in host.slots.values()):
            found.append(("start", name))
    if not world.settings.good:
        found.append(("good_settings",))
    if faults_left <= 0:
        return found
    for name, host in world.hosts.items():
        slots = host.slots.values()
        if any(slot.file is not None for slot in slots):
            found.append(("lose", name))
            if host.on:
                found.append(("snapshot", name))
        if any(slot.snapshot is not None for slot in slots):
            found.append(("restore", name))
        if any(slot.server is not None for slot in slots):
            found += [("down", name), ("lead", name), ("damage", name)]
            if not world.cut:
                found.append(("cut", name))
    if world.settings.good and world.settings.revision < 3:
        found.append(("bad_settings",))
    return found


def exhaustive(
    start: str, depth: int, budget: float, faults: int = 3, *, share: tuple[int, int] = (0, 1), live: bool = True
) -> Report:
    """Breadth first over states that differ. `share`: this process takes every n-th branch of the second level."""
    report, began, processor = Report(), time.monotonic(), time.process_time()
    first = STARTS[start].world()
    canonical(first)
    frontier: list[tuple[World, tuple[Event, ...], int]] = [(first, (), faults)]
    seen = {key(first): faults}
    for level in range(1, depth + 1):
        following: list[tuple[World, tuple[Event, ...], int]] = []
        for world, story, left in frontier:
            for event in _branches(world, left):
                if time.monotonic() - began > budget:
                    report.seconds, report.processor = time.monotonic() - began, time.process_time() - processor
                    return report
                after, path = world.copy(), (*story, event)
                try:
                    outcome = play(after, event)
                except Violation as e:
                    report.found.append(Story(start, path, str(e)))
                    continue
                report.note(outcome)
                canonical(after)
                now_left = left - (event[0] not in ("run", "write", "boot", "start", "heal", "good_settings"))
                mark = key(after)
                if seen.get(mark, -1) >= now_left:
                    continue
                fresh = mark not in seen
                seen[mark] = now_left
                report.states = len(seen)
                if fresh and live:
                    try:
                        report.note(liveness.check(after))
                    except Violation as e:
                        report.found.append(Story(start, path, str(e)))
                        continue
                following.append((after, path, now_left))
        report.depth = level
        if level == 1 and share[1] > 1:
            following = following[share[0] :: share[1]]
        frontier = following
        if not frontier:
            report.depth = depth  # no other state can be reached: deeper stories only come back to these
        if report.found or not frontier:
            break
    report.seconds, report.processor = time.monotonic() - began, time.process_time() - processor
    return report


def _branches(world: World, left: int) -> list[Event]:
    """A run is also killed at each of its points: it is carried out once to count them."""
    trial = world.copy()
    try:
        points = SimulatedRun(trial).run().points
    except (Violation, OvnError):
        points = 0
    return enabled(world, left, points=points if points > 5 else 0)


# --- random ----------------------------------------------------------------------------------------------------------------


def random_event(world: World, random_: random.Random, *, inside: bool = False) -> Event:
    hosts = [name for name in world.hosts if name in world.declared or random_.random() < 0.2]
    name = random_.choice(hosts or list(world.hosts))
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
    kinds: set[str] = set()
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
                report.found.append(shrink(Story(start, tuple(story), str(e))))
    report.seconds, report.processor = time.monotonic() - began, time.process_time() - processor
    return report


def shrink(story: Story) -> Story:
    """Leave out whatever the violation does not need: events, then what happens during runs."""
    kind = kind_of(story.violation)
    best = story

    def still(candidate: tuple[Event, ...]) -> bool:
        nonlocal best
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
