# SPDX-License-Identifier: GPL-3.0-or-later
"""How a step on a member can fail, and the messages for it: the same for machines and pods. Pure."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._base.errors import Changed, Refused, TimedOut, Unreachable
from .answer import Answer
from .view import freshness


def not_joined_error(database: str, member: str, deadline: Deadline, last: str) -> TimedOut:
    return TimedOut(
        f"The {database} member {member} did not join its cluster within {deadline.seconds:g} s: {last}. "
        "See that most of the members run, open the Raft port between them and compare the certificates, then run again."
    )


def still_listed_error(database: str, server_id: str, deadline: Deadline) -> TimedOut:
    return TimedOut(
        f"The {database} cluster still lists {server_id} {deadline.seconds:g} s after it was asked to remove it. "
        "Run again when the cluster is quiet."
    )


def is_listed(database: str, leader: Answer, server_id: str, place: str) -> bool:
    """Return whether the leader has the server in its list. The list of a follower is no evidence, so the leadership must not have moved."""
    if leader.status is None:
        raise Unreachable(f"{place} does not answer. Run again.")
    if leader.status.role != "leader":
        raise Refused(
            f"The {database} leadership moved away from {leader.member}. Nothing was changed by this step; run again."
        )
    return any(server.sid == server_id[:4] for server in leader.status.servers)


def check_unresponsive(database: str, leader: Answer, server_id: str) -> None:
    """Raise `Changed` if the leader has heard the server a moment ago: it came back since its removal was planned."""
    status = leader.status
    if status is None:
        return
    limit = freshness(status.election_timer)
    for server in status.servers:
        if server.sid == server_id[:4] and server.last_message is not None and server.last_message < limit:
            raise Changed(
                f"The {database} server {server.sid} is not removed: the leader heard it {server.last_message} ms ago."
            )


def read_progress(answer: Answer) -> tuple[t.Any, ...]:
    """Return the part of an answer that changes when the member makes progress."""
    return (
        answer.server and (answer.server.connected, answer.server.leader),
        answer.status and (answer.status.role, answer.status.status, len(answer.status.servers)),
    )
