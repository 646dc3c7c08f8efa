# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait for one member to join: its state meanwhile, and the resync or recreation of its pod."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Conflict, Refused
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.stuck_pods import delete_stuck_pod, is_stuck
from .._raft.record import Record
from .examine_pod import ParsedExamination

if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster

Pod = dict[str, t.Any]

# The kubelet mounts a new record within a second of the annotation, but may have synced before it knew of the record.
_RESYNC_AGAIN = 5.0
# The launcher reads the record every 3 s. If it waits longer than this, it goes on waiting.
_WAITING_SECONDS = 10.0
# A pod that waits with an old record this long is recreated: a new pod mounts the new record.
_RECREATE_SECONDS = 20.0


class PodActions(t.Protocol):
    """The actions on the pods of a database that a wait needs."""

    cluster: Cluster
    namespace: str

    def examine(self, members: t.Sequence[str], deadline: Deadline) -> dict[str, ParsedExamination]: ...

    def outdated(self, pods: t.Mapping[str, Pod]) -> t.Collection[str]: ...

    def check_lease(self) -> None: ...

    def annotate_to_resync_one(self, member: str, value: str) -> None: ...


class JoinWait:
    """Waits for one member to take part; resyncs or recreates its pod where only that helps."""

    def __init__(self, members: PodActions, member: str, record: Record, deadline: Deadline) -> None:
        self.members, self.member, self.record, self.deadline = members, member, record, deadline
        self.last = "it has no pod"
        self.uid = ""
        self.since = time.monotonic()  # of this pod
        self.resynced = self.since
        self.resyncs = 0
        self.waiting_since: float | None = None  # since when the launcher waits although this record is mounted

    def has_joined(self, pod: Pod | None, parsed: ParsedExamination | None) -> bool:
        """Return whether it takes part. A terminating pod is not deleted once more: that would hide that it does not end."""
        if pod is None:
            self.last = "it has no pod"
            return False
        now = time.monotonic()
        if pod["metadata"]["uid"] != self.uid:
            self.uid, self.since, self.waiting_since = pod["metadata"]["uid"], now, None
        if parsed is None:
            self.last = "its pod does not run yet"
            # A crashed container starts again by itself, and may serve then.
            if is_stuck(pod) and self.members.outdated({self.member: pod}):
                self.members.check_lease()
                delete_stuck_pod(self.members.cluster, pod)
            return False
        if parsed.answer.server is not None and parsed.answer.server.connected:
            return True
        if parsed.running:
            status = parsed.answer.status
            self.last = f'its status is "{status.status}"' if status else "its server reads the file"
            self.waiting_since = None
        elif (parsed.revision or 0) < self.record.revision:
            self.last = f"revision {self.record.revision} of the record is not mounted in its pod yet"
            if not is_terminating(pod):
                self._resync_record(now)
        else:
            self.last = (parsed.file.get("reason") or parsed.waiting or parsed.problem or "its launcher waits").rstrip(
                "."
            )
            self._refuse_if_waiting(now, parsed)
        return False

    def _resync_record(self, now: float) -> None:
        if now - self.since > _RECREATE_SECONDS:
            self._recreate_pod()
        elif now - self.resynced > _RESYNC_AGAIN:
            self.resynced, self.resyncs = now, self.resyncs + 1
            self.members.annotate_to_resync_one(self.member, f"{self.record.revision}.{self.resyncs}")

    def _refuse_if_waiting(self, now: float, parsed: ParsedExamination) -> None:
        """Raise `Refused` if the launcher waits although it has read this record: it has a reason."""
        waits = parsed.waiting or (parsed.file.get("reason") if parsed.decision in ("ask", "refuse", "idle") else "")
        if not waits:
            self.waiting_since = None
            return
        self.waiting_since = self.waiting_since or now
        if now - self.waiting_since > _WAITING_SECONDS:
            raise Refused(f"The launcher of {self.member} does not start it: {waits.strip()}")

    def _recreate_pod(self) -> None:
        """Delete the pod unless its server runs or the record has come meanwhile: examine it once more first."""
        parsed = self.members.examine([self.member], self.deadline).get(self.member)
        if parsed is None or parsed.running or (parsed.revision or 0) >= self.record.revision:
            return
        self.members.check_lease()
        with contextlib.suppress(Conflict):  # there is a new one already
            self.members.cluster.delete("v1", "Pod", self.member, self.members.namespace, uid=self.uid)
        self.since = time.monotonic()
