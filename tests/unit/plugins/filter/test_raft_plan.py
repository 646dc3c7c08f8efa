"""The plan of both databases as the role sees it."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.c5c3.ovn.plugins.filter.raft_plan import raft_plan

ADDRESSES = {"c1": "ssl:192.0.2.1:6643", "c2": "ssl:192.0.2.2:6643", "c3": "ssl:192.0.2.3:6643"}
RUN: dict[str, t.Any] = {
    "run": "r",
    "time": "2026-01-01T00:00:00Z",
    "declared": {"northbound": ADDRESSES, "southbound": ADDRESSES},
    "expected_cid": {"northbound": "", "southbound": ""},
    "bootstrap": True,
    "restart": True,
    "allow_outage": False,
    "allow_names": False,
    "wait_timeout": 60,
}
CID = "aaaaaaaa-0000-4000-8000-000000000000"
SID = "11110000-0000-4000-8000-000000000000"


def seen(database: str, **changes: t.Any) -> list[dict[str, t.Any]]:
    return [{"observation": {"database": database, "member": name, **changes}} for name in ADDRESSES]


def test_both_databases_are_planned_and_the_order_is_told() -> None:
    plan = raft_plan([*seen("northbound"), *seen("southbound")], RUN, {})
    assert plan["refusals"] == []
    assert plan["records"] == plan["steps"] == ["northbound", "southbound"]
    assert plan["northbound"]["step"]["state"] == "started"
    assert plan["northbound"]["record"]["permit"]["member"] == "c1"
    assert [message.split()[0] for message in plan["messages"]] == ["create", "join", "join"] * 2


def test_no_as_an_extra_variable_of_the_command_line_is_no() -> None:
    """There `-e ovn_central_bootstrap=false` is a text, and a text with something in it is true."""
    plan = raft_plan([*seen("northbound"), *seen("southbound")], {**RUN, "bootstrap": "false"}, {})
    assert plan["steps"] == []
    assert all("ovn_central_bootstrap is false" in refusal for refusal in plan["refusals"])


def test_a_refusal_of_one_database_is_told_and_stops_its_steps() -> None:
    files = seen("southbound", file_class="standalone", file_reason="southbound on c1: a standalone database")
    plan = raft_plan([*seen("northbound"), *files], RUN, {})
    assert len(plan["refusals"]) == 1
    assert "standalone" in plan["refusals"][0]
    assert plan["steps"] == ["northbound"]


def test_waiting_ends_with_the_reason() -> None:
    record = {
        "format": 1,
        "database": "northbound",
        "revision": 1,
        "epoch": 1,
        "cid": CID,
        "members": {
            name: {"address": address, "state": "confirmed", "sid": SID} for name, address in ADDRESSES.items()
        },
    }
    electing = seen("northbound", record=record, file_class="member", file_cid=CID, running=True, cid=CID, sid=SID)
    run = {**RUN, "declared": {"northbound": ADDRESSES}}
    first = raft_plan(electing, run, {})
    assert first["northbound"]["step"]["state"] == "waited"
    assert first["refusals"] == []
    old = {"northbound": {**first["northbound"], "waiting_since": time.time() - 61}}
    assert "Gave up after 60 s" in raft_plan(electing, run, old)["refusals"][0]
