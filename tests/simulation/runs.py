"""Runs: what a playbook or the operator does from its start to its end, around the product's loop, with whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import types
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    Changed,
    Conflict,
    OvnError,
    Refused,
    TimedOut,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.checks import first_replicas
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.machine_plan import check_databases, next_turn
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_checks import refuse_by_record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import (
    RoundProgress,
    converge,
    incomplete,
    recorded_after,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import PODS, MessageTexts, Round, Run

from . import events
from .backend import SimulatedBackend
from .events import Event
from .locks import run_lock
from .world import PAUSE_SECONDS, Raft, Slot, Violation, World

_MOST_POINTS_OF_A_RUN = 400


class Killed(Exception):
    """The run died."""


class Outcome(t.NamedTuple):
    """`word` is done, refused, failed or killed; `points` is how often something else could have happened.

    `remembered`: of a run that led there from the same state before, and was not played again.
    """

    word: str
    message: str = ""
    acted: bool = False
    points: int = 0
    decisions: tuple[str, ...] = ()
    rounds: int = 0
    remembered: bool = False


class SimulatedRun:
    """`interruptions`: number of a point and what happens there, in this order; `left_out`: hosts that `--limit` leaves out.

    `options` count for this run, `World.confirmed` for all: no_restart, no_bootstrap, unsearched (nobody looked for an older control plane),
    expected (another cluster id than any), allow_outage, accept_lost_disk, accept_rollback, new_cluster, unwitnessed (nobody knows an older control plane).
    """

    def __init__(
        self,
        world: World,
        left_out: t.Sequence[str] = (),
        interruptions: t.Sequence[tuple[int, Event]] = (),
        options: t.Collection[str] = (),
    ) -> None:
        self.options = world.confirmed | set(options)
        self.world, self.interruptions = world, interruptions
        self.hosts = [name for name in world.declared if name not in left_out]
        there = [name for name in world.former if world.hosts[name].on and world.hosts[name].reachable]
        self.former = [name for name in there if name not in world.declared]
        world.counter += 1
        self.name = f"run {world.counter}"
        self.points = 0
        self.changed = False  # before the first step: settings, units, objects
        self.disturbed = False
        self.vanished = False  # with its control node
        self.deaths: list[World] | None = None  # if wanted: the world as it is when the run dies, point by point
        self.lock = run_lock(world, self.name, [*self.hosts, *self.former])
        self.backends = {
            database: SimulatedBackend(world, database, self.lock, self.hosts, self.point, self.options, self.former)
            for database in world.databases
        }

    def point(self, where: str) -> None:
        self.points += 1
        if self.points > _MOST_POINTS_OF_A_RUN:
            raise Violation(f"a run does not end: it is {where} for the {self.points}th time")
        if self.deaths is not None:
            self.deaths.append(self._dead())
        for number, event in self.interruptions:
            if number != self.points:
                continue
            self.disturbed = True
            self.vanished = event[0] == "vanish"
            if event[0] in ("kill", "vanish"):
                raise Killed(where)
            if event[0] == "pause":
                self.world.now += PAUSE_SECONDS
            play(self.world, event)

    def _dead(self) -> World:
        """The world as it is when the run dies now. A dead holder on the same control node is found out at once (R31)."""
        after = self.world.copy()
        run_lock(after, self.name, [*self.hosts, *self.former]).release()
        return after

    def run(self) -> Outcome:
        word, message = "done", ""
        missing, held, is_settled = self._missing_disks(), self._is_held(), self._is_settled()
        try:
            self._run()
        except (Refused, Conflict) as e:
            word, message = "refused", str(e)
        except OvnError as e:
            word, message = "failed", str(e)
        except Killed as e:
            word, message = "killed", str(e)
        # A dead holder on the same control node is found out at once (R31); one that sleeps, or whose control node is gone, keeps its lock until it expires.
        if not self.vanished:
            self.lock.release()
        acted = any(backend.acted for backend in self.backends.values())
        # Whether settings and tools are good shows only where they are.
        installed = self.world.settings.loads and not any(slot.tool_fails for slot in self._slots())
        installed = installed and "unsearched" not in self.options  # a file that only an installed launcher examines
        # How an election ends that is under way, the first observation does not show.
        was_foreseeable = is_settled or " has no quorum" not in message
        if word == "refused" and not acted and not self.disturbed and self.changed and installed and was_foreseeable:
            raise Violation(f"a refused run has changed something: {message}")
        if word == "refused" and not self.disturbed:
            for backend in self.backends.values():
                backend.check_foreseen(message)
        if missing - self._missing_disks() and not self.disturbed:
            raise Violation(f"a member was removed whose disk is not mounted: {min(missing - self._missing_disks())}")
        forbidden = "on hold" if held else "not the expected one" if "expected" in self.options else ""
        if forbidden and (acted or word == "done") and not self.disturbed:
            raise Violation(f"a run works on a cluster that is {forbidden}")
        if word == "done" and not self.disturbed:
            self._check_nothing_due()
            for database, backend in self.backends.items():
                if to_start := backend.former_to_start():
                    raise Violation(f"a run says that all is done, but {to_start[0]}, which left, would start again")
                if retired := backend.retired_servers():
                    raise Violation(
                        f"a run says that all is done, but {database} runs on {retired[0]}, which left for good"
                    )
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

    def _is_settled(self) -> bool:
        """Whether no election or join is under way."""
        return all(slot.server is None or slot.server.phase in ("", "led") for slot in self._slots())

    def _is_held(self) -> bool:
        """Whether a copy of a record that this run can read is on hold."""
        for database in self.world.databases:
            copies = [self.world.config_map[database]] if self.world.pods else []
            copies += [self.world.hosts[name].slots[database].record for name in self.hosts]
            if any(copy is not None and copy.hold for copy in copies):
                return True
        return False

    def _check_nothing_due(self) -> None:
        """Done means that no step is due, whatever the plan says."""
        for database in self.world.databases:
            leaders = Raft(self.world, database).leaders()
            listed = len(leaders[0][1].server.data.servers) if leaders and leaders[0][1].server else 0
            if listed > len(self.world.declared):
                raise Violation(
                    f"a run says that all is done, but {listed} members of {len(self.world.declared)} are listed"
                )
            restarts = "no_restart" not in self.options and (listed > 1 or "allow_outage" in self.options)
            for name in self.hosts:
                server = self.world.hosts[name].slots[database].server
                why = unfinished(self.world, database, name, restarts=restarts)
                if why and not (server is not None and server.ahead):  # its launcher writes it again when there is room
                    raise Violation(f"a run says that all is done, but {why}")

    def _missing_disks(self) -> set[tuple[str, str, str]]:
        """Listed members whose file lay on another disk than the one that is there now. Nobody but the operator may count them as lost (R32)."""
        found: set[tuple[str, str, str]] = set()
        for database in self.world.databases:
            leaders = Raft(self.world, database).leaders()
            listed = leaders[0][1].server.data.servers if leaders and leaders[0][1].server else {}
            # Others may belong to a control plane that is given up.
            for host, slot in self.world.slots(database):
                known = slot.witness if host.name in self.world.declared else None
                if slot.file is None and known is not None and known.disk != slot.disk and known.sid in listed:
                    found.add((database, host.name, known.sid))
        return found if "accept_lost_disk" not in self.options else set()

    def _slots(self) -> list[Slot]:
        return [slot for name in self.hosts for slot in self.world.hosts[name].slots.values()]

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
        if self.world.pods:
            self._apply_objects(plans)
            for database, backend in self.backends.items():
                converge(backend, plans[database], clock=lambda: self.world.now)
                if backend.accept_rollback():
                    converge(backend, plans[database], clock=lambda: self.world.now)
                self._check_joined(incomplete(plans[database], backend.observe_members()))
                self.point("after one database")
        else:
            self._roll_out(plans)
        self._hand_out()

    def _roll_out(self, plans: t.Mapping[str, Run]) -> None:
        """What the role `ovn_central` does on machines: check, and under the lock write the settings, then run the rounds."""
        check = check_databases(plans, {database: backend.observe() for database, backend in self.backends.items()})
        _raise_all(check.refusals)
        changes = any(slot.settings != self.world.settings for slot in self._slots())
        if not (check.due or changes or self.world.adopts or "accept_rollback" in self.options):
            self._check_joined(*check.incomplete.values())
            return
        self.point("before the lock is acquired")
        self.lock.acquire_or_renew("")
        self.changed = self.changed or changes
        for slot in self._slots():
            slot.settings = self.world.settings
        self.point("after the settings were written")
        if "accept_rollback" in self.options:
            self._accept_rollback(plans)
        self._run_rounds(plans)

    def _accept_rollback(self, plans: t.Mapping[str, Run]) -> None:
        """Of a database that is refused all the same nothing is forgotten."""
        observed = {database: backend.observe() for database, backend in self.backends.items()}
        turn = next_turn(plans, observed, tuple(plans), {}, self.world.now)
        for database, backend in self.backends.items():
            if database in (*turn.left, *turn.incomplete) and database not in turn.refusals:
                backend.accept_rollback()

    def _run_rounds(self, plans: t.Mapping[str, Run]) -> None:
        left, observe = tuple(plans), tuple(plans)
        progress: dict[str, RoundProgress] = {}
        missing: dict[str, list[str]] = {}
        refusals: dict[str, OvnError] = {}
        while left:
            observed = {database: self.backends[database].observe() for database in observe}
            turn = next_turn(plans, observed, left, progress, self.world.now)
            left, observe, progress = turn.left, turn.observe, turn.progress
            missing.update(turn.incomplete)
            refusals.update(turn.refusals)
            if turn.database:
                self._execute(self.backends[turn.database], turn.decided)
        _raise_all(refusals)
        self._check_joined(*missing.values())

    def _execute(self, backend: SimulatedBackend, decided: Round) -> None:
        backend.report(decided)
        backend.acquire(decided)
        record = recorded_after(decided)
        if decided.record is not None:
            backend.write_record(decided.record, decided.step)
        if decided.step is not None:
            with contextlib.suppress(Changed):
                backend.execute(decided.step, record)

    def _check_joined(self, *missing: list[str]) -> None:
        sentences = [sentence for of_one in missing for sentence in of_one]
        if sentences:
            raise TimedOut(" ".join(sentences))  # R34

    def plan_of(self, database: str) -> Run:
        world = self.world
        return Run(
            database,
            {name: world.address_of(name) for name in world.declared},
            name=self.name,
            time="2026-01-01T00:00:00Z",
            bootstrap="no_bootstrap" not in self.options,
            restart="no_restart" not in self.options,
            expected_cid="ffff0000-0000-4000-8000-000000000000" if "expected" in self.options else None,
            allow_outage="allow_outage" in self.options,
            allow_names=world.pods,
            texts=PODS if world.pods else MessageTexts(),
            witnesses=self._witnesses(database),
            new_cluster="new_cluster" in self.options,
            accept_rollback="accept_rollback" in self.options,
            accept_lost_disk="accept_lost_disk" in self.options,
            adopt=world.adopts,
        )

    def _witnesses(self, database: str) -> tuple[str, ...] | None:
        """What the search for an older control plane found; None if nobody searched."""
        if "unsearched" in self.options:
            return None
        known = () if "unwitnessed" in self.options else sorted(self.world.clients[database])
        return tuple(f"clients know cluster {cid}" for cid in known)

    def _apply_objects(self, plans: t.Mapping[str, Run]) -> None:
        world = self.world
        for database, plan in plans.items():  # R27: refuse before anything is written
            refuse_by_record(plan, world.config_map[database])
        replicas = {database: self._first_replicas(database) for database in world.databases}
        versions = dict(world.replicas)
        self.point("after the objects were read")
        due = [d for d, before in versions.items() if before is None or before < replicas[d]]
        if due:
            self.point("before the lock is acquired")
            self.lock.acquire_or_renew("")
        for database in due:
            if world.replicas[database] != versions[database]:
                raise Conflict("The StatefulSet was changed meanwhile. Run again.")  # R31: resourceVersion
            self.backends[database].scale(replicas[database])
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
            addresses = frozenset(self.world.address_of(name) for name in self.world.declared)
            self.world.client[database] = self.world.client[database]._replace(addresses=addresses)
            self.world.clients[database] |= {record.cid for record in records if record is not None and record.cid}


def _raise_all(refusals: t.Mapping[str, OvnError]) -> None:
    if refusals:
        raise type(next(iter(refusals.values())))(" ".join(str(refusal) for refusal in refusals.values()))


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
    """An event of the vocabulary, or a run: ("run", hosts left out, interruptions), and its options, if it has some."""
    if event[0] == "run":
        return guarded(SimulatedRun(world, *event[1:]))
    if event[0] != "pause":
        events.apply(world, event)
        events.check(world)
    return None


def unfinished(world: World, database: str, name: str, *, restarts: bool = True) -> str:
    """What is still due on a member that takes part; empty if nothing is."""
    slot = world.hosts[name].slots[database]
    if slot.server is None:
        return f"{database} on {name} does not run"
    if slot.contained:
        return f"{database} on {name} still runs in a container"
    if restarts and slot.server.settings != world.settings:
        return f"{database} on {name} runs with old settings"
    if slot.file is None or not slot.server.linked:
        return f"{database} on {name} runs without its file"
    record = world.config_map[database] if world.pods else slot.record
    member = record.members.get(name) if record else None
    if member is None or member.state != "confirmed" or member.sid != slot.server.data.sid:
        return f"{database} on {name} is not confirmed in the record"
    return ""


def healthy(world: World) -> str:
    """Why the databases are not as declared; empty if they are."""
    for database in world.databases:
        raft = Raft(world, database)
        leaders = raft.leaders()
        if len(leaders) != 1:
            return f"{database} has {len(leaders)} leaders"
        host, slot = leaders[0]
        servers = slot.server.data.servers if slot.server else {}
        if not raft.serves(slot) and database not in world.rolled_back:
            return f"{database} is led by {host.name}, which its clients do not take for theirs"
        if len(servers) != len(world.declared):
            return f"{database} has {len(servers)} members of {len(world.declared)}"
        if len(raft.peers(host)) != len(world.declared):
            return f"{len(raft.peers(host))} of {len(world.declared)} members of {database} take part"
        for name in world.declared:
            its = world.hosts[name].slots[database]
            if its.server is None or not raft.connected(world.hosts[name]):
                return f"{database} on {name} does not take part"
            why = unfinished(world, database, name)
            if why:
                return why
    return ""
