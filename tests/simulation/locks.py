"""The right to act in the model, decided by the product: a lock on each machine (`_raft/lock.py`), a Lease in Kubernetes (`_kubernetes/lease.py`)."""

from __future__ import annotations

import datetime
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.lease import RunLease, seconds_left
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import format_timestamp
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.lock import Clock, Lock, LockRequest, check_held, renewed

from .world import LOCK_SECONDS, Held, Violation, World

_EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_BOOT = "since the host was switched on"  # a host that is switched off loses its lock
_PATH = "run.lock"


class RunLock(t.Protocol):
    """What one run holds."""

    def acquire_or_renew(self, step: str) -> bool:
        """As `RaftBackend.acquire`."""

    def check(self, name: str) -> None:
        """Immediately before this run acts on this host: raise what the product raises if it may not."""

    def release(self) -> None: ...


def run_lock(world: World, holder: str, hosts: t.Sequence[str]) -> RunLock:
    """`hosts` are those that the run reaches, former ones included."""
    return PodsLock(world, holder) if world.pods else MachineLocks(world, holder, hosts)


class MachineLocks:
    """The same lock on every host of a run."""

    def __init__(self, world: World, holder: str, hosts: t.Sequence[str]) -> None:
        self.world, self.hosts = world, hosts
        self.request = LockRequest(holder, seconds=LOCK_SECONDS)
        self.acquired = False

    def acquire_or_renew(self, step: str) -> bool:
        """Acquire it at the start of a run; each round renews it, and goes on with what it has observed under it."""
        for name in self.hosts if not self.acquired else ():
            current = self._current(name)
            if self.request.yields_to(
                current, self._clock()
            ):  # what it has acquired elsewhere it releases, and it has changed nothing
                raise Refused(f"Another run works on this control plane: {current and current.holder}. Wait for it.")
        for name in self.hosts:
            current, clock = self._current(name), self._clock()
            self._store(
                name, renewed(current, self.request, clock, _PATH) if self.acquired else self.request.lock(clock)
            )
        fresh, self.acquired = not self.acquired, True
        return fresh

    def check(self, name: str) -> None:
        check_held(self._current(name), self.request.holder, self._clock(), _PATH)
        _require(self.world, self.world.hosts[name].lock, self.request.holder)

    def release(self) -> None:
        for name in self.hosts:
            held = self.world.hosts[name].lock
            if held is not None and held.holder == self.request.holder:
                self.world.hosts[name].lock = None

    def _clock(self) -> Clock:
        return Clock(self.world.now, _BOOT)

    def _current(self, name: str) -> Lock | None:
        held = self.world.hosts[name].lock
        return Lock(held.holder, "", held.expires, _BOOT) if held is not None else None

    def _store(self, name: str, lock: Lock) -> None:
        host = self.world.hosts[name]
        note_holder(self.world, host.lock, lock.holder)
        host.lock = Held(lock.holder, int(lock.expires))


class PodsLock:
    """One Lease for all databases of a control plane."""

    def __init__(self, world: World, holder: str) -> None:
        self.world, self.holder = world, holder
        self.lease = _Lease(
            t.cast(Cluster, _ApiServer(world)), "run", "x", {}, holder, break_lock=False, clock=lambda: world.now
        )

    def acquire_or_renew(self, step: str) -> bool:
        return self.lease.acquire_or_renew(step)

    def check(self, name: str) -> None:
        self.lease.check()
        _require(self.world, self.world.lease, self.holder)

    def release(self) -> None:
        if self.world.lease is not None and self.world.lease.holder == self.holder:
            self.world.lease = None


class _Lease(RunLease):
    """Of a run in which every step is shorter than the Lease lasts, so that it renews nothing in between."""

    def _start_renewing(self) -> None:
        pass


class _ApiServer:
    """What `RunLease` asks of the API server."""

    def __init__(self, world: World) -> None:
        self.world = world

    def get(self, _api: str, _kind: str, _name: str, _namespace: str) -> dict[str, t.Any] | None:
        held = self.world.lease
        if held is None:
            return None
        spec = {
            "holderIdentity": held.holder,
            "renewTime": self._time(),
            "leaseDurationSeconds": held.expires - self.world.now,
        }
        return {"metadata": {"resourceVersion": held.version}, "spec": spec}

    def apply(self, _body: t.Mapping[str, t.Any], *, dry_run: bool) -> dict[str, t.Any]:
        return {"metadata": {"creationTimestamp": self._time()}}

    def create(self, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if self.world.lease is not None:
            raise Conflict("It exists.")
        return self._store(body)

    def replace(self, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if self.world.lease is None or self.world.lease.version != body["metadata"]["resourceVersion"]:
            raise Conflict("It was changed meanwhile.")
        return self._store(body)

    def _store(self, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        holder, before = body["spec"]["holderIdentity"], self.world.lease
        note_holder(self.world, before, holder)
        left = int(seconds_left(body["spec"], _EPOCH + datetime.timedelta(seconds=self.world.now)))
        self.world.lease = Held(holder, self.world.now + left, before.version + 1 if before is not None else 1)
        return {"metadata": {"resourceVersion": self.world.lease.version}}

    def _time(self) -> str:
        return format_timestamp(_EPOCH + datetime.timedelta(seconds=self.world.now))


def note_holder(world: World, before: Held | None, holder: str) -> None:
    """A run that acquires what it did not hold may find everything changed."""
    if before is not None and before.holder not in (holder, "") and before.expires > world.now:
        raise Violation(f"{holder} acquires the lock that another run holds")
    if before is None or before.holder != holder:
        world.acquisitions += 1


def _require(world: World, held: Held | None, holder: str) -> None:
    """C1, R31: whatever the product has decided."""
    if held is None or held.holder != holder or held.expires <= world.now:
        raise Violation("a run acts although it does not hold the lock now")
