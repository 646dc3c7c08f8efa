from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, Problem, ServerView

CLUSTER = "a0b739a1-2c38-479b-9e0d-605e9da30330"


def _member(
    number: int, leader: bool = False, connected: bool = True, index: int | None = 10, cid: str = CLUSTER
) -> Answer:
    """What a pod says when it is asked from outside."""
    sid = f"{number}{number}{number}{number}0000-0000-4000-8000-00000000000{number}"
    view = ServerView("clustered", connected, leader, cid, sid, index, f"process-{number}")
    return Answer(f"ovn-northbound-{number}", "OVN_Northbound", server=view)


def _unresponsive(number: int) -> Answer:
    problem = Problem("unreachable", f"ovn-northbound-{number} is not reachable: Connection refused.")
    return Answer(f"ovn-northbound-{number}", "OVN_Northbound", problems=(problem,))


class Say:
    """`say.member(1, leader=True)`, `say.unresponsive(2)`."""

    member = staticmethod(_member)
    unresponsive = staticmethod(_unresponsive)
    cluster = CLUSTER

    def healthy(self, leader: int = 0) -> list[Answer]:
        return [_member(number, leader=number == leader) for number in range(3)]


@pytest.fixture
def say() -> Say:
    return Say()
