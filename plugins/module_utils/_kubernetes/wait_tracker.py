# SPDX-License-Identifier: GPL-3.0-or-later
"""Tracks since when pods are waited for, by the API server's clock. Older events of Kubernetes say nothing about this wait."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from .._base.errors import OvnError
from .apply import ObjectChange, as_results, diff_of, merge_changes

# What a run has done so far. It grows as the run goes on, so that a failure can report what was done before it.


@dataclasses.dataclass
class Progress:
    """`done` are the objects that were compared or changed, `steps` what was done besides, in order; in check mode what would be done."""

    done: list[ObjectChange] = dataclasses.field(default_factory=list)
    steps: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)

    @property
    def changed(self) -> bool:
        return bool(self.steps) or any(change.action != "unchanged" for change in self.done)

    def has_changed(self, kind: str, name: str | None = None) -> bool:
        """Return whether an object of this kind, and of this name if one is given, is not as it was read any more."""
        return any(
            change.kind == kind and name in (None, change.name) and change.action != "unchanged" for change in self.done
        )

    def last(self, kind: str, name: str) -> ObjectChange | None:
        """Return what was done last to an object of this kind and name, None if nothing was."""
        return next((one for one in reversed(self.done) if (one.kind, one.name) == (kind, name)), None)

    def warn(self, message: str) -> None:
        """Add a warning, once: a run that looks again finds the same."""
        if message not in self.warnings:
            self.warnings.append(message)

    def as_results(self) -> list[dict[str, str]]:
        """Return the value `objects` of a module: each object once."""
        return as_results(merge_changes(self.done))

    def diff(self, settings: t.Mapping[str, t.Mapping[str, t.Any]] | None = None) -> dict[str, t.Any]:
        """Return the value `diff` of a module; `settings` of databases have the keys `before` and `after`."""
        return diff_of(self.done, steps=self.steps, settings=settings)


if t.TYPE_CHECKING:
    from .client import Cluster

REQUEUE_ANNOTATION = "ovn.c5c3.io/asked"
# By now the controller has created the pod, unless it was refused.
_REQUEUE_AFTER = 2.0
_PAUSE = 60.0  # two observations of one wait are closer together, also while a frozen node delays the run

Object = t.Mapping[str, t.Any]


class WaitTracker:
    """The pods of one StatefulSet. For a missing one the StatefulSet is requeued once, because its controller pauses up to 15 minutes."""

    def __init__(self, cluster: Cluster, namespace: str, owner: str, now: t.Callable[[], float]) -> None:
        self.cluster, self.namespace, self.owner, self.now = cluster, namespace, owner, now
        self._states: dict[str, tuple[str, float]] = {}  # uid, empty if it is missing, and since when
        self._requeued: dict[str, float] = {}
        self._observed_at: dict[str, float] = {}

    def reset(self, members: t.Iterable[str]) -> None:
        """Stop tracking these members: they need not be waited for now."""
        for member in members:
            self._states.pop(member, None)
            self._requeued.pop(member, None)

    def observe(self, members: t.Iterable[str], pods: t.Mapping[str, Object]) -> None:
        """Update the members that are waited for; call it every few seconds."""
        now = self.now()
        late = []
        for member in members:
            uid = pods[member]["metadata"]["uid"] if member in pods else ""
            pause = now - self._observed_at.get(member, now)
            self._observed_at[member] = now
            if member not in self._states or self._states[member][0] != uid or pause > _PAUSE:
                self.reset([member])
                self._states[member] = uid, now
            elif not uid and member not in self._requeued and now - self._states[member][1] >= _REQUEUE_AFTER:
                late.append(member)
        if late:
            self._requeued.update(dict.fromkeys(late, now))
            self._requeue_statefulset(now)

    def seconds_waited(self, member: str) -> float:
        """Return for how many seconds the member has been waited for in its present state."""
        return self.now() - self._states[member][1] if member in self._states else 0.0

    def since(self, member: str, pod: Object | None) -> float | None:
        """Return the time after which events count, None as long as none does."""
        if pod is None:
            return self._requeued.get(member)
        uid, moment = self._states.get(member, ("", 0.0))
        return moment if uid == pod["metadata"]["uid"] else None

    def _requeue_statefulset(self, now: float) -> None:
        """Annotate the StatefulSet: any change requeues it. The template stays, because a change there would replace pods."""
        patch = {"metadata": {"annotations": {REQUEUE_ANNOTATION: f"{now:.0f}"}}}
        with contextlib.suppress(OvnError):  # then the controller retries by itself, only later
            self.cluster.patch("apps/v1", "StatefulSet", self.owner, self.namespace, patch)
