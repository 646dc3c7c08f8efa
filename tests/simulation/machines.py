"""The loop on machines as it was before `_raft/rounds.py`: tasks host.yml, host_round.yml and the filter raft_plan."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.gates import gate_reason
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Run, Step

from . import events, launcher
from .events import Event
from .observe import observe_member
from .world import LOCK_SECONDS, Host, Raft, Violation, World

_WAITS = 3  # the model needs no time: what has not come after this many looks does not come by itself


class Killed(Exception):
    """The run died."""


class Outcome(t.NamedTuple):
    """`word` is done, refused, failed or killed; `acted` whether any step or record was carried out."""

    word: str
    message: str = ""
    acted: bool = False
    points: int = 0


class MachinesRun:
    """One execution of the playbook. `interruptions` maps the number of a point to what happens there."""

    def __init__(self, world: World, limit: t.Sequence[str] = (), interruptions: t.Sequence[tuple[int, Event]] = ()) -> None:
        self.world, self.interruptions = world, interruptions
        self.hosts = [name for name in world.declared if name not in limit]
        world.counter += 1
        self.name = f"run {world.counter}"
        self.points = 0
        self.acted = False
        self.trace: list[str] = []

    def point(self, where: str) -> None:
        """A place where something else can happen, or the run can end."""
        self.points += 1
        for number, event in self.interruptions:
            if number != self.points:
                continue
            self.trace.append(f"{where}: {event}")
            if event[0] == "kill":
                raise Killed(where)
            run_event(self.world, event)

    def run(self) -> Outcome:
        before = self._fingerprint()
        try:
            self._run()
            word, message = "done", ""
        except Refused as e:
            word, message = "refused", str(e)
        except OvnError as e:
            word, message = "failed", str(e)
        except Killed as e:
            return Outcome("killed", str(e), self.acted, self.points)
        self._unlock()
        if word == "refused" and not self.acted and not self.interruptions and before != self._fingerprint():
            raise Violation(f"a refused run has changed something: {message}")
        return Outcome(word, message, self.acted, self.points)

    def _fingerprint(self) -> list[t.Any]:
        return [
            (host.name, database, slot.file, slot.server, slot.record, slot.settings, slot.aside)
            for database in self.world.databases
            for host, slot in self.world.slots(database)
        ]

    def _run(self) -> None:
        self._lock()
        self.point("after the lock was acquired")
        for host in self._hosts():
            for slot in host.slots.values():
                slot.settings = self.world.settings
        self.point("after the settings were written")
        for rounds in range(40):
            if not self._round(rounds):
                break
        else:
            raise Violation("a run does not end")
        self.point("before the endpoints are handed out")
        for database in self.world.databases:
            cids = {host.slots[database].record.cid for host in self._hosts() if host.slots[database].record}
            self.world.clients[database] |= {cid for cid in cids if cid}

    def _hosts(self) -> list[Host]:
        hosts = [self.world.hosts[name] for name in self.hosts]
        for host in hosts:
            if not (host.on and host.reachable):
                raise TimedOut(f"{host.name} is unreachable.")
        return hosts

    def _lock(self) -> None:
        for host in self._hosts():
            if host.lock is not None and host.lock[0] != self.name and host.lock[1] > self.world.now:
                raise Refused(f"Another run works on this control plane: {host.lock[0]}. Wait for it.")
            host.lock = (self.name, self.world.now + LOCK_SECONDS)

    def _unlock(self) -> None:
        for name in self.hosts:
            host = self.world.hosts[name]
            if host.lock is not None and host.lock[0] == self.name:
                host.lock = None

    def _round(self, number: int) -> bool:
        for host in self._hosts():
            if any(slot.tool_fails for slot in host.slots.values()):
                raise OvnError(f"The launcher cannot examine the file on {host.name}.")
        seen = {
            database: {host.name: observe_member(self.world, database, host) for host in self._hosts()}
            for database in self.world.databases
        }
        planned = {database: self._plan(database, seen[database]) for database in self.world.databases}
        if all(plan.record is None and plan.step is None for plan in planned.values()):
            return False
        self.point("after the plan")
        if any(plan.step for plan in planned.values()):
            self._lock()
        for database, plan in planned.items():
            if plan.record:
                for host in self._hosts():
                    self._write_record(database, host, plan.record)
                    self.point(f"after the record was written on {host.name}")
        for database, plan in planned.items():
            if plan.step:
                self.point("before the step")
                self._act(database, plan.step, seen[database], number)
        return any(plan.step for plan in planned.values())

    def _plan(self, database: str, seen: dict[str, t.Any]) -> t.Any:
        declared = {name: self.world.address_of(name) for name in self.world.declared}
        run = Run(
            database,
            declared,
            name=self.name,
            time="2026-01-01T00:00:00Z",
            allow_outage="allow_outage" in self.world.confirmed,
        )
        return plan_round(run, seen, gate_reason)

    def _write_record(self, database: str, host: Host, record: Record) -> None:
        slot = host.slots[database]
        if slot.record is not None and slot.record.revision > record.revision:
            raise Refused(f"{host.name} holds revision {slot.record.revision}, newer than {record.revision} of this run.")
        self.acted = True
        slot.record = record

    def _act(self, database: str, step: Step, seen: dict[str, t.Any], number: int) -> None:
        world, raft = self.world, Raft(self.world, database)
        if step.action == "wait":
            world.settle()
            self.waits = getattr(self, "waits", 0) + 1
            if self.waits > _WAITS:
                raise TimedOut(f"Gave up: {step.reason}.")
            return
        self.acted = True
        before = raft.live()
        size = len(next(iter(raft.leaders()), (None, None))[1].server.data.servers) if raft.leaders() else 0
        for name in step.members:
            execute(world, database, world.hosts[name], step)
        if step.action in ("stop", "restart", "kick") and size > 1 and 2 * before > size:
            leaders = raft.leaders()
            if not leaders:
                raise Violation(f"a step of ours cost the quorum: {step.reason}")
        world.settle()


def execute(world: World, database: str, host: Host, step: Step) -> None:
    """One step on its host. What it waits for has come, or it fails."""
    slot, raft = host.slots[database], Raft(world, database)
    if step.action in ("stop", "restart"):
        slot.server = None
        world.settle()
        live = raft.leaders()
        if step.action == "restart":
            before = len(raft.peers(live[0][0])) if live else 0
            if not live and not _alone(slot):
                raise Violation(f"a step of ours cost the quorum ({before} live): {step.reason}")
    if step.action in ("start", "restart"):
        decision = launcher.launch(world, database, host)
        if slot.server is None:
            raise Refused(f"The unit on {host.name} does not run: {decision.reason}.")
        world.settle()
        world.settle()
        if slot.server is None or not raft.connected(host):
            raise TimedOut(f"The {database} member {host.name} did not join its cluster.")
    if step.action == "kick":
        kick(world, database, host, step)


def _alone(slot: t.Any) -> bool:
    return slot.file is not None and len(slot.file.servers) <= 1


def kick(world: World, database: str, host: Host, step: Step) -> None:
    raft, slot = Raft(world, database), host.slots[database]
    if slot.server is None:
        raise TimedOut(f"{host.name} does not answer.")
    if not slot.server.leader:
        raise Refused("The leadership moved away. Nothing was changed by this step.")
    sid = step.sid or ""
    listed = [full for full in slot.server.data.servers if full[: len(sid)] == sid]
    if not listed:
        return
    peers = raft.peers(host)
    if listed[0] in peers and peers[listed[0]][0].slots[database].file is not None:
        raise Violation(f"a live member is kicked: {peers[listed[0]][0].name} ({step.reason})")
    for other, its in world.slots(database):
        holds = its.file
        if (
            holds is not None
            and holds.sid == listed[0]
            and holds.kind == "member"
            and not (its.server and not its.server.settings.good)
            and world.acknowledged[database] <= holds.writes
            and holds.address == other.address
        ):
            raise Violation(f"a member whose good file lies on {other.name} is kicked: {step.reason}")
    if not raft.kick(host, sid):
        raise TimedOut(f"The cluster still lists {sid}.")


def run_event(world: World, event: Event) -> Outcome | None:
    """An event of the vocabulary, or a run: ("run", hosts left out, interruptions)."""
    if event[0] == "run":
        from . import pods

        kind = pods.PodsRun if world.pods else MachinesRun
        outcome = kind(world, event[1], event[2]).run()
        events.check(world)
        return outcome
    events.apply(world, event)
    events.check(world)
    return None
