"""The condition of the relays."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.conditions import StatusCondition
from ansible_collections.c5c3.ovn.plugins.module_utils._api.relay_status import relays_condition

BEFORE = {"type": "RelaysReady", "status": "True", "reason": "AllServe", "message": "3 of 3 relays serve chassis."}


@pytest.mark.parametrize(
    ("problems", "status", "reason"),
    [
        pytest.param({"ssl:a:6642": "", "ssl:b:6642": ""}, "True", "AllServe", id="all serve"),
        pytest.param({"ssl:a:6642": "", "ssl:b:6642": "no answer"}, "False", "NotServing", id="one does not"),
    ],
)
def test_it_counts_them(problems: dict[str, str], status: str, reason: str) -> None:
    found = relays_condition(problems, None)
    assert found is not None
    assert found[:3] == ("RelaysReady", status, reason)
    assert ("1 of 2 relays" in found.message) is (status == "False")
    assert ("ssl:b:6642 does not: no answer." in found.message) is (status == "False")


def test_who_has_not_asked_keeps_what_was_found() -> None:
    assert relays_condition(None, BEFORE) == StatusCondition(*BEFORE.values())
    assert relays_condition(None, None) is None


def test_without_relays_there_is_none() -> None:
    assert relays_condition({}, BEFORE) is None
