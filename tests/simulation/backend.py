"""`SimulatedBackend`: the product's loop on the modelled world. At each point something else can happen, or the run can end."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Changed, Conflict, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Step

from . import events, launcher
from .log import File
from .observe import observe_member, record_dict
from .world import LOCK_SECONDS, Host, Raft, Slot, Violation, World

# Seconds of the model's clock.
_OBSERVATION = 1
_STEP = 5
_WAIT = 20
# A process that looks at the clock of its lock and then acts may be late by this much; a run that is paused longer finds its lock expired.
_ENDLESS = 200


class Interrupter(t.Protocol):
    """Lets other things happen at a point of a run."""

    def __call__(self, where: str) -> None: ...


class SimulatedBackend:
    """One database for one run, on machines or in pods."""

    def __init__(
        self, world: World, database: str, run_name: str, hosts: t.Sequence[str], point: Interrupter, replicas: int = 0
    ) -> None:
        self.world, self.database, self.run_name, self.hosts, self.point = world, database, run_name, hosts, point
        self.replicas = replicas  # pods: how many the run wants at least
        self.raft = Raft(world, database)
        self.acted = False
        self.rounds = 0
        self.decisions: list[str] = []
        self.steps: list[Step] = []  # without waits
        self._version = world.map_version[database]
        self._faults = 0
        self._caught_up: set[str] = set()
        self._size = 0  # of the leader's list
        self._given_up: set[str | None] = set()  # server ids that some copy of the record gives up
        self._outdated = False  # the lock is newer than what was observed

    # --- the protocol ----------------------------------------------------------------------------------------------------

    def observe(self) -> dict[str, Observation]:
        self.point("before an observation")
        self.world.now += _OBSERVATION
        self.rounds += 1
        self._faults = self.world.faults
        self._size = max((len(_data(slot).servers) for _host, slot in self.raft.leaders()), default=0)
        logs = {id(_data(slot).log) for _host, slot in self.raft.leaders()}
        self._caught_up = {host.name for host, slot in self.raft.running() if id(_data(slot).log) in logs}
        records = [slot.record for _host, slot in self.world.slots(self.database) if slot.record is not None]
        self._given_up = {m.sid for record in records for m in record.members.values() if m.state != "confirmed"}
        self._outdated = False
        self._version = self.world.map_version[self.database]
        return self.observe_members()

    def observe_members(self) -> dict[str, Observation]:
        """Return the observations; a member that could not be examined is missing. On machines, an unreachable host fails the task for all of them."""
        found: dict[str, Observation] = {}
        for name in self.hosts:
            host = self.world.hosts[name]
            if self.world.pods:
                seen = self._pod(name, host)
                if seen is not None:
                    found[name] = seen
                continue
            if not (host.on and host.reachable):
                raise Unreachable(f"{name} is unreachable. Nothing was changed.")
            found[name] = observe_member(self.world, self.database, host)
        return found

    def _pod(self, name: str, host: Host) -> Observation | None:
        """R26: without a pod a claim tells nothing, and with neither there is nothing."""
        slot = host.slots[self.database]
        if list(self.world.hosts).index(name) < (self.world.replicas[self.database] or 0):
            return observe_member(self.world, self.database, host) if host.on and host.reachable else None
        if slot.claim:
            return None
        return Observation(name, record=record_dict(self.world.config_map[self.database]), installed=False)

    def acquire(self, decided: Round | None = None) -> bool:
        self.point("before the lock is acquired")
        fresh = False
        for holder, where in self._locks():
            if holder is not None and holder[0] != self.run_name and holder[1] > self.world.now:
                raise Refused(f"Another run works on this control plane: {holder[0]}. Wait for it.")
            fresh = fresh or holder is None or holder[0] != self.run_name or holder[1] <= self.world.now
            where((self.run_name, self.world.now + LOCK_SECONDS))
        self._outdated = self._outdated or fresh
        return fresh

    def _check_fresh(self, what: str) -> None:
        """R31: what was seen before the lock was this run's own counts no more."""
        if self._outdated:
            raise Violation(f"a run acts on what it saw before the lock was its own: {what}")

    def _locks(self) -> t.Iterator[tuple[tuple[str, int] | None, t.Callable[[tuple[str, int] | None], None]]]:
        if self.world.pods:
            yield self.world.lease, functools.partial(setattr, self.world, "lease")
            return
        for name in self.hosts:
            host = self.world.hosts[name]
            yield host.lock, functools.partial(setattr, host, "lock")

    def release(self) -> None:
        for holder, where in self._locks():
            if holder is not None and holder[0] == self.run_name:
                where(None)

    def _holds(self, host: Host) -> bool:
        lock = self.world.lease if self.world.pods else host.lock
        return lock is not None and lock[0] == self.run_name and lock[1] > self.world.now

    def able_to_start(self) -> t.Collection[str]:
        replicas = self.world.replicas[self.database] or 0
        return list(self.world.hosts)[:replicas] if self.world.pods else self.hosts

    def report(self, decided: Round) -> None:
        self.decisions.append(decided.title)
        if decided.step and decided.step.action != "wait":
            self.steps.append(decided.step)

    def write_record(self, record: Record, step: Step | None) -> None:
        self.point("before the record is written")
        self._check_fresh("a record is written")
        self._check_adoption(record)
        if self.world.pods:
            if self.world.map_version[self.database] != self._version:
                raise Conflict("The ConfigMap was changed meanwhile.")
            self._version += 1
            self.world.map_version[self.database] = self._version
            self.world.config_map[self.database] = record
            self.acted = True
            for name in self.able_to_start():
                if self.world.hosts[name].slots[self.database].server is None and self.world.hosts[name].on:
                    self._check_join(self.world.hosts[name], "the record lets it")
            events.settle(self.world)
            events.check(self.world)
            return
        for name in self.hosts:
            host = self.world.hosts[name]
            slot = host.slots[self.database]
            if not (host.on and host.reachable):
                raise Unreachable(f"{name} is unreachable.")
            if not self._holds(host):
                raise Refused(f"The lock on {name} expired. Run again.")
            if slot.record is not None and slot.record.revision > record.revision:
                raise Refused(
                    f"{name} holds revision {slot.record.revision}, newer than {record.revision} of this run."
                )
            slot.record = record
            self.acted = True
            self.point(f"after the record was written on {name}")

    def execute(self, step: Step, record: Record) -> None:
        self.point("before the step")
        self._check_fresh(step.reason)
        for name in step.members:
            self._check_target(name, step)
        if step.action == "wait":
            self._wait()
            return
        self.acted = True
        before = self._writable()
        if step.action == "start" and self.world.pods:
            self._scale_up_for(step)
        for name in step.members:
            self._execute(self.world.hosts[name], step, before)
        if step.action == "kick":
            self._check_quorum(before, step)
        self.world.now += _STEP
        self._settle()
        self.point("while the step takes effect")
        for name in step.members:
            self._await_effect(self.world.hosts[name], step)

    # --- the steps -------------------------------------------------------------------------------------------------------

    def _check_target(self, name: str, step: Step) -> None:
        host = self.world.hosts[name]
        if not self._holds(host) and step.action != "wait":
            raise Refused(f"The lock on {name} expired. Run again.")
        if not self.world.pods and not (host.on and host.reachable):
            raise Unreachable(f"{name} is unreachable.")
        expected = step.expects.get(name)
        seen = self._pod(name, host) if self.world.pods else observe_member(self.world, self.database, host)
        if seen is None:
            if expected is not None and not self.world.pods:
                raise Changed(f"{name} cannot be examined now.")
            return
        if expected is not None and seen.target() != expected:
            raise Changed(f"{name} is not as it was when the step was planned.")

    def _settle(self) -> None:
        """A few election timers pass."""
        for _time in range(2):
            events.settle(self.world)
        events.check(self.world)

    def _wait(self) -> None:
        self.world.now += _WAIT
        self._settle()
        if self.world.now > _ENDLESS * LOCK_SECONDS:
            raise Violation("a run waits without end")

    def _scale_up_for(self, step: Step) -> None:
        order = list(self.world.hosts)
        needed = max(order.index(name) for name in step.members) + 1
        self.scale(max(needed, self.world.replicas[self.database] or 0))

    def scale(self, replicas: int) -> None:
        """Pods only. Shrinking would delete the pods of members."""
        before = self.world.replicas[self.database] or 0
        leaders = self.raft.leaders()
        listed = len(_data(leaders[0][1]).servers) if leaders else 0
        if replicas < before and replicas < listed:
            raise Violation(f"the pods of members are scaled away: from {before} to {replicas}")
        self.world.replicas[self.database] = replicas

    def _execute(self, host: Host, step: Step, before: bool) -> None:
        slot = host.slots[self.database]
        if step.action == "kick":
            self._kick(host, slot, step)
            return
        if step.action == "restart" and len(step.members) == 1:
            self._check_restart(host, slot, step)
        if slot.contained and step.action == "restart":
            raise Refused(f"{self.database} on {host.name} runs in a container, which no run starts again. Restart it.")
        good = slot.file is not None and not slot.contained and self._good(host, slot, slot.file)
        if step.action == "stop" and self.raft.connected(host) and good:
            raise Violation(f"{host.name} is stopped, although it takes part and its file is good: {step.reason}")
        if step.action == "stop" and slot.contained:
            self._check_takeover(host, slot, step)
        if step.action == "start":
            self._check_join(host, step.reason)
        if step.action in ("stop", "restart"):
            if slot.witness is not None and slot.file is not None and slot.witness.sid == slot.file.sid:
                slot.witness = slot.witness._replace(position=slot.file.position)
            ended, was_contained = slot.server, slot.contained
            slot.end()
            if was_contained:
                slot.container = "stopped"
            if ended is not None and self.world.acknowledged[self.database] <= ended.data.writes:
                self._check_file(host, step)
            self._check_quorum(before, step)
        if not self.world.pods and step.action in ("start", "restart"):
            slot.settings, slot.enabled = self.world.settings, True
            decision = launcher.launch(self.world, self.database, host)
            if slot.server is None:
                raise Refused(f"The unit on {host.name} does not run: {decision.reason}.")

    def _check_file(self, host: Host, step: Step) -> None:
        """Stopping the only holder of acknowledged writes loses them."""
        acknowledged = self.world.acknowledged[self.database]
        holders = [s for h, s in self.world.slots(self.database) if s.file and acknowledged <= s.file.writes]
        holders += [s for h, s in self.world.slots(self.database) if s.server and acknowledged <= s.server.data.writes]
        downs = [s for h, s in self.world.slots(self.database) if s.container == "down"]
        holders += [s for s in downs if s.volume and acknowledged <= s.volume.writes]
        if acknowledged and not holders:
            raise Violation(f"{host.name} was stopped, and nobody else has the acknowledged writes: {step.reason}")

    def _await_effect(self, host: Host, step: Step) -> None:
        slot = host.slots[self.database]
        if step.action not in ("start", "restart"):
            return
        if self.world.pods and slot.server is None:
            raise TimedOut(f"The pod {host.name} does not start a server: {slot.waits}.")
        if slot.server is None or not self.raft.connected(host):
            alone = len(step.members) > 1
            if not alone or slot.server is None:
                raise TimedOut(f"The {self.database} member {host.name} did not join its cluster.")

    def _kick(self, host: Host, slot: Slot, step: Step) -> None:
        if slot.server is None:
            raise Unreachable(f"{host.name} does not answer.")
        if not slot.server.leader:
            raise Refused("The leadership moved away. Nothing was changed by this step.")
        sid = step.sid or ""
        listed = [full for full in slot.server.data.servers if full[: len(sid)] == sid]
        if not listed:
            return
        self._check_kick(host, listed[0], step)
        if not self.raft.kick(host, sid):
            raise TimedOut(f"The cluster still lists {sid}.")

    # --- what must never be ----------------------------------------------------------------------------------------------

    def _check_kick(self, leader: Host, sid: str, step: Step) -> None:
        if self._faults != self.world.faults:
            return  # it was right when it was observed
        peers = self.raft.peers(leader)
        if sid in peers and peers[sid][1].file is not None and peers[sid][0].slots[self.database].server:
            raise Violation(f"a live member is kicked: {peers[sid][0].name} ({step.reason})")
        for other, slot in self.world.slots(self.database):
            if slot.file is not None and slot.file.sid == sid and self._good(other, slot, slot.file):
                raise Violation(f"a member whose good file lies on {other.name} is kicked: {step.reason}")
            if (
                slot.container == "down"
                and slot.volume is not None
                and slot.volume.sid == sid
                and sid not in self._given_up
            ):
                raise Violation(f"a member whose container on {other.name} is only down is kicked: {step.reason}")

    def _check_adoption(self, record: Record) -> None:
        """Recorded without some of its members, a cluster would look like a smaller one: it would be without a quorum when that one is."""
        copies = [self.world.config_map[self.database], *(slot.record for _h, slot in self.world.slots(self.database))]
        if any(copy is not None for copy in copies) or self._faults != self.world.faults:
            return
        recorded = {member.address for member in record.members.values()}
        for host, slot in self.raft.running():
            others = set(_data(slot).servers.values()) - recorded
            if host.name in self.hosts and others:
                raise Violation(f"a cluster is recorded without {min(others)}, which {host.name} lists")

    def _good(self, host: Host, slot: Slot, file: File) -> bool:
        """A file that starts, lies where it belongs and holds all that its member has ever had."""
        return (
            file.kind == "member"
            and file.address == host.address
            and (slot.witness is None or (file.position >= slot.witness.position and slot.witness.disk == slot.disk))
        )

    def _takes_writes(self) -> bool:
        """Whether a majority has all that the leader has."""
        for host, slot in self.raft.leaders():
            # One that has caught up before it became slow shows that to nobody.
            same = [
                peer
                for peer in self.raft.peers(host).values()
                if _data(peer[1]).log is _data(slot).log or (peer[1].slow and peer[0].name in self._caught_up)
            ]
            if 2 * len(same) > len(_data(slot).servers):
                return True
        return False

    def _writable(self) -> bool:
        """Whether the database takes writes, and the loss of that would be ours: nothing happened since the observation."""
        return self._faults == self.world.faults and self._takes_writes()

    def _check_quorum(self, before: bool, step: Step) -> None:
        if not before or step.action == "start":
            return
        size = self._size
        events.settle(self.world)
        if size > 1 and not self._takes_writes():
            raise Violation(f"a step of ours costs the quorum: {step.reason}")

    def _check_join(self, host: Host, reason: str) -> None:
        """R6: nobody is added while a listed member is away."""
        leaders = self.raft.leaders()
        joins = launcher.decide_for(self.world, self.database, host).decision == "join"
        if not (joins and leaders and self._faults == self.world.faults):
            return
        if len(self.raft.peers(leaders[0][0])) < len(_data(leaders[0][1]).servers):
            raise Violation(f"{host.name} joins while a member is away: {reason}")

    def _check_takeover(self, host: Host, slot: Slot, step: Step) -> None:
        """A container that leads is replaced last, and none that would leave its host without a member."""
        if self._faults != self.world.faults or not self.raft.connected(host):
            return
        if not self.world.settings.loads:
            raise Violation(f"{host.name} is stopped, although it could not join again: {step.reason}")
        others = [h for h, s in self.world.slots(self.database) if h is not host and s.contained]
        if slot.server is not None and slot.server.leader and any(self.raft.connected(other) for other in others):
            raise Violation(f"the leader is replaced before its followers: {step.reason}")

    def _check_restart(self, host: Host, slot: Slot, step: Step) -> None:
        """R13 and R33: the leader last, and nobody who would not come back."""
        if self._faults != self.world.faults or slot.server is None:
            return
        if not self.world.settings.loads:
            raise Violation(f"{host.name} is stopped, although it would not come back: {step.reason}")
        others = [
            s.server
            for h, s in self.world.slots(self.database)
            if h is not host and s.server and not s.contained and self.raft.connected(h)
        ]
        if slot.server.leader and any(other.settings != self.world.settings for other in others):
            raise Violation(f"the leader is restarted before its followers: {step.reason}")


def _data(slot: Slot) -> File:
    if slot.server is None:
        raise AssertionError("no server runs")
    return slot.server.data
