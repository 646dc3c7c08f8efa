"""What members hold: ovn_raft_status with `contents` against real servers, of which one came back with an old copy of its file."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import typing as t

import pytest
from _raft_contents_lib import diverge, insert, names
from conftest import MakeCluster, Member, Ran, RunModule, until

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_source import (
    contents_command,
    parse_contents,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.select import TableReader
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.contents import Contents, compare

pytestmark = pytest.mark.timeout(180)


def reasons(result: Ran, code: str) -> list[str]:
    return [reason["message"] for reason in result["reasons"] if reason["code"] == code]


def test_members_with_different_data_look_healthy_and_are_found_by_their_contents(
    raft_cluster: MakeCluster, run_module: RunModule
) -> None:
    cluster = raft_cluster(3)
    options = {"database": "northbound", "expected_members": 3}
    equal = run_module("ovn_raft_status", {**options, "control_sockets": cluster.control_sockets, "contents": True})
    assert equal["verdict"] == "healthy", equal["reasons"]
    assert reasons(equal, "not_compared") == []
    first = diverge(cluster)
    assert "acknowledged0" in names(first)
    assert "acknowledged0" not in names(cluster.leader)
    for place in ({"control_sockets": cluster.control_sockets}, {"endpoints": cluster.endpoints}):
        until(
            lambda place=place: run_module("ovn_raft_status", {**options, **place})["verdict"] == "healthy",
            "a plain status that is healthy",
        )
        result = run_module("ovn_raft_status", {**options, **place, "contents": True})
        assert (result["verdict"], result["healthy"], result["writable"]) == ("diverged", False, True)
        (message,) = reasons(result, "diverged")
        assert "Logical_Switch" in message
        assert "Back up each of them now" in message
        (reason,) = [reason for reason in result["reasons"] if reason["code"] == "diverged"]
        odd = result["members"][[m["server_id"] for m in result["members"]].index(first.server_id)]["member"]
        assert reason["member"] == odd


def test_members_under_writes_are_never_called_different(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    cluster = raft_cluster(3)
    leader, ended = cluster.leader, threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            insert(leader, f"row{number}")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        arguments: dict[str, t.Any] = {"database": "northbound", "control_sockets": cluster.control_sockets}
        result = run_module("ovn_raft_status", {**arguments, "contents": True, "contents_timeout": 5})
    finally:
        ended.set()
        writer.join()
    assert result["verdict"] == "healthy", result["reasons"]
    (message,) = reasons(result, "not_compared")
    assert "written to" in message
    quiet = run_module("ovn_raft_status", {**arguments, "contents": True})
    assert reasons(quiet, "not_compared") == []


def test_contents_and_a_wait_are_refused(run_module: RunModule) -> None:
    refused = run_module(
        "ovn_raft_status", {"database": "northbound", "contents": True, "wait_for": "quorum"}, may_fail=True
    )
    assert refused.failed
    assert "cannot be combined" in refused["msg"]


def in_pod(member: Member, limit: int | None = None) -> Contents:
    """What the command that runs in pods says of a member."""
    command = contents_command(10)
    folder = member.directory / "run"
    folder.mkdir(exist_ok=True)
    if not (folder / "ovnnb_db.sock").is_symlink():
        (folder / "ovnnb_db.sock").symlink_to(member.directory / "db.sock")
    environment = {"OVN_DATABASE": "northbound", "OVN_RUN_DIR": str(folder), "OVN_DB_FILE": str(member.file)}
    if limit is not None:
        command[-1] = str(limit)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment}
    )
    return parse_contents(ExecResult(done.returncode, done.stdout, done.stderr))


def test_the_command_in_pods_tells_the_same(raft_cluster: MakeCluster) -> None:
    cluster = raft_cluster(3)
    first = diverge(cluster)
    found = {member.name: in_pod(member) for member in cluster.members}
    assert [contents.problem for contents in found.values()] == ["", "", ""]
    assert "Connection" not in found[first.name].tables
    (difference,) = compare(found, "m2").differences
    assert (difference.tables, difference.groups) == (("Logical_Switch",), (("m2", "m3"), ("m1",)))
    assert "too much to be read" in in_pod(first, limit=10).problem
    first.kill()
    assert "failed" in in_pod(first).problem


def test_long_rows_and_many_rows_are_read_whole(raft_cluster: MakeCluster) -> None:
    """The answer comes in pieces that end anywhere, also within a character."""
    cluster = raft_cluster(1)
    (member,) = cluster.members
    long = '}], "rows":[ ä€𝄞 ' * 100_000
    rows = [{"name": f"row {number}", "external_ids": ["map", [["k", "é" * number]]]} for number in range(3000)]
    rows.insert(1000, {"name": "long", "external_ids": ["map", [["k", long]]]})
    operations = [{"op": "insert", "table": "Logical_Switch", "row": row} for row in rows]
    place = parse_endpoint(member.socket)
    connection = TableReader(place, TlsFiles(), Deadline(60))
    with connection:
        connection.call("transact", [member.schema_name, *operations])
        found = list(connection.rows(member.schema_name, "Logical_Switch", ["name", "external_ids"]))
        assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, rows))
        assert list(connection.rows(member.schema_name, "Meter", ["name"])) == []
        with pytest.raises(Refused, match="No table named Nonsense"):
            list(connection.rows(member.schema_name, "Nonsense", ["name"]))
