# SPDX-License-Identifier: GPL-3.0-or-later
"""Known Raft faults of Open vSwitch versions. Distributions backport fixes without a new number, so this warns and never refuses."""

from __future__ import annotations

import typing as t

Version = tuple[int, int, int]


class Fault(t.NamedTuple):
    """`fixed`: the first fixed release of each branch; newer branches have the fix, older ones never got it. `code`: the code of the warning.

    Releases before `since` do not have the fault.
    """

    code: str
    message: str
    fixed: tuple[Version, ...]
    since: Version = (0, 0, 0)

    def in_version(self, version: Version) -> bool:
        if version < self.since:
            return False
        for first in self.fixed:
            if version[:2] == first[:2]:
                return version < first
        return version < max(self.fixed)

    def fixed_in(self, version: Version) -> str:
        """Return the next release after a faulty one that has the fix; of the same branch if there is one."""
        return ".".join(map(str, min(first for first in self.fixed if first > version)))


FAULTS = (
    Fault(
        "fault_join",
        "a member may never finish to join, or lead while it joins",
        ((2, 17, 10), (3, 0, 7), (3, 1, 5), (3, 2, 3), (3, 3, 1), (3, 4, 0)),
    ),
    Fault(
        "fault_leave",
        "the cluster breaks when two members leave while a third is down",
        ((3, 3, 5), (3, 4, 3), (3, 5, 1), (3, 6, 0)),
    ),
    Fault(
        "fault_pre_vote",
        "without a pre-vote that works, an isolated member raises the term and forces an election when it returns",
        # 3.3.0 has a pre-vote, but members grant it although they hear a leader.
        ((3, 3, 8), (3, 4, 5), (3, 5, 3), (3, 6, 2), (3, 7, 0)),
    ),
    Fault(
        "fault_wrong_peer",
        "after an address is reused, a member keeps its connection to the wrong server and does not reach the right one",
        ((3, 3, 8), (3, 4, 5), (3, 5, 3), (3, 6, 2), (3, 7, 0)),
    ),
    Fault(
        "fault_transfer",
        "a leader that stops may hand the leadership to a dead member, so nothing is written until the next election",
        ((2, 17, 10), (3, 0, 7), (3, 1, 5), (3, 2, 3), (3, 3, 1), (3, 4, 0)),
    ),
    Fault(
        "fault_single_member",
        "the server of a cluster with one member aborts when it loses the leadership (since 3.3.0)",
        ((3, 3, 1), (3, 4, 0)),
        since=(3, 3, 0),
    ),
)


def faults(version: Version) -> list[Fault]:
    """Return the known faults of a version."""
    return [fault for fault in FAULTS if fault.in_version(version)]
