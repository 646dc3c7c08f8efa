"""What the observer tells of the members' contents, and when a later look changes that."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.contents_watch import is_newer_finding
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.contents import Contents

EQUAL = {"one": Contents(9, {"A": "x"}), "two": Contents(9, {"A": "x"})}
DIFFERENT = {"one": Contents(9, {"A": "x"}), "two": Contents(9, {"A": "y"})}
APART = {"one": Contents(9, {"A": "x"}), "two": Contents(10, {"A": "x"})}
UNREAD = {"one": Contents(9, {"A": "x"}), "two": Contents(problem="it was written to")}


@pytest.mark.parametrize(
    ("before", "now", "replaces"),
    [
        pytest.param({}, UNREAD, True, id="the first look"),
        pytest.param(DIFFERENT, EQUAL, True, id="the members are equal again"),
        pytest.param(DIFFERENT, DIFFERENT, True, id="they still differ"),
        pytest.param(DIFFERENT, UNREAD, False, id="one could not be read: what is known stays"),
        pytest.param(DIFFERENT, APART, False, id="they were read at different log indexes: what is known stays"),
        pytest.param(EQUAL, APART, True, id="equal members could not be compared"),
    ],
)
def test_a_later_look(before: dict[str, Contents], now: dict[str, Contents], replaces: bool) -> None:
    assert is_newer_finding(before, now) == replaces
