"""What central hosts are asked again: members at different log indexes, those that were not read in time, and a northd that connects."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.contents import Contents
from ansible_collections.c5c3.ovn.plugins.module_utils._report.databases import (
    databases_to_read_again,
    is_northd_connecting,
    what_to_ask_again,
)

UNREAD = Contents(problem="it was not read within 5 s")
FAILED: dict[str, t.Any] = {"failed": True, "msg": "x"}


def state(member: str, **contents: Contents | None) -> dict[str, t.Any]:
    """What ovn_central_info returned on a host whose members hold this."""
    return {
        "raft": {
            database: {"answers": [Answer(member, database, contents=held).as_dict()]}
            for database, held in contents.items()
        }
    }


def at(log_index: int, digest: str = "1") -> Contents:
    return Contents(log_index, {"ACL": digest})


@pytest.mark.parametrize(
    ("northbound", "southbound", "expected"),
    [
        pytest.param([at(8), at(8)], [at(5), at(5)], [], id="the same log index"),
        pytest.param([at(8), at(8, "2")], [at(5), at(5)], [], id="different data is no reason to read again"),
        pytest.param([at(8), at(8)], [at(5), at(6)], ["southbound"], id="one was read later"),
        pytest.param([at(8), at(9)], [at(5), at(6)], ["northbound", "southbound"], id="both databases"),
        pytest.param([at(8), UNREAD], [at(5), at(5)], ["northbound"], id="one was not read in the short time"),
        pytest.param([at(8), None], [None, None], [], id="members that take no part"),
    ],
)
def test_databases(northbound: list[Contents | None], southbound: list[Contents | None], expected: list[str]) -> None:
    infos = [
        state(f"c{number}", northbound=one, southbound=other)
        for number, (one, other) in enumerate(zip(northbound, southbound), 1)
    ]
    assert databases_to_read_again([*infos, {}, FAILED, {"raft": {"northbound": FAILED}}]) == expected


@pytest.mark.parametrize(
    ("northds", "expected"),
    [
        pytest.param([(True, True), (True, True)], False, id="connected"),
        pytest.param([(True, True), (True, False)], True, id="one is not"),
        pytest.param([(None, None)], False, id="one that cannot be asked is not awaited"),
        pytest.param([], False, id="none"),
    ],
)
def test_northd(northds: list[tuple[bool | None, bool | None]], expected: bool) -> None:
    infos: list[dict[str, t.Any]] = [
        {"northd": {"northbound_connected": one, "southbound_connected": other}} for one, other in northds
    ]
    assert is_northd_connecting([{}, FAILED, *infos]) is expected


CONNECTING = {"northd": {"northbound_connected": False}}
SLOW = Answer("c1", "OVN_Southbound", contents=Contents(problem="it was not read within 5 s")).as_dict()
LARGE = {"raft": {"southbound": {"answers": [SLOW]}}}


@pytest.mark.parametrize(
    ("info", "awaits", "needed", "databases"),
    [
        pytest.param({}, True, False, [], id="nothing"),
        pytest.param(None, True, False, [], id="a host that was not asked"),
        pytest.param(CONNECTING, True, True, [], id="a northd that connects"),
        pytest.param(CONNECTING, False, False, [], id="a northd that is not awaited"),
        pytest.param(LARGE, False, True, ["southbound"], id="contents that need more time"),
    ],
)
def test_needed(info: t.Any, awaits: bool, needed: bool, databases: list[str]) -> None:
    infos: list[dict[str, t.Any]] = [info or {}, {}]
    found = what_to_ask_again(infos, awaits_northd=awaits)
    assert found == {"needed": needed, "databases": databases}
