# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One run at a time: a Lease (coordination.k8s.io), shared by playbooks and operators. It is a courtesy; safety of a control plane rests on gates,
resource versions and the one-shot permit.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
import time
import typing as t

from .._control_node import has_ended, run_name
from .._deadline import Deadline
from .._errors import Changed, Conflict, OvnError, Refused
from .client import Cluster
from .moment import format_moment, parse_moment

_API = "coordination.k8s.io/v1"
# Short, so that a killed run keeps nobody out for long; renewed meanwhile, so that a long wait does not lose it.
_SECONDS = 90
_RENEWED_EVERY = 20.0
_LOOKS_EVERY = 2.0  # for another run to end


def identity(now: datetime.datetime) -> str:
    """Who runs: time, host and process, with what tells a later run on the same host whether that process still exists."""
    return run_name(format_moment(now))


def _now() -> float:
    """Seconds of a clock that also counts while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def seconds_left(spec: t.Mapping[str, t.Any], now: datetime.datetime) -> float:
    """How long a Lease still counts; not positive if it is free or has expired."""
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return 0.0
    end = parse_moment(spec["renewTime"]) + datetime.timedelta(seconds=spec.get("leaseDurationSeconds") or _SECONDS)
    return (end - now).total_seconds()


class RunLease:
    """Taken when there is something to do, renewed by each step, given back at the end."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        namespace: str,
        labels: dict[str, str],
        holder: str,
        *,
        break_lock: bool,
        what: str = "this control plane",
        patience: Deadline | None = None,
    ) -> None:
        """`what` it guards, in words. With `patience` another run is waited for until then, without it the first answer counts."""
        self.cluster, self.holder, self.break_lock, self.what = cluster, holder, break_lock, what
        self.name, self.namespace, self.patience = name, namespace, patience
        self.notes: list[str] = []  # what became of the runs before
        self.metadata: dict[str, t.Any] = {"name": name, "namespace": namespace, "labels": labels}
        self.held: dict[str, t.Any] | None = None
        self._renewed = 0.0  # before the last request that renewed it was sent
        self._lapsed = False  # it was renewed later than it lasts
        self._turn = threading.Lock()  # a thread of its own renews it, too
        self._step, self._over = "", threading.Event()

    def _body(self, step: str, now: datetime.datetime, holder: str | None) -> dict[str, t.Any]:
        stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": _API,
            "kind": "Lease",
            "metadata": {**self.metadata, "annotations": {"ovn.c5c3.io/step": step}},
            "spec": {"holderIdentity": holder or "", "leaseDurationSeconds": _SECONDS, "renewTime": stamp},
        }

    def server_time(self) -> datetime.datetime:
        """By the API server's clock: what it would stamp on a new object."""
        probe = {
            "apiVersion": _API,
            "kind": "Lease",
            "metadata": {**self.metadata, "name": f"{self.name}-clock"},
        }
        return parse_moment(self.cluster.apply(probe, dry_run=True)["metadata"]["creationTimestamp"])

    def acquire_or_renew(self, step: str) -> bool:
        """Take or renew it. True: it was not held all the time, so what was observed before may be outdated. `Refused` names who has it."""
        with self._turn:
            return self._take(step)

    def check(self) -> None:
        """To be called immediately before each act: `Changed` if the Lease has lapsed since the last call, for example while this process slept."""
        with self._turn:
            if self.held is None:
                raise Refused(
                    f"The Lease {self.name} is not held any more. Nothing was changed by this step; run again."
                )
            if _now() - self._renewed > _SECONDS:
                self._write(self._body(self._step, self.server_time(), self.holder), self.held)
            lapsed, self._lapsed = self._lapsed, False
        if lapsed:
            raise Changed(f"The Lease {self.name} lapsed before this step: {self._step}.")

    def _take(self, step: str) -> bool:
        self._step, now = step, self.server_time()
        if self.held is not None:
            self._write(self._body(step, now, self.holder), self.held)
            lapsed, self._lapsed = self._lapsed, False
            return lapsed
        asked = _now()
        live = self._await_free(now)
        if _now() - asked > _LOOKS_EVERY:  # it was waited for
            now = self.server_time()
        self._write(self._body(step, now, self.holder), live)
        threading.Thread(target=self._keep, daemon=True).start()
        return True

    def _await_free(self, now: datetime.datetime) -> dict[str, t.Any] | None:
        """The Lease as it is when it may be taken: nobody holds it any more, or its holder has ended on this machine, or it shall be taken over."""
        begun = time.monotonic()
        while True:
            live = self.cluster.get(_API, "Lease", self.name, self.namespace)
            spec = (live or {}).get("spec") or {}
            left = seconds_left(spec, now)
            waited = time.monotonic() - begun
            if live is None or left <= 0 or self.break_lock:
                if waited > _LOOKS_EVERY:
                    self.notes.append(f"Waited {waited:.0f} s for another run on {self.what} to end.")
                return live
            holder = str(spec["holderIdentity"])
            if has_ended(holder):
                self.notes.append(f'The run "{holder}" was killed. Its Lease {self.name} was taken over.')
                return live
            patience = self.patience.left() if self.patience else 0.0
            if patience <= 0:
                doing = (live["metadata"].get("annotations") or {}).get("ovn.c5c3.io/step", "")
                raise Refused(
                    f'Another run works on {self.what}: "{holder}", step "{doing}". Wait for it. If it is dead, the Lease '
                    f"{self.name} expires in {int(left) + 1} s; to go on at once set break_lock=true.",
                    holder=holder,
                )
            time.sleep(min(_LOOKS_EVERY, patience))
            now = self.server_time()

    def _keep(self) -> None:
        """Renews it until it is given back. Who has lost it, or reaches no API server, learns that at the next step."""
        while not self._over.wait(_RENEWED_EVERY):
            with self._turn, contextlib.suppress(OvnError):
                if self.held is not None:
                    self._write(self._body(self._step, self.server_time(), self.holder), self.held)

    def _write(self, body: dict[str, t.Any], live: dict[str, t.Any] | None) -> None:
        now = _now()
        try:
            if live is None:
                self.held = self.cluster.create(body)
            else:
                body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
                self.held = self.cluster.replace(body)
        except Conflict as e:
            raise Refused(
                f"Another run took the Lease {self.name} at this moment. Nothing was changed by this step; run again when it is done.",
                holder="",
            ) from e
        if self._renewed and now - self._renewed > _SECONDS:
            self._lapsed = True
        self._renewed = now

    def release(self) -> None:
        """Give it back if it is ours. Who was overtaken has nothing to give back, and without an API server it expires by itself."""
        held = self._end()
        if held is not None:
            self._give_back(held)

    def _give_back(self, held: dict[str, t.Any]) -> None:
        with contextlib.suppress(OvnError):
            body = self._body("", self.server_time(), None)
            body["metadata"]["resourceVersion"] = held["metadata"]["resourceVersion"]
            self.cluster.replace(body)

    def remove(self) -> None:
        """Give it back for good if it is ours: there is nothing left that runs would change. Nobody can have taken it meanwhile."""
        held = self._end()
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
            self._give_back(held)

    def _end(self) -> dict[str, t.Any] | None:
        """No longer renewed; as it was written last, None if it is not ours."""
        self._over.set()
        with self._turn:
            held, self.held = self.held, None
        return held


def check_lease(lease: RunLease) -> None:
    """To be called before objects are changed or deleted by what was looked at earlier. A run without the Lease changes nothing that matters."""
    if lease.held is None:
        return
    try:
        lease.check()
    except Changed as e:
        raise Refused(f"{e} Another run may have acted meanwhile. Nothing was changed by this step; run again.") from e
