"""The loop on pods as it was before `_raft/rounds.py`: _rollout/control_plane.py, database.py, observed.py and members.py."""

from __future__ import annotations

import types
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.gates import gate_reason
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import PODS, Run, Step
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.database import DatabaseRollout

from . import events
from .machines import MachinesRun, kick
from .observe import observe_member, record_dict
from .world import LOCK_SECONDS, Raft, Violation, World

_held_back = DatabaseRollout._held_back


class PodsRun(MachinesRun):
    def _run(self) -> None:
        world = self.world
        self.replicas = {database: self._first_replicas(database) for database in world.databases}
        self.point("after the objects were read")
        self._take_lease()
        self.acted = True
        for database in world.databases:
            leaders = Raft(world, database).leaders()
            if leaders and self.replicas[database] < min(len(leaders[0][1].server.data.servers), world.replicas[database] or 0):
                raise Violation(f"the pods of members are scaled away: {world.replicas[database]} to {self.replicas[database]}")
            world.replicas[database] = self.replicas[database]
        events.settle(world)
        events.check(world)
        self.point("after the objects were applied")
        for database in world.databases:
            for number in range(40):
                if not self._pod_round(database, number):
                    break
            else:
                raise Violation("a run does not end")
        for database in world.databases:
            record = world.config_map[database]
            if record is not None and record.cid:
                world.clients[database] |= {record.cid}

    def _unlock(self) -> None:
        if self.world.lease is not None and self.world.lease[0] == self.name:
            self.world.lease = None

    def _take_lease(self) -> None:
        world = self.world
        if world.lease is not None and world.lease[0] != self.name:
            if world.lease[1] > world.now:
                raise Refused(f"Another run works on this control plane: {world.lease[0]}.")
        world.lease = (self.name, world.now + LOCK_SECONDS)

    def _first_replicas(self, database: str) -> int:
        world, joined = self.world, [0]
        record, names = world.config_map[database], list(world.hosts)
        if record is not None and record.cid:
            joined = [names.index(n) + 1 for n, m in record.members.items() if m.state not in ("expected", "absent")]
        else:
            joined.append(sum(slot.claim for _h, slot in world.slots(database)))
        return max(world.replicas[database] or 0, *joined, 0)

    def _observe(self, database: str) -> dict[str, Observation]:
        world, seen = self.world, {}
        record = world.config_map[database]
        for number, name in enumerate(world.hosts):
            host, slot = world.hosts[name], world.hosts[name].slots[database]
            if name not in world.declared:
                continue
            if number < (world.replicas[database] or 0):
                if host.on and host.reachable and not slot.tool_fails:
                    slot.settings = slot.settings or world.settings
                    seen[name] = observe_member(world, database, host, restart_reason=False)
                continue
            expected = record is not None and record.cid and name in record.members and record.members[name].state == "expected"
            if not slot.claim or expected:
                seen[name] = Observation(name, record=record_dict(record), installed=False)
        return seen

    def _pod_round(self, database: str, number: int) -> bool:
        world = self.world
        declared = {name: world.address_of(name) for name in world.declared}
        run = Run(database, declared, name=self.name, time="2026-01-01T00:00:00Z", allow_names=True, words=PODS)
        seen = self._observe(database)
        decided = plan_round(run, seen, gate_reason)
        self.point("after the plan")
        record = None
        if decided.record:
            self_ = types.SimpleNamespace(
                store=types.SimpleNamespace(read=lambda: world.config_map[database]),
                run=run,
                replicas=self.replicas[database],
                seen=seen,
            )
            record = _held_back(t.cast(t.Any, self_), decided.record, decided.step)
        if record is None and decided.step is None:
            return False
        self._take_lease()
        if record is not None:
            world.config_map[database] = record
            events.settle(world)
            events.check(world)
            self.point("after the record was written")
        if decided.step is not None:
            self._pod_step(database, decided.step)
        return True

    def _pod_step(self, database: str, step: Step) -> None:
        world, raft = self.world, Raft(self.world, database)
        if step.action == "start":
            order = list(world.declared)
            needed = max(order.index(name) for name in step.members) + 1
            if needed > self.replicas[database]:
                world.replicas[database] = self.replicas[database] = needed
            events.settle(world)
            events.settle(world)
            for name in step.members:
                if not raft.connected(world.hosts[name]):
                    raise TimedOut(f"{name} did not join: {world.hosts[name].slots[database].waits}.")
            return
        if step.action == "kick":
            kick(world, database, world.hosts[step.members[0]], step)
        elif step.action == "wait":
            self.waits = getattr(self, "waits", 0) + 1
            if self.waits > 3:
                raise TimedOut(f"Gave up: {step.reason}.")
        else:
            for name in step.members:
                world.hosts[name].slots[database].server = None
        events.settle(world)
        events.settle(world)


__all__ = ["OvnError", "PodsRun"]
