"""Runs: what a playbook or the operator does from its start to its end, around the product's loop, with whatever happens meanwhile."""

from __future__ import annotations

import types
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.members import first_replicas
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict, OvnError, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import check_before_changes
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_checks import refuse_by_record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import (
    RoundProgress,
    converge,
    incomplete,
    next_round,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import PODS, MessageTexts, Run

from . import events
from .backend import SimulatedBackend
from .events import Event
from .world import PAUSE_SECONDS, Raft, Violation, World

_MOST_POINTS = 400


class Killed(Exception):
    """The run died."""


class Outcome(t.NamedTuple):
    """`word` is done, refused, failed or killed; `points` is how often something else could have happened."""

    word: str
    message: str = ""
    acted: bool = False
    points: int = 0
    decisions: tuple[str, ...] = ()
    rounds: int = 0


class SimulatedRun:
    """`interruptions`: number of a point and what happens there, in this order; `left_out`: hosts that `--limit` leaves out."""

    def __init__(
        self, world: World, left_out: t.Sequence[str] = (), interruptions: t.Sequence[tuple[int, Event]] = ()
    ) -> None:
        self.world, self.interruptions = world, interruptions
        self.hosts = [name for name in world.declared if name not in left_out]
        world.counter += 1
        self.name = f"run {world.counter}"
        self.points = 0
        self.changed = False  # before the first step: settings, units, objects
        self.disturbed = False
        self.deaths: list[World] | None = None  # if wanted: the world as it is when the run dies, point by point
        self.backends = {
            database: SimulatedBackend(world, database, self.name, self.hosts, self.point)
            for database in world.databases
        }

    def point(self, where: str) -> None:
        self.points += 1
        if self.points > _MOST_POINTS:
            raise Violation(f"a run does not end: it is {where} for the {self.points}th time")
        if self.deaths is not None:
            self.deaths.append(self._dead())
        for number, event in self.interruptions:
            if number != self.points:
                continue
            self.disturbed = True
            if event[0] == "kill":
                raise Killed(where)
            if event[0] == "pause":
                self.world.now += PAUSE_SECONDS
            play(self.world, event)

    def _dead(self) -> World:
        """The world as it is when the run dies now. A dead holder on the same control node is found out at once (R31)."""
        after = self.world.copy()
        for database in after.databases:
            SimulatedBackend(after, database, self.name, self.hosts, self.point).release()
        return after

    def run(self) -> Outcome:
        word, message = "done", ""
        missing = self._missing_disks()
        try:
            self._run()
        except (Refused, Conflict) as e:
            word, message = "refused", str(e)
        except OvnError as e:
            word, message = "failed", str(e)
        except Killed as e:
            word, message = "killed", str(e)
        # A dead holder on the same control node is found out at once (R31); one that sleeps keeps its lock until it expires.
        for backend in self.backends.values():
            backend.release()
        acted = any(backend.acted for backend in self.backends.values())
        # Whether settings are good shows only where they are.
        if word == "refused" and not acted and not self.disturbed and self.changed and self.world.settings.loads:
            raise Violation(f"a refused run has changed something: {message}")
        if missing - self._missing_disks() and not self.disturbed:
            raise Violation(f"a member was removed whose disk is not mounted: {min(missing - self._missing_disks())}")
        if word == "done" and not self.disturbed:
            for name in self.hosts:
                for database in self.world.databases:
                    server = self.world.hosts[name].slots[database].server
                    if server is None or not Raft(self.world, database).connected(self.world.hosts[name]):
                        raise Violation(f"a run says that all is done, but {database} on {name} takes no part")
                    if server.data.address != self.world.address_of(name):
                        raise Violation(f"a run says that all is done, but {name} has another address than declared")
        if word == "refused" and " has no quorum" in message and not self.disturbed:
            for database in self.world.databases:
                running = Raft(self.world, database).running()
                # Of members that are not declared a run knows nothing.
                if f"{database} has no quorum" in message and any(
                    Raft(self.world, database).could_lead(host)
                    for host, _slot in running
                    if {other.name for other, _slot in running} <= set(self.world.declared)
                ):
                    raise Violation(f"a run says that there is no quorum, but there is one: {message}")
        decisions = tuple(title for backend in self.backends.values() for title in backend.decisions)
        rounds = sum(backend.rounds for backend in self.backends.values())
        return Outcome(word, message, acted, self.points, decisions, rounds)

    def _missing_disks(self) -> set[tuple[str, str, str]]:
        """Listed members whose file lay on another disk than the one that is there now. Nobody but the operator may count them as lost (R32)."""
        found: set[tuple[str, str, str]] = set()
        for database in self.world.databases:
            leaders = Raft(self.world, database).leaders()
            listed = leaders[0][1].server.data.servers if leaders and leaders[0][1].server else {}
            for host, slot in self.world.slots(database):
                known = slot.witness
                if slot.file is None and known is not None and known.disk != slot.disk and known.sid in listed:
                    found.add((database, host.name, known.sid))
        return found if "accept_lost_disk" not in self.world.confirmed else set()

    def _refuse_containers(self) -> None:
        """The check of the hosts before an adoption: of two servers that would be started only one may be there."""
        for database in self.world.databases:
            for host, slot in self.world.slots(database):
                if slot.contained and slot.ours is not None and host.name in self.hosts:
                    raise Refused(
                        f"{database} runs in a container of {host.name}, and a file lies in our place there. Nothing was changed. Stop the container."
                    )

    def _run(self) -> None:
        self._refuse_containers()
        plans = {database: self.plan_of(database) for database in self.world.databases}
        if not self.world.pods:
            for database, backend in self.backends.items():  # R27: refuse before anything is written
                observed = backend.observe()
                next_round(plans[database], observed, RoundProgress(), self.world.now)
                if self.world.adopts:  # the rounds wait for a member that is down for a moment
                    check_before_changes(plans[database], observed)
            for backend in self.backends.values():
                backend.acquire()
            for name in self.hosts:
                for slot in self.world.hosts[name].slots.values():
                    self.changed = self.changed or slot.settings != self.world.settings
                    slot.settings = self.world.settings
            self.point("after the settings were written")
        else:
            self._apply_objects(plans)
        for database, backend in self.backends.items():
            converge(backend, plans[database], clock=lambda: self.world.now)
            missing = incomplete(plans[database], backend.observe_members())
            if missing:
                raise TimedOut(" ".join(missing))  # R34
            self.point("after one database")
        self._hand_out()

    def plan_of(self, database: str) -> Run:
        world = self.world
        known = sorted(world.clients[database])
        return Run(
            database,
            {name: world.address_of(name) for name in world.declared},
            name=self.name,
            time="2026-01-01T00:00:00Z",
            allow_outage="allow_outage" in world.confirmed,
            allow_names=world.pods,
            texts=PODS if world.pods else MessageTexts(),
            witnesses=tuple(f"clients know cluster {cid}" for cid in known),
            new_cluster="new_cluster" in world.confirmed,
            accept_rollback="accept_rollback" in world.confirmed,
            accept_lost_disk="accept_lost_disk" in world.confirmed,
            adopt=world.adopts,
        )

    def _apply_objects(self, plans: t.Mapping[str, Run]) -> None:
        world = self.world
        for database, plan in plans.items():  # R27: refuse before anything is written
            refuse_by_record(plan, world.config_map[database])
        replicas = {database: self._first_replicas(database) for database in world.databases}
        versions = dict(world.replicas)
        self.point("after the objects were read")
        for database, backend in self.backends.items():
            backend.acquire()
            if world.replicas[database] != versions[database]:
                raise Conflict("The StatefulSet was changed meanwhile. Run again.")  # R31: resourceVersion
            if (world.replicas[database] or 0) < replicas[database] or world.replicas[database] is None:
                backend.scale(replicas[database])
        events.settle(world)
        events.check(world)
        self.point("after the objects were applied")

    def _first_replicas(self, database: str) -> int:
        world = self.world
        size = types.SimpleNamespace(replicas=len(world.declared))
        wanted = types.SimpleNamespace(name="ovn", spec=types.SimpleNamespace(database=lambda _database: size))
        claims = [index for index, (_host, slot) in enumerate(world.slots(database)) if slot.claim]
        live = types.SimpleNamespace(
            replicas=lambda _database: world.replicas[database] or 0, claims=lambda _database: claims
        )
        return first_replicas(
            t.cast(t.Any, wanted), t.cast(t.Any, live), t.cast(t.Any, database), world.config_map[database]
        )

    def _hand_out(self) -> None:
        """Clients get endpoints only when every database is there."""
        for database in self.world.databases:
            records = (
                [self.world.config_map[database]]
                if self.world.pods
                else [self.world.hosts[name].slots[database].record for name in self.hosts]
            )
            self.world.clients[database] |= {record.cid for record in records if record is not None and record.cid}


def guarded(run: SimulatedRun) -> Outcome:
    """Carry it out; an error that nobody handles is a violation as well."""
    try:
        outcome = run.run()
    except (
        AssertionError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        StopIteration,
    ) as e:
        raise Violation(f"a run breaks off with {e!r}") from e
    events.check(run.world)
    return outcome


def play(world: World, event: Event) -> Outcome | None:
    """An event of the vocabulary, or a run: ("run", hosts left out, interruptions)."""
    if event[0] == "run":
        return guarded(SimulatedRun(world, event[1], event[2]))
    if event[0] != "pause":
        events.apply(world, event)
        events.check(world)
    return None


def healthy(world: World) -> str:
    """Why the databases are not as declared; empty if they are."""
    for database in world.databases:
        raft = Raft(world, database)
        leaders = raft.leaders()
        if len(leaders) != 1:
            return f"{database} has {len(leaders)} leaders"
        host, slot = leaders[0]
        servers = slot.server.data.servers if slot.server else {}
        if len(servers) != len(world.declared):
            return f"{database} has {len(servers)} members of {len(world.declared)}"
        if len(raft.peers(host)) != len(world.declared):
            return f"{len(raft.peers(host))} of {len(world.declared)} members of {database} take part"
        for name in world.declared:
            its = world.hosts[name].slots[database]
            if its.server is None or not raft.connected(world.hosts[name]):
                return f"{database} on {name} does not take part"
            if its.contained:
                return f"{database} on {name} still runs in a container"
            if its.server.settings != world.settings:
                return f"{database} on {name} runs with old settings"
            if its.file is None or not its.server.linked:
                return f"{database} on {name} runs without its file"
            record = world.config_map[database] if world.pods else its.record
            member = record.members.get(name) if record else None
            if member is None or member.state != "confirmed" or member.sid != its.server.data.sid:
                return f"{database} on {name} is not confirmed in the record"
    return ""
