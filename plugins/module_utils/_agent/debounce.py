# SPDX-License-Identifier: GPL-3.0-or-later
"""Debounces what the observer publishes: a state that may be transient, such as an election, is published only when it lasts. Pure."""

from __future__ import annotations

import typing as t

from .._api.leader_labels import leader_of
from .._api.status import pod_of
from .._raft.answer import Answer
from .._raft.lag import Sample, align_indexes
from .._raft.verdict import Verdict, assess

# Seconds: the floor for fast election timers on slow machines.
_WAITING_SECONDS = 3.0
_NORTHD_PATIENCE = 5.0


class VerdictDebouncer:
    """Debounces the verdicts of one database with `members` members."""

    def __init__(self, members: int) -> None:
        self._members = members
        self._published: Verdict | None = None
        self._doubt_since: float | None = None

    def debounce(
        self,
        answers: t.Sequence[Answer],
        indexes: t.Mapping[str, t.Sequence[Sample]],
        cluster_id: str | None,
        election_timer: int,
        now: float,
    ) -> tuple[Verdict, bool]:
        """Return the verdict to publish, and whether it is the current one. A transient state counts after three election timers, at least 3 s.

        `election_timer` in milliseconds, `now` in seconds of a monotonic clock.
        """
        verdict = assess(align_indexes(answers, indexes), self._members, cluster_id)
        if not verdict.transient or (self._published is not None and not self._published.writable):
            self._published, self._doubt_since = verdict, None
            return verdict, not verdict.transient
        if self._doubt_since is None:
            self._doubt_since = now
        if now - self._doubt_since > max(_WAITING_SECONDS, 3 * election_timer / 1000):
            self._published = verdict
            return verdict, True
        return self._published or verdict, False

    @property
    def unsettled(self) -> bool:
        """Return whether another round is needed soon, even without an event."""
        return self._doubt_since is not None


class ActiveNorthd:
    """Debounces which northd is active. The next one takes over within milliseconds, its label follows a little later."""

    def __init__(self) -> None:
        self._last: t.Sequence[str] = ()
        self._gone_since: float | None = None

    def debounce(self, active: t.Sequence[str] | None, now: float) -> tuple[t.Sequence[str] | None, bool]:
        """Return the active pods to publish (None: not known), and whether they are the current ones. `now` in seconds of a monotonic clock."""
        if active is None or active:
            self._last, self._gone_since = active or (), None
            return active, True
        if self._gone_since is None:
            self._gone_since = now
        if self._last and now - self._gone_since <= _NORTHD_PATIENCE:
            return self._last, False
        self._last = ()
        return active, True


def leading_pod(verdict: Verdict) -> str | None:
    """Return the pod that gets the leader label, None if no member leads."""
    leader = leader_of(verdict)
    return pod_of(leader) if leader else None
