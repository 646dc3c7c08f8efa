"""`SimulatedBackend`: the product's loop on the modelled world. At each point something else can happen, or the run can end."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    Changed,
    Conflict,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Step, check_unresponsive

from . import events, launcher
from .locks import RunLock
from .log import File
from .observe import answer_of, observe_member, record_dict
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
        self,
        world: World,
        database: str,
        lock: RunLock,
        hosts: t.Sequence[str],
        point: Interrupter,
        options: t.Collection[str] = (),
        former: t.Sequence[str] = (),
    ) -> None:
        self.world, self.database, self.lock, self.hosts, self.point = world, database, lock, hosts, point
        self.former = former  # hosts of members that left
        self.options = options  # of this run
        self.raft = Raft(world, database)
        self.acted = False
        self.rounds = 0
        self.decisions: list[str] = []
        self.steps: list[Step] = []  # without waits
        self.first_problems: set[str] | None = None  # why members would not start, as observed first
        self._version = world.map_version[database]
        self._faults = 0
        self._caught_up: set[str] = set()
        self._size = 0  # of the leader's list
        self._forgotten = False  # what was remembered, because the operator accepts older files
        self._targets: dict[str, t.Hashable] = {}  # what a step relies on, as it was observed
        self._given_up: set[str | None] = set()  # server ids that some copy of the record gives up
        self._acquisitions = 0  # of locks until the observation

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
        self._given_up |= {sid for record in records for sid in record.retired_sids}
        for name in self.hosts if "accept_lost_disk" in self.options else ():
            slot = self.world.hosts[name].slots[self.database]
            slot.accepted = slot.accepted or slot.container == "down"
        self._acquisitions = self.world.acquisitions
        self._targets = {name: self._target(self.world.hosts[name]) for name in (*self.hosts, *self.former)}
        self._version = self.world.map_version[self.database]
        found = self.observe_members()
        self._note_first(found)
        return found

    def _target(self, host: Host) -> t.Hashable:
        """What a step on this member relies on: its server and its role, or its file."""
        slot = host.slots[self.database]
        if slot.server is not None:
            data = slot.server.data
            return (data.sid, data.kind == "left", slot.server.leader, self.raft.connected(host))
        if slot.file is None:
            return None
        return ("broken" if slot.file.kind == "rotten" else slot.file.kind, slot.file.sid)

    def _note_first(self, observations: t.Mapping[str, Observation]) -> None:
        if self.first_problems is None:
            self.first_problems = {o.start_problem for o in observations.values() if o.start_problem}

    def check_foreseen(self, message: str) -> None:
        """R27: what the first observation shows refuses a run before it takes anything from a cluster or adds to it, but for what left for good."""
        acted = [
            step.reason
            for step in self.steps
            if (step.action in ("kick", "stop") and not step.reason.endswith("left the cluster for good"))
            or step.reason.startswith("join ")
            or any(target.get("connected") for target in step.expects.values())
        ]
        seen = [problem for problem in self.first_problems or () if problem in message]
        if acted and seen:
            raise Violation(f"a run is refused for what it observed first, after it did this: {acted[0]}")

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
        for name in self._former_there():
            found[name] = observe_member(self.world, self.database, self.world.hosts[name])
        return found

    def _former_there(self) -> list[str]:
        """Of those that left, nobody waits for one that is off."""
        return [name for name in self.former if self.world.hosts[name].on and self.world.hosts[name].reachable]

    def _pod(self, name: str, host: Host) -> Observation | None:
        """R26: without a pod a claim tells nothing, and with neither there is nothing."""
        slot = host.slots[self.database]
        if list(self.world.hosts).index(name) < (self.world.replicas[self.database] or 0):
            return observe_member(self.world, self.database, host) if host.on and host.reachable else None
        if slot.claim:
            return None
        return Observation(name, record=record_dict(self.world.config_map[self.database]), installed=False)

    def acquire(self, decided: Round) -> bool:
        self.point("before the lock is acquired")
        fresh = self.lock.acquire_or_renew(decided.title)
        return (self.world.pods and decided.refusal is None and self.accept_rollback()) or fresh

    def accept_rollback(self) -> bool:
        """Forget once what is remembered of the members, if the operator accepts older files; whether that was done."""
        record = self.world.config_map[self.database]
        if (
            "accept_rollback" not in self.options
            or self._forgotten
            or (self.world.pods and (record is None or not record.cid))
        ):
            return False
        self.lock.acquire_or_renew("accept what was lost")
        self._forgotten, self.acted = True, True
        there = [name for name in self.hosts if self.world.hosts[name].on and self.world.hosts[name].reachable]
        events.accept_rollback(self.world, self.database, there)  # in a pod that does not run, nothing is deleted
        events.check(self.world)
        self.point("after the witnesses were deleted")
        return True

    def _check_right(self, name: str, what: str) -> None:
        """R31: the product looks whether the lock is this run's; then nobody else may have acquired it since the observation."""
        self.lock.check(name)
        if self._acquisitions != self.world.acquisitions:
            raise Violation(f"a run acts on what it saw before the lock was its own: {what}")

    def able_to_start(self) -> t.Collection[str]:
        replicas = self.world.replicas[self.database] or 0
        return list(self.world.hosts)[:replicas] if self.world.pods else self.hosts

    def report(self, decided: Round) -> None:
        self.decisions.append(decided.title)
        if decided.step and decided.step.action != "wait":
            self.steps.append(decided.step)

    def write_record(self, record: Record, step: Step | None) -> None:
        self.point("before the record is written")
        if self.world.pods:
            self._check_right("", "a record is written")
            self._check_adoption(record)
            if self.world.map_version[self.database] != self._version:
                raise Conflict("The ConfigMap was changed meanwhile.")
            self._check_options(record)
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
        for name in [*self.hosts, *self._former_there()]:
            host = self.world.hosts[name]
            slot = host.slots[self.database]
            if not (host.on and host.reachable):
                raise Unreachable(f"{name} is unreachable.")
            self._check_right(name, "a record is written")
            self._check_adoption(record)
            if slot.record is not None and slot.record.revision > record.revision:
                raise Refused(
                    f"{name} holds revision {slot.record.revision}, newer than {record.revision} of this run."
                )
            if slot.record is not None and slot.record.hold:
                raise Refused(f"The record on {name} is on hold since this run has read it.")
            self._check_options(record)
            slot.record = record
            self.acted = True
            self.point(f"after the record was written on {name}")

    def execute(self, step: Step, record: Record) -> None:
        self.point("before the step")
        for name in step.members:
            self._check_target(name, step)
        if step.action == "wait":
            self._wait()
            return
        self.acted = True
        self._check_retired(step)
        self._check_quiet(step)
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
        if step.action != "wait" or not self.world.pods:
            self._check_right(name, step.reason)
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
        if step.action != "wait" and self._target(host) != self._targets[name] and not self.world.pods:
            raise Violation(f"a step is taken on {name}, which is not as it was observed: {step.reason}")

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
        if step.action == "restart":
            self._check_permitted(host, slot, step)
        if step.action == "restart" and len(step.members) == 1:
            self._check_restart(host, slot, step)
        if slot.contained and step.action == "restart":
            raise Refused(f"{self.database} on {host.name} runs in a container, which no run starts again. Restart it.")
        good = slot.file is not None and not slot.contained and self._good(host, slot, slot.file)
        if step.action == "stop" and self.raft.connected(host) and good and self._is_listed(slot):
            raise Violation(f"{host.name} is stopped, although it takes part and its file is good: {step.reason}")
        if step.action == "stop" and self._faults == self.world.faults and self._is_unexamined(host, slot):
            raise Violation(
                f"{host.name} is stopped, although nobody could see whether its file is there: {step.reason}"
            )
        if step.action == "stop" and good and not self._is_removed(slot):
            raise Violation(f"{host.name} is stopped, although its removal is not committed: {step.reason}")
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

    def _is_listed(self, slot: Slot) -> bool:
        """One that was removed calls itself connected until its first attempt to be elected has failed."""
        leaders = self.raft.leaders()
        return not leaders or (slot.server is not None and slot.server.data.sid in _data(leaders[0][1]).servers)

    def _is_removed(self, slot: Slot) -> bool:
        """R7: by a list that lasts, or given up by the record; what happened since the observation nobody could have known."""
        sid = slot.server.data.sid if slot.server is not None else None
        lasting = any(self.raft.committed(host) is _data(leader).log for host, leader in self.raft.leaders()[:1])
        lasting = lasting and not self._is_listed(slot)
        return lasting or sid in self._given_up or self._faults != self.world.faults

    def _is_unexamined(self, host: Host, slot: Slot) -> bool:
        """R28: of a server that takes part, the tools have to tell a deleted file from a disk that is not mounted; no volume goes away under a pod."""
        return slot.tool_fails and not (self.world.pods or slot.contained) and self.raft.connected(host)

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
        answer = answer_of(self.world, self.database, host, self.raft, self.raft.connected(host))
        check_unresponsive(self.database, answer, sid)
        self._check_kick(host, listed[0], step)
        if not self.raft.kick(host, sid):
            raise TimedOut(f"The cluster still lists {sid}.")
        if self.world.hesitant:
            self.point("while a removal is not committed")

    # --- what must never be ----------------------------------------------------------------------------------------------

    def retired_servers(self) -> list[str]:
        """The hosts that this run reaches where a server runs that left for good (R37)."""
        there = [self.world.hosts[name] for name in (*self.hosts, *self._former_there())]
        servers = [(host.name, host.slots[self.database].server) for host in there]
        return [
            name
            for name, server in servers
            if server is not None and server.data.sid in self.world.retired[self.database]
        ]

    def former_to_start(self) -> list[str]:
        """Hosts of members that left, reached by this run, where a launcher would start a server all the same."""
        found, retired = list[str](), self.world.retired[self.database]
        for name in self._former_there():
            host = self.world.hosts[name]
            file = host.slots[self.database].file
            decision = launcher.decide_for(self.world, self.database, host).decision
            found += [name] if file is not None and file.sid in retired and decision in ("start", "join") else []
        return found

    def _check_retired(self, step: Step) -> None:
        """R37: such a server is stopped before anything else, whatever that is."""
        retired = self.retired_servers() if self._faults == self.world.faults else []
        if retired and step.members[0] not in retired:
            raise Violation(f"a step is taken while a server runs on {retired[0]} that left for good: {step.reason}")

    def _check_quiet(self, step: Step) -> None:
        """The gates `one_leader` and `quiet`: nobody is removed, added or stopped during an election or another change of the list.

        Nor does the list change while the disk of the leader is full (R20).
        """
        joins = step.action == "start" and any(
            launcher.decide_for(self.world, self.database, self.world.hosts[name]).decision == "join"
            for name in step.members
        )
        stops = step.action in ("stop", "restart") and any(
            self.raft.connected(self.world.hosts[name]) for name in step.members
        )
        leaders = self.raft.leaders()
        if self._faults != self.world.faults or not leaders or not (step.action == "kick" or joins or stops):
            return
        host, slot = leaders[0]
        data = _data(slot)
        if slot.full and (joins or step.action == "kick"):
            raise Violation(f"the list of members changes while the disk of the leader is full: {step.reason}")
        if len(data.servers) == 1:
            return  # nobody else can lead, and nothing can be lost to others
        if slot.server is not None and slot.server.elected:
            raise Violation(f"a step is taken a moment after an election: {step.reason}")
        if self.raft.changes(host):
            raise Violation(f"a step is taken while the list of members changes: {step.reason}")
        if self.raft.committed(host) is not data.log:
            raise Violation(f"a step is taken while the leader has entries that are not committed: {step.reason}")

    def _check_kick(self, leader: Host, sid: str, step: Step) -> None:
        if sid in self.world.retired[self.database]:
            raise Violation(f"a server that left for good is taken for a ghost: {step.reason}")
        peers = self.raft.peers(leader)
        if sid in peers and peers[sid][1].file is not None and peers[sid][0].slots[self.database].server:
            raise Violation(f"a live member is kicked: {peers[sid][0].name} ({step.reason})")
        if self._faults != self.world.faults:
            return  # of a member that is down, nobody could have known
        for other, slot in self.world.slots(self.database):
            if slot.file is not None and slot.file.sid == sid and self._good(other, slot, slot.file):
                raise Violation(f"a member whose good file lies on {other.name} is kicked: {step.reason}")
            if (
                slot.container == "down"
                and slot.volume is not None
                and slot.volume.sid == sid
                and sid not in self._given_up
                and not slot.accepted
            ):
                raise Violation(f"a member whose container on {other.name} is only down is kicked: {step.reason}")

    def _check_adoption(self, record: Record) -> None:
        """Recorded without some of its members, a cluster would look like a smaller one: it would be without a quorum when that one is."""
        copies = [self.world.config_map[self.database], *(slot.record for _h, slot in self.world.slots(self.database))]
        if any(copy is not None for copy in copies) or self._faults != self.world.faults:
            return
        recorded = {member.address for member in record.members.values()}
        for host, slot in self.raft.running():
            data = _data(slot)
            others = set(data.servers.values()) - recorded
            # A server that was removed goes on with the list of then.
            if host.name in self.hosts and others and data.kind != "left":
                raise Violation(f"a cluster is recorded without {min(others)}, which {host.name} lists")

    def _check_options(self, record: Record) -> None:
        """Only a run that may create, and has searched for an older control plane, gives the permit to create."""
        if record.permit is None:
            return
        copies = [self.world.config_map[self.database], *(slot.record for _h, slot in self.world.slots(self.database))]
        resumed = any(copy is not None and copy.permit is not None for copy in copies)  # by a run that has searched
        new = {"new_cluster", "unwitnessed"} & set(self.options)
        unsearched = () if resumed or "new_cluster" in new else ("unsearched",)
        for option in ("no_bootstrap", "expected", *unsearched):
            if option in self.options:
                raise Violation(f"a run with the option {option} lets {record.permit.member} create a cluster")
        if resumed:
            return
        for name in self.hosts if self._faults == self.world.faults else ():
            self._check_unused(self.world.hosts[name].slots[self.database], name)
        if new and self.world.clients[self.database]:
            events.give_up_cluster(self.world, self.database)

    def _check_unused(self, slot: Slot, name: str) -> None:
        """Where a cluster is created, no file of another may lie, and no disk may be away."""
        if slot.file is not None and slot.file.kind in ("member", "joining"):
            raise Violation(f"a cluster is created although the file of another lies on {name}")
        away = slot.file is None and slot.witness is not None and slot.witness.disk != slot.disk
        if away and "accept_lost_disk" not in self.options:
            raise Violation(f"a cluster is created although the disk of {name} is not mounted")

    def _check_permitted(self, host: Host, slot: Slot, step: Step) -> None:
        """What only an option permits."""
        if slot.server is None or slot.server.failed:
            return
        if "no_restart" in self.options:
            raise Violation(f"{host.name} is restarted by a run that must not restart: {step.reason}")
        is_served = self.raft.connected(host) and slot.server.data.cid in self.world.clients[self.database]
        if is_served and len(slot.server.data.servers) == 1 and "allow_outage" not in self.options:
            raise Violation(f"the only member is restarted without the permission for an outage: {step.reason}")

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
        for _time in range(
            2 + self.world.hesitant
        ):  # an election may take time, and whoever joins is followed a moment later
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
