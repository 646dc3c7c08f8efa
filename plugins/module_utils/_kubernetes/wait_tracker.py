# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Since when pods are waited for, by the API server's clock. What Kubernetes said before that moment says nothing about this wait.
"""

from __future__ import annotations

import contextlib
import typing as t

from .._errors import OvnError

if t.TYPE_CHECKING:
    from .client import Cluster

ASKED_ANNOTATION = "ovn.c5c3.io/asked"
# Who makes pods did so by now, if nobody refuses them.
_REQUEUE_AFTER = 2.0
_PAUSE = 60.0  # between two looks of one wait there is less, also while a frozen node lets everybody wait

Object = t.Mapping[str, t.Any]


class WaitTracker:
    """The pods of one StatefulSet. Of one that is missing its controller is asked once, because it pauses up to a quarter of an hour."""

    def __init__(self, cluster: Cluster, namespace: str, owner: str, now: t.Callable[[], float]) -> None:
        self.cluster, self.namespace, self.owner, self.now = cluster, namespace, owner, now
        self._seen: dict[str, tuple[str, float]] = {}  # uid, empty if it is missing, and since when
        self._asked: dict[str, float] = {}
        self._checked: dict[str, float] = {}

    def forget(self, members: t.Iterable[str]) -> None:
        """Nobody has to wait for them now."""
        for member in members:
            self._seen.pop(member, None)
            self._asked.pop(member, None)

    def look(self, members: t.Iterable[str], pods: t.Mapping[str, Object]) -> None:
        """At those that are waited for, every few seconds."""
        now = self.now()
        late = []
        for member in members:
            uid = pods[member]["metadata"]["uid"] if member in pods else ""
            pause = now - self._checked.get(member, now)
            self._checked[member] = now
            if member not in self._seen or self._seen[member][0] != uid or pause > _PAUSE:
                self.forget([member])
                self._seen[member] = uid, now
            elif not uid and member not in self._asked and now - self._seen[member][1] >= _REQUEUE_AFTER:
                late.append(member)
        if late:
            self._asked.update(dict.fromkeys(late, now))
            self._requeue_statefulset(now)

    def lasts(self, member: str) -> float:
        """For how many seconds, in this state."""
        return self.now() - self._seen[member][1] if member in self._seen else 0.0

    def since(self, member: str, pod: Object | None) -> float | None:
        """The moment after which events count, None as long as none does."""
        if pod is None:
            return self._asked.get(member)
        uid, moment = self._seen.get(member, ("", 0.0))
        return moment if uid == pod["metadata"]["uid"] else None

    def _requeue_statefulset(self, now: float) -> None:
        """Any change makes the controller look at once. Not of the template: that would replace pods."""
        patch = {"metadata": {"annotations": {ASKED_ANNOTATION: f"{now:.0f}"}}}
        with contextlib.suppress(OvnError):  # then it tries again by itself, only later
            self.cluster.patch("apps/v1", "StatefulSet", self.owner, self.namespace, patch)
