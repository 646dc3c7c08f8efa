"""What the filter takes from hostvars and limits; what is asked again is tested in _report/test_again.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.verify_again import FilterModule
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.contents import Contents

SHORT, ENOUGH = {"northd": 5.0, "contents": 5.0}, {"northd": 30.0, "contents": 60.0}
CONNECTING = {"northd": {"northbound_connected": False}}
SLOW = Answer("c1", "OVN_Southbound", contents=Contents(problem="it was not read within 5 s")).as_dict()
UNREAD = {"raft": {"southbound": {"answers": [SLOW]}}}


@pytest.mark.parametrize(
    ("info", "first", "again", "needed", "databases"),
    [
        pytest.param({}, SHORT, ENOUGH, False, [], id="nothing"),
        pytest.param(None, SHORT, ENOUGH, False, [], id="a host that was not asked"),
        pytest.param(CONNECTING, SHORT, ENOUGH, True, [], id="a northd that connects"),
        pytest.param(CONNECTING, SHORT, {**ENOUGH, "northd": 0.0}, False, [], id="a northd that is not awaited"),
        pytest.param(UNREAD, SHORT, ENOUGH, True, ["southbound"], id="contents that need more time"),
        pytest.param(UNREAD, ENOUGH, ENOUGH, False, [], id="contents that had all of the time"),
    ],
)
def test_needed(
    info: t.Any, first: dict[str, float], again: dict[str, float], needed: bool, databases: list[str]
) -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"c1": {} if info is None else {"ovn_verify_info": info}, "c2": {}}
    found = FilterModule().filters()["verify_again"](hostvars, ["c1", "c2"], {"first": first, "again": again})
    assert found == {"needed": needed, "databases": databases}
