# SPDX-License-Identifier: GPL-3.0-or-later
"""Which member of a database a client is led to. Pure."""

from __future__ import annotations

import typing as t

from .._raft.answer import Answer


class LedMember(t.NamedTuple):
    """What a member says of itself, and since when (monotonic, seconds) it says so."""

    connected: bool = False  # it answers, and takes part in its cluster
    leader: bool = False
    since: float = 0.0


def next_state(state: LedMember, answer: Answer | None, now: float) -> LedMember:
    """Return the state after an answer; None is no answer yet."""
    server = answer.server if answer is not None and not answer.problems else None
    connected = server is not None and server.connected
    leader = connected and server is not None and server.leader
    if (connected, leader) == (state.connected, state.leader):
        return state
    return LedMember(connected, leader, now)


def choose_member(states: t.Sequence[LedMember], *, leader_only: bool, current: int | None) -> int | None:
    """Return the index of the member that clients are to be led to; None if there is none at the moment.

    A leader whose host has lost its power has still said that it leads: of two, the one that has become so last is it. A client that takes any member stays
    with `current` as long as that one takes part in the cluster.
    """
    leaders = [index for index, state in enumerate(states) if state.leader]
    if leader_only:
        return max(leaders, key=lambda index: states[index].since, default=None)
    if current is not None and states[current].connected:
        return current
    # Not the leader, which has the most to do.
    connected = [index for index, state in enumerate(states) if state.connected]
    return min(connected, key=lambda index: (states[index].leader, index), default=None)


def is_left(state: LedMember, *, leader_only: bool) -> bool:
    """Return whether clients have to be cut off from a member that is no longer the one to be led to.

    One that answers and has handed over the leadership says so to its clients, who then come again at once (`reset_backoff` in ovs/db/idl.py). Cut off, they
    would count it as a failure and wait. One that does not answer, or claims to lead although another one was elected later, is not there any more.
    """
    return not state.connected or (leader_only and state.leader)
