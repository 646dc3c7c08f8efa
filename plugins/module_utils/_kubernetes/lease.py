# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time: a Lease (coordination.k8s.io), shared by playbooks and operators. It is advisory; the safety of a control plane rests on gates,
resource versions and the one-shot permit.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import threading
import time
import typing as t

from .._base.control_node import has_ended, run_name
from .._base.deadline import Deadline, report_progress
from .._base.errors import Changed, Conflict, InvalidInput, OvnError, Refused
from .client import Cluster
from .timestamps import format_timestamp, parse_timestamp

# One of several processes leads: an election by a Lease.

try:
    import kubernetes
    import urllib3
    from kubernetes.client.exceptions import ApiException
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
except ImportError as e:
    _PROBLEM = str(e)
else:
    _PROBLEM = ""

# As the controllers of Kubernetes have them: seconds that a dead leader is waited for, that a leader tries to renew, and between two attempts.
_LEASE, _RENEWAL, _RETRY = 15, 10, 2
_TIMEOUT = 4.0  # seconds for one answer of the API server: two attempts fit into a renewal


class _TimedApi:
    """The API with a limit for each request."""

    def __init__(self, api: t.Any) -> None:
        self._api = api

    def __getattr__(self, name: str) -> t.Any:
        return functools.partial(getattr(self._api, name), _request_timeout=(_TIMEOUT, _TIMEOUT))


class _PatientLock:
    """The lock of the library, for which an API server that does not answer is a failed attempt and no end."""

    def __init__(self, name: str, namespace: str, identity: str) -> None:
        self.name, self.namespace, self.identity = name, namespace, identity
        self._lock = LeaseLock(name, namespace, identity)
        self._lock.api_instance = _TimedApi(self._lock.api_instance)

    def get(self, *arguments: t.Any) -> t.Any:
        try:
            return self._lock.get(*arguments)
        except (urllib3.exceptions.HTTPError, OSError) as e:
            return False, ApiException(reason=str(e))

    def create(self, *arguments: t.Any, **options: t.Any) -> t.Any:
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
            return self._lock.create(*arguments, **options)
        return False

    def update(self, *arguments: t.Any) -> t.Any:
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
            return self._lock.update(*arguments)
        return False


def lead(
    name: str, namespace: str, identity: str, on_start: t.Callable[[], None], on_stop: t.Callable[[], None]
) -> None:
    """Wait until this process leads, then run `on_start` in a thread; call `on_stop` and return once it leads no more, or if `on_start` has raised an error."""
    if _PROBLEM:
        raise InvalidInput(
            f"The election of a leader needs the Python library kubernetes, version 36 or newer ({_PROBLEM})."
        )
    kubernetes.config.load_config()
    config = electionconfig.Config(
        _PatientLock(name, namespace, identity),
        _LEASE,
        _RENEWAL,
        _RETRY,
        onstarted_leading=on_start,
        onstopped_leading=on_stop,
    )
    leaderelection.LeaderElection(config).run()


_API = "coordination.k8s.io/v1"
# Short, so that a killed run does not block others for long; renewed every 20 s, so that it does not expire during a long wait.
_SECONDS = 90
_RENEWED_EVERY = 20.0
_POLL_EVERY = 2.0  # for another run to end


def holder_identity(now: datetime.datetime) -> str:
    """Return the holder identity of this run: time, host and process. A later run on the same host can tell from it whether the process exists."""
    return run_name(format_timestamp(now))


def _now() -> float:
    """Return the seconds of a clock that also counts while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def seconds_left(spec: t.Mapping[str, t.Any], now: datetime.datetime) -> float:
    """Return the seconds until a Lease expires; not positive if it is free or has expired."""
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return 0.0
    end = parse_timestamp(spec["renewTime"]) + datetime.timedelta(seconds=spec.get("leaseDurationSeconds") or _SECONDS)
    return (end - now).total_seconds()


class RunLease:
    """Acquired when there is something to do, renewed by each step and every 20 s, released at the end."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        namespace: str,
        labels: dict[str, str],
        holder: str,
        *,
        break_lock: bool,
        subject: str = "this control plane",
        patience: Deadline | None = None,
        clock: t.Callable[[], float] = _now,
    ) -> None:
        """`subject` is what it guards, for messages. With `patience` another run is waited for until then, without it there is no wait."""
        self.clock = clock
        self.cluster, self.holder, self.break_lock, self.subject = cluster, holder, break_lock, subject
        self.name, self.namespace, self.patience = name, namespace, patience
        self.notes: list[str] = []  # warnings about earlier runs that held it
        self.metadata: dict[str, t.Any] = {"name": name, "namespace": namespace, "labels": labels}
        self.held: dict[str, t.Any] | None = None
        self._renewed = 0.0  # before the last request that renewed it was sent
        self._expired = False  # it was renewed only after it had expired
        self._mutex = threading.Lock()  # a thread of its own renews it, too
        self._step, self._released = "", threading.Event()

    def _body(self, step: str, now: datetime.datetime, holder: str | None) -> dict[str, t.Any]:
        stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": _API,
            "kind": "Lease",
            "metadata": {**self.metadata, "annotations": {"ovn.c5c3.io/step": step}},
            "spec": {"holderIdentity": holder or "", "leaseDurationSeconds": _SECONDS, "renewTime": stamp},
        }

    def server_time(self) -> datetime.datetime:
        """Return the API server's time: the creationTimestamp that it would give a new object."""
        probe = {
            "apiVersion": _API,
            "kind": "Lease",
            "metadata": {**self.metadata, "name": f"{self.name}-clock"},
        }
        return parse_timestamp(self.cluster.apply(probe, dry_run=True)["metadata"]["creationTimestamp"])

    def acquire_or_renew(self, step: str) -> bool:
        """Acquire or renew it. True: it was not held all the time, so the observed state may be outdated. `Refused` names the holder."""
        with self._mutex:
            return self._acquire_or_renew(step)

    def check(self) -> None:
        """Call it immediately before each action: `Changed` if the Lease has expired since the last call, for example while this process slept."""
        with self._mutex:
            if self.held is None:
                raise Refused(
                    f"The Lease {self.name} is not held any more. Nothing was changed by this step; run again."
                )
            if self.clock() - self._renewed > _SECONDS:
                self._write(self._body(self._step, self.server_time(), self.holder), self.held)
            expired, self._expired = self._expired, False
        if expired:
            raise Changed(f"The Lease {self.name} expired before this step: {self._step}.")

    def _acquire_or_renew(self, step: str) -> bool:
        report_progress(step)
        self._step, now = step, self.server_time()
        if self.held is not None:
            self._write(self._body(step, now, self.holder), self.held)
            expired, self._expired = self._expired, False
            return expired
        asked = self.clock()
        observed = self._await_free(now)
        if self.clock() - asked > _POLL_EVERY:  # it was waited for
            now = self.server_time()
        self._write(self._body(step, now, self.holder), observed)
        self._start_renewing()
        return True

    def _await_free(self, now: datetime.datetime) -> dict[str, t.Any] | None:
        """Return the Lease when it may be acquired: it is free or expired, its holder has ended on this machine, or `break_lock` is set."""
        begun = time.monotonic()
        while True:
            observed = self.cluster.get(_API, "Lease", self.name, self.namespace)
            spec = (observed or {}).get("spec") or {}
            left = seconds_left(spec, now)
            waited = time.monotonic() - begun
            if observed is None or left <= 0 or self.break_lock:
                if waited > _POLL_EVERY:
                    self.notes.append(f"Waited {waited:.0f} s for another run on {self.subject} to end.")
                return observed
            holder = str(spec["holderIdentity"])
            if has_ended(holder):
                self.notes.append(f'The run "{holder}" was killed. Its Lease {self.name} was taken over.')
                return observed
            patience = self.patience.left() if self.patience else 0.0
            if patience <= 0:
                doing = (observed["metadata"].get("annotations") or {}).get("ovn.c5c3.io/step", "")
                raise Refused(
                    f'Another run works on {self.subject}: "{holder}", step "{doing}". Wait for it. If it is dead, the Lease '
                    f"{self.name} expires in {int(left) + 1} s; to go on at once set break_lock: true (ovn_break_lock).",
                    holder=holder,
                )
            report_progress(f'wait for the run "{holder}" on {self.subject}')
            time.sleep(min(_POLL_EVERY, patience))
            now = self.server_time()

    def _start_renewing(self) -> None:
        threading.Thread(target=self._renew_periodically, daemon=True).start()

    def _renew_periodically(self) -> None:
        """Renew it until it is released. A Lease that was lost, or an API server that is not reachable, is noticed at the next step."""
        while not self._released.wait(_RENEWED_EVERY):
            with self._mutex, contextlib.suppress(OvnError):
                if self.held is not None:
                    self._write(self._body(self._step, self.server_time(), self.holder), self.held)

    def _write(self, body: dict[str, t.Any], observed: dict[str, t.Any] | None) -> None:
        now = self.clock()
        try:
            if observed is None:
                self.held = self.cluster.create(body)
            else:
                body["metadata"]["resourceVersion"] = observed["metadata"]["resourceVersion"]
                self.held = self.cluster.replace(body)
        except Conflict as e:
            raise Refused(
                f"Another run acquired the Lease {self.name} at this moment. Nothing was changed by this step; run again when it is done.",
                holder="",
            ) from e
        if self._renewed and now - self._renewed > _SECONDS:
            self._expired = True
        self._renewed = now

    def release(self) -> None:
        """Release it if this run holds it. Without an API server it expires by itself."""
        held = self._stop_renewing()
        if held is not None:
            self._write_released(held)

    def _write_released(self, held: dict[str, t.Any]) -> None:
        with contextlib.suppress(OvnError):
            body = self._body("", self.server_time(), None)
            body["metadata"]["resourceVersion"] = held["metadata"]["resourceVersion"]
            self.cluster.replace(body)

    def delete(self) -> None:
        """Delete it if this run holds it: there is nothing left that runs would change. `Conflict` shows that another run has acquired it meanwhile."""
        held = self._stop_renewing()
        if held is None:
            return
        metadata = held["metadata"]
        try:
            self.cluster.delete(
                _API,
                "Lease",
                self.name,
                self.namespace,
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except Conflict:
            return  # it is another run's
        except OvnError:
            self._write_released(held)

    def _stop_renewing(self) -> dict[str, t.Any] | None:
        """Stop renewing it and return it as it was written last, None if this run does not hold it."""
        self._released.set()
        with self._mutex:
            held, self.held = self.held, None
        return held


def check_lease(lease: RunLease) -> None:
    """Call it before objects are changed or deleted because of an earlier observation; `Refused` if the Lease has expired since.

    A run that never acquired the Lease had nothing to change that needs it.
    """
    if lease.held is None:
        return
    try:
        lease.check()
    except Changed as e:
        raise Refused(f"{e} Another run may have acted meanwhile. Nothing was changed by this step; run again.") from e
