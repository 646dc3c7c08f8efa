"""Every sequence of events to a depth: breadth first over states that differ, with at most so many faults in a story."""

from __future__ import annotations

import time
import typing as t

from . import events, liveness
from .canonical import canonical
from .events import Event
from .explore import STARTS, Report, Story, kind_of, open_kinds
from .runs import SimulatedRun, guarded, play
from .state import fingerprint, key
from .stories import RUN
from .world import Slot, Violation, World

# What is no fault: it may happen in a story as often as its depth allows. Neither is the death of a run.
_FREE = frozenset({"run", "write", "boot", "start", "heal", "good_settings", "container"})
_FREE_IN_WIDE = _FREE | {"mount", "hesitate", "decide"}
# The events that `enabled` can return, and those that a wide search has besides.
DRAWN = (
    *("write", "heal", "boot", "start", "container", "good_settings", "bad_settings", "lose", "snapshot", "restore"),
    *("down", "lead", "damage", "rot", "cut", "deaf", "mute", "hesitate"),
)
DRAWN_IN_WIDE = ("decide", "unmount", "mount", "unlink", "kick")
# What an operator does about a disk that is away.
_ACCEPTING: Event = ("run", (), (), ("accept_lost_disk",))


class _State(t.NamedTuple):
    """A world, the story that led to it first, and how many faults are left for what follows."""

    world: World
    story: tuple[Event, ...]
    left: int


def enabled(world: World, faults_left: int, *, wide: bool = False) -> list[Event]:
    """What may happen next besides runs."""
    found: list[Event] = [("write",), *(_wide(world, faults_left) if wide else ())]
    if world.cut:
        found.append(("heal",))
    for name, host in world.hosts.items():
        if not host.on:
            found.append(("boot", name))
        elif any(slot.server is None and slot.settings is not None for slot in host.slots.values()):
            found.append(("start", name))
        if host.on and any(slot.server is None and slot.container for slot in host.slots.values()):
            found.append(("container", name))
    if not world.settings.good:
        found.append(("good_settings",))
    if faults_left <= 0:
        return found
    for name, host in world.hosts.items():
        slots = host.slots.values()
        if any(slot.file is not None for slot in slots):
            found.append(("lose", name))
            if host.on and faults_left > 1:
                found.append(("snapshot", name))
        if any(slot.snapshot is not None for slot in slots):
            found.append(("restore", name))
        if any(slot.server is not None for slot in slots):
            found += [("down", name), ("lead", name), ("damage", name), ("rot", name)]
            if not world.cut:
                found += [("cut", name), ("deaf", name), ("mute", name)]
    if world.settings.good:
        found.append(("bad_settings",))
    if not (world.hesitant or wide):
        found.append(("hesitate",))
    return found


def _wide(world: World, faults_left: int) -> t.Iterator[Event]:
    """Disks that go and come, files and members that others remove, other settings, the time that elections take."""
    yield ("decide",) if world.hesitant else ("hesitate",)
    slots = [slot for host in world.hosts.values() for slot in host.slots.values()]
    if world.settings.good and not any(slot.server and slot.server.settings != world.settings for slot in slots):
        yield ("good_settings",)  # others than before: members have to be restarted
    for name, host in world.hosts.items():
        if any(_is_away(slot) for slot in host.slots.values()):
            yield ("mount", name)
        if faults_left > 0 and any(slot.file is not None for slot in host.slots.values()):
            yield from (("unmount", name), ("unlink", name), ("kick", name))


def _is_away(slot: Slot) -> bool:
    """Whether its disk is not mounted, and may come back."""
    return slot.file is None and slot.snapshot is not None and slot.snapshot[1] != slot.disk


def exhaustive(start: str, depth: int, budget: float, faults: int, *, wide: bool = False) -> Report:
    """Explore until no state is new, `depth` events are played, `budget` seconds are over, or a level has shown a violation."""
    report, began, processor = Report(), time.monotonic(), time.process_time()
    first = STARTS[start].world()
    canonical(first)
    frontier = [_State(first, (), faults)]
    seen = {key(first): faults}
    alike: dict[t.Hashable, int] = {fingerprint(first): faults}
    known: liveness.Known = {}
    kinds = open_kinds()
    for level in range(1, depth + 1):
        following: list[_State] = []
        for state in frontier:
            if time.monotonic() - began > budget:
                report.seconds, report.processor = time.monotonic() - began, time.process_time() - processor
                return report
            for after in _successors(start, state, report, wide=wide):
                if after.left == 0:
                    _forget_snapshots(after.world, wide=wide)
                canonical(after.world)
                same = fingerprint(after.world)
                if alike.get(same, -1) >= after.left:
                    continue
                alike[same] = after.left
                mark = key(after.world)
                if seen.get(mark, -1) >= after.left:
                    continue
                fresh = mark not in seen
                seen[mark] = after.left
                report.states = len(seen)
                if fresh:
                    try:
                        report.note(liveness.check(after.world, known, key))
                    except Violation as e:
                        if kind_of(str(e)) not in kinds:
                            report.found.append(Story(start, after.story, str(e)))
                        continue
                following.append(after)
        report.depth = level
        frontier = following
        report.closed = not frontier and not report.found
        if report.found or not frontier:
            break
    report.seconds, report.processor = time.monotonic() - began, time.process_time() - processor
    return report


def _successors(start: str, state: _State, report: Report, *, wide: bool) -> t.Iterator[_State]:
    """The states after each event that may happen, after a run, and after the death of that run at each of its points."""
    free = _FREE_IN_WIDE if wide else _FREE
    drawn = enabled(state.world, state.left, wide=wide)
    for event in drawn:
        after = state.world.copy()
        try:
            play(after, event)
        except Violation as e:
            report.found.append(Story(start, (*state.story, event), str(e)))
            continue
        yield _State(after, (*state.story, event), state.left - (event[0] not in free))
    yield from _runs(start, state, report, RUN)
    if any(event[0] == "mount" for event in drawn):
        yield from _runs(start, state, report, _ACCEPTING)


def _runs(start: str, state: _State, report: Report, event: Event) -> t.Iterator[_State]:
    after = state.world.copy()
    run = SimulatedRun(after, *event[1:])
    run.deaths = []
    try:
        report.note(guarded(run))
    except Violation as e:
        report.found.append(Story(start, (*state.story, event), str(e)))
    else:
        yield _State(after, (*state.story, event), state.left)
    before: t.Hashable = None
    for point, dead in enumerate(run.deaths, 1):
        same = fingerprint(dead)
        if same == before:
            continue  # nothing has happened since the point before
        before = same
        killed: Event = (*event[:2], ((point, ("kill",)),), *event[3:])
        try:
            events.check(dead)
        except Violation as e:
            report.found.append(Story(start, (*state.story, killed), str(e)))
            continue
        yield _State(dead, (*state.story, killed), state.left)


def _forget_snapshots(world: World, *, wide: bool) -> None:
    """Nobody will restore one: that is a fault, and none is left. A disk that is away may come back in a wide search."""
    for database in world.databases:
        for _host, slot in world.slots(database):
            slot.snapshot = slot.snapshot if wide and _is_away(slot) else None
