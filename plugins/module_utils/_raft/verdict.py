# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict about one Raft database from the answers of all its members.

What counts as evidence, strongest first:

* The leader's own list with fresh messages of a majority: an isolated leader keeps calling itself leader, but its list grows old.
  A member that did not answer only counts as heard if the leader heard it within one election timer.
* `connected` of a majority of the members, where no list is known (`_Server` only).
* A follower that heard its leader within one election timer: a leader without a majority steps down, so that one has it. The verdict
  is `degraded` then, because nothing is known of the others.

A member's word about itself is never enough, and neither is a follower's list: it shows old values of the other followers.
A problem spoils `healthy`, a warning does not.
"""

from __future__ import annotations

import typing as t

from .answer import Answer
from .cluster_checks import ClusterChecks
from .findings import Health, Reason, VerdictFindings
from .member_checks import MemberChecks
from .view import build_view

CERTIFICATE_DAYS = 14


class Verdict(t.NamedTuple):
    """`as_dict` has the names of the module's return values. `transient`: may look different a moment later, so ask again."""

    verdict: Health
    writable: bool
    reasons: tuple[Reason, ...]
    cluster_id: str | None = None
    leader: str | None = None
    term: int | None = None
    election_timer: int | None = None
    members: tuple[dict[str, t.Any], ...] = ()
    ghosts: tuple[dict[str, t.Any], ...] = ()
    raw_read_only: bool = False
    transient: bool = False

    @property
    def healthy(self) -> bool:
        return self.verdict in ("healthy", "standalone")

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "verdict": self.verdict,
            "healthy": self.healthy,
            "writable": self.writable,
            "raw_read_only": self.raw_read_only,
            "reasons": [reason.as_dict() for reason in self.reasons],
            "cluster_id": self.cluster_id,
            "leader": self.leader,
            "term": self.term,
            "election_timer": self.election_timer,
            "members": list(self.members),
            "ghosts": list(self.ghosts),
        }

    def describe(self) -> str:
        """Return the verdict in one line, problems first."""
        ordered = sorted(self.reasons, key=lambda reason: reason.severity == "warning")
        return f"{self.verdict}: {' '.join(reason.message for reason in ordered)}" if ordered else self.verdict


def assess(
    answers: t.Sequence[Answer],
    expected_members: int | None = None,
    expected_cluster_id: str | None = None,
    *,
    earlier: t.Sequence[t.Sequence[Answer]] = (),
    certificate_days: float = CERTIFICATE_DAYS,
) -> Verdict:
    """Return the verdict on one sample. `earlier` samples, a moment apart, distinguish blocked writes from a busy database."""
    view = build_view(answers, expected_cluster_id)
    findings = VerdictFindings(
        view, expected_members, [build_view(sample, expected_cluster_id) for sample in earlier], certificate_days
    )
    cluster, members = ClusterChecks(findings), MemberChecks(findings)
    health, writable = cluster.state()
    ghosts = members.ghosts()
    members.check_unresponsive()
    members.check_each(ghosts)
    members.check_configuration(ghosts)
    members.check_surroundings()
    if health == "healthy":
        health = cluster.lower_health()
    if cluster.diverged() and health not in ("split", "no_quorum"):
        health = "diverged"
    leader = view.leader
    return Verdict(
        verdict=health,
        writable=writable,
        reasons=tuple(dict.fromkeys(findings.reasons)),
        cluster_id=view.cluster_id,
        leader=leader.member if leader else cluster.leader_heard_by_members(),
        term=max((a.status.term for a in view.members if a.status), default=None),
        election_timer=view.election_timer,
        members=tuple(members.describe_all(ghosts)),
        ghosts=tuple(members.describe_ghost(server) for server in ghosts),
        raw_read_only=health == "no_quorum" and bool(view.members),
        transient=findings.transient,
    )
