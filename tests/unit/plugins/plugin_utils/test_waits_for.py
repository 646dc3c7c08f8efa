"""What a module waits for, as it is printed every ten seconds."""

from __future__ import annotations

import importlib
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.plugin_utils._progress import WaitAction

ACTIONS = pathlib.Path(__file__).resolve().parents[4] / "plugins" / "action"
NB = {"database": "northbound"}
CONTROL = "the databases and northd of this control plane to answer"
ROWS = "all rows of the members to be read"
HEARTBEAT = "northd and the chassis to answer the heartbeat"
CASES: list[tuple[str, dict[str, t.Any], str]] = [
    ("ovn_central_info", {}, CONTROL),
    ("ovn_central_info", {"raft": {"contents": True}}, f"{CONTROL}, then for {ROWS}"),
    (
        "ovn_central_info",
        {"raft": {"contents": True}, "heartbeat": {"timeout": 30}},
        f"{CONTROL}, then for {ROWS}, then for {HEARTBEAT}",
    ),
    ("ovn_chassis", {"system_id": "a"}, "Open vSwitch to apply the settings of chassis a"),
    (
        "ovn_chassis",
        {"system_id": "a", "wait_for": "registered"},
        "chassis a to register in the Southbound database",
    ),
    ("ovn_chassis", {"system_id": "a", "state": "absent"}, "the rows of chassis a to be deleted"),
    (
        "ovn_chassis_rows",
        {"system_id": "a"},
        "chassis a, which is to be deleted, to register again or stay away",
    ),
    ("ovn_database", NB, "the northbound database to show its settings"),
    ("ovn_ping", {"targets": [{"name": "a"}, {"name": "b"}]}, "answers of a, b"),
    ("ovn_ping", {"targets": []}, ""),
    ("ovn_raft_member", NB, "the northbound member on this host to answer"),
    ("ovn_raft_member", {**NB, "state": "examined"}, "the northbound member on this host to answer"),
    ("ovn_raft_member", {**NB, "state": "started"}, "the northbound member on this host to take part in its cluster"),
    ("ovn_raft_member", {**NB, "state": "restarted"}, "the northbound member on this host to take part in its cluster"),
    ("ovn_raft_member", {**NB, "state": "stopped"}, "the northbound member on this host to end"),
    ("ovn_raft_member", {**NB, "state": "waited"}, "the northbound member on this host to change its state"),
    (
        "ovn_raft_member",
        {**NB, "state": "kicked", "server_id": "1a2b"},
        "the northbound cluster to remove server 1a2b",
    ),
    ("ovn_raft_status", NB, "the northbound members to answer"),
    ("ovn_raft_status", {**NB, "wait_for": "quorum"}, "the northbound cluster to have a quorum"),
    ("ovn_raft_status", {**NB, "wait_for": "healthy"}, "the northbound cluster to be healthy"),
    ("ovn_raft_status", {**NB, "contents": True}, "all rows of the northbound members to be read"),
    ("ovn_run_lock", {}, ""),
    ("ovn_run_lock", {"wait_timeout": 13}, "the run that holds the lock of the control plane"),
    ("ovn_sync", {}, HEARTBEAT),
    ("ovn_test_port", {"logical_port": "p"}, "the flows of logical port p"),
    ("ovn_test_port", {"state": "absent"}, "Open vSwitch to remove the guest of the connectivity test"),
]


def action(name: str) -> type[WaitAction]:
    module = importlib.import_module(f"ansible_collections.c5c3.ovn.plugins.action.{name}")
    found: type[WaitAction] = module.ActionModule
    return found


@pytest.mark.parametrize(("name", "options", "expected"), CASES)
def test_what_a_module_waits_for(name: str, options: dict[str, t.Any], expected: str) -> None:
    found = action(name)
    assert found.waits_for(object.__new__(found), options) == expected


def test_every_module_that_waits_has_a_case() -> None:
    names = [path.stem for path in ACTIONS.glob("ovn_*.py")]
    assert {name for name in names if issubclass(action(name), WaitAction)} == {name for name, _options, _text in CASES}
