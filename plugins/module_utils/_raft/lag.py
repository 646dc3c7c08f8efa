# SPDX-License-Identifier: GPL-3.0-or-later
"""Members are asked one after the other, while the database moves on: an index that was read later is larger, which is no lag. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .answer import Answer

# Seconds that a member gets to apply what the leader has applied.
GRACE = 1.0


class Sample(t.NamedTuple):
    """A log index and when it was asked for, on the monotonic clock."""

    time: float
    log_index: int


def align_indexes(answers: t.Sequence[Answer], indexes: t.Mapping[str, t.Sequence[Sample]]) -> list[Answer]:
    """Return the answers with indexes that can be compared: a member is behind by what the leader had well before the member was asked.

    `indexes` has the samples of each member, the newest last.
    """
    leader = next((answer for answer in answers if answer.server is not None and answer.server.leader), None)
    if leader is None or leader.server is None or leader.server.log_index is None:
        return list(answers)
    head = leader.server.log_index
    compared = []
    for answer in answers:
        samples = indexes.get(answer.member, ())
        if answer is not leader and answer.server is not None and answer.server.log_index is not None and samples:
            newest = samples[-1]
            then = [s.log_index for s in indexes.get(leader.member, ()) if s.time <= newest.time - GRACE]
            lag = max(0, then[-1] - newest.log_index) if then else 0
            answer = dataclasses.replace(answer, server=answer.server._replace(log_index=head - lag))
        compared.append(answer)
    return compared
