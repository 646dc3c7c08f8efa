# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict about a database that others serve without Raft. Ours are always clusters, so `assess` calls such a server a problem. Pure."""

from __future__ import annotations

import typing as t

from .answer import Answer
from .findings import Reason, VerdictFindings
from .member_checks import MemberChecks
from .verdict import CERTIFICATE_DAYS, Verdict, assess
from .view import build_view, clustered


def assess_foreign(answers: t.Sequence[Answer]) -> Verdict:
    """Return the verdict on a database of others: it may have any number of members, or one server without Raft, which is then `standalone`."""
    if any(answer.is_responding and clustered(answer) for answer in answers):
        if any(answer.cluster_status is not None for answer in answers):
            return assess(answers)
        return _behind_endpoints(answers)
    alone = [answer for answer in answers if answer.server is not None and answer.server.model == "standalone"]
    return _standalone(answers, alone) if alone else assess(answers)


def _behind_endpoints(answers: t.Sequence[Answer]) -> Verdict:
    """Return the verdict without the list of a leader, which only a control socket shows: the endpoints are all that is known of the cluster.

    A member that says that it is connected has contact with a majority. An endpoint that leads to one of many members need not lead to the leader.
    """
    merged = build_view(answers).answers
    verdict = assess(answers, len(merged))
    told_otherwise = {("partial_view", "warning"), ("member_count", "problem")}
    reasons = [reason for reason in verdict.reasons if (reason.code, reason.severity) not in told_otherwise]
    leaderless = [reason for reason in reasons if reason.code == "no_leader"]
    if not leaderless or not all(answer.server and answer.server.connected for answer in merged):
        return verdict._replace(reasons=tuple(reasons))
    rest = [reason for reason in reasons if reason not in leaderless]
    told = Reason(
        "partial_view",
        None,
        f"{', '.join(answer.member for answer in merged)} take part, and none of them leads. Name the endpoints of all members to see the leader.",
        "warning",
    )
    broken = any(reason.severity == "problem" for reason in rest)
    return verdict._replace(
        verdict="degraded" if broken else "healthy", writable=True, reasons=(*rest, told), transient=False
    )


def _standalone(answers: t.Sequence[Answer], alone: t.Sequence[Answer]) -> Verdict:
    findings = VerdictFindings(build_view(answers), None, [], CERTIFICATE_DAYS)
    members = MemberChecks(findings)
    members.check_unresponsive()
    members.check_surroundings()
    names = {answer.member for answer in alone}
    # A server without Raft answers cluster/status with an error, which is right.
    reasons = [
        reason
        for reason in dict.fromkeys(findings.reasons)
        if not (reason.member in names and reason.code in ("not_clustered", "no_database"))
    ]
    if len(alone) > 1:
        listed = ", ".join(answer.member for answer in alone)
        reasons.append(
            Reason(
                "standalone_several",
                None,
                f"{listed} serve it without Raft. Which of them is the active one, and whether the others follow it, is not examined.",
                "warning",
            )
        )
    broken = any(reason.severity == "problem" for reason in reasons)
    return Verdict(
        verdict="degraded" if broken else "standalone",
        writable=True,
        reasons=tuple(reasons),
        members=tuple({**one, "problems": []} if one["member"] in names else one for one in members.describe_all([])),
    )
