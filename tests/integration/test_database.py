"""ovn_database against real Raft clusters."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import subprocess
import typing as t

import pytest
from conftest import MakeCluster, Member, RaftCluster, Ran, RunModule, listens, until


def settings(member: Member, **options: t.Any) -> dict[str, t.Any]:
    return {
        "database": member.database,
        "control_socket": member.control_socket,
        "socket": member.socket,
        "wait_timeout": 30,
        **options,
    }


def everywhere(run_module: RunModule, cluster: RaftCluster, **options: t.Any) -> list[Ran]:
    """As a play does: the module on all members' hosts at the same time."""
    check, may_fail = options.pop("check", False), options.pop("may_fail", False)
    running = [member for member in cluster.members if member.running]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(run_module, "ovn_database", settings(member, **options), check, may_fail=may_fail)
            for member in running
        ]
        return [run.result() for run in runs]


def query(member: Member, table: str, *columns: str) -> list[dict[str, t.Any]]:
    request = json.dumps([member.schema_name, {"op": "select", "table": table, "where": [], "columns": list(columns)}])
    command = ["ovsdb-client", "-t", "10", "query", member.socket, request]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return t.cast("list[dict[str, t.Any]]", json.loads(answer)[0]["rows"])


def transact(member: Member, *operations: dict[str, t.Any]) -> None:
    request = json.dumps([member.schema_name, *operations])
    subprocess.run(["ovsdb-client", "-t", "10", "transact", member.socket, request], check=True, capture_output=True)


SOUTHBOUND = {
    "connections": [
        {"target": "ptcp:16642:127.0.0.9", "role": "ovn-controller", "inactivity_probe": 60000},
        {"target": "ptcp:16643:127.0.0.9", "role": "", "read_only": True, "max_backoff": 8000},
    ],
    "options": {"some_number": 5, "some_switch": True, "gone": None},
    "election_timer": 11000,
}


@pytest.fixture
def southbound(raft_cluster: MakeCluster, request: pytest.FixtureRequest) -> RaftCluster:
    """The parameter is the election timer: a short one where a test waits for an election, which adds an entry."""
    return raft_cluster(3, "southbound", election_timer=getattr(request, "param", 10_000))


def test_check_mode_then_real_then_nothing(southbound: RaftCluster, run_module: RunModule) -> None:
    leader = southbound.members.index(southbound.leader)
    before = southbound.leader.log_next
    foretold = everywhere(run_module, southbound, check=True, **SOUTHBOUND)
    assert [run["changed"] for run in foretold] == [index == leader for index in range(3)]
    assert southbound.leader.log_next == before

    done = everywhere(run_module, southbound, **SOUTHBOUND)
    assert [run["changed"] for run in done] == [index == leader for index in range(3)]
    assert done[leader]["actions"] == foretold[leader]["actions"]
    assert done[leader]["diff"] == foretold[leader]["diff"]
    assert done[leader]["actions"] == [
        "create the row of SB_Global",
        "add connection ptcp:16642:127.0.0.9",
        "add connection ptcp:16643:127.0.0.9",
        "set option some_number to 5",
        "set option some_switch to true",
        "change the election timer from 10000 to 11000 ms",
    ]
    for run in done:
        assert run["election_timer"] == 11000
        assert run["options"] == {"some_number": "5", "some_switch": "true"}
        assert [row["role"] for row in run["connections"]] == ["ovn-controller", ""]
    southbound.await_same_log()
    rows = query(southbound.members[0], "Connection", "target", "role", "read_only", "inactivity_probe", "max_backoff")
    assert sorted(rows, key=lambda row: row["target"])[0] == {
        "target": "ptcp:16642:127.0.0.9",
        "role": "ovn-controller",
        "read_only": False,
        "inactivity_probe": 60000,
        "max_backoff": ["set", []],
    }

    after = southbound.leader.log_next
    assert not any(run["changed"] for run in everywhere(run_module, southbound, **SOUTHBOUND))
    assert southbound.leader.log_next == after


def test_foreign_rows_and_options_survive(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    cluster = raft_cluster(3, "northbound")
    transact(
        cluster.leader,
        {"op": "insert", "table": "Connection", "uuid-name": "c", "row": {"target": "ptcp:7000:127.0.0.9"}},
        {
            "op": "insert",
            "table": "NB_Global",
            "row": {
                "connections": ["named-uuid", "c"],
                "options": ["map", [["mac_prefix", "0a:00:00"], ["obsolete", "1"]]],
            },
        },
    )
    wanted = {
        "connections": [{"target": "ptcp:7001:127.0.0.9", "inactivity_probe": 0}],
        "options": {"obsolete": None, "über": "a=b, 'c' \"d\""},
    }
    everywhere(run_module, cluster, **wanted)
    for run in everywhere(run_module, cluster, **wanted):
        assert not run["changed"]
        assert [row["target"] for row in run["connections"]] == ["ptcp:7000:127.0.0.9", "ptcp:7001:127.0.0.9"]
        assert run["options"] == {"mac_prefix": "0a:00:00", "über": "a=b, 'c' \"d\""}
    purged = everywhere(run_module, cluster, purge_connections=True, **wanted)
    assert sum(run["changed"] for run in purged) == 1
    cluster.await_same_log()
    assert [row["target"] for row in query(cluster.members[0], "Connection", "target")] == ["ptcp:7001:127.0.0.9"]


def test_the_timer_is_raised_and_lowered(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    cluster = raft_cluster(3, "northbound")
    for timer, steps in ((16000, 4), (4000, 1)):
        runs = everywhere(run_module, cluster, election_timer=timer)
        assert [run["election_timer"] for run in runs] == [timer] * 3
        assert sum(len(run["actions"]) for run in runs) == steps
        cluster.await_same_log()
        assert all(f"Election timer: {timer}\n" in member.status() for member in cluster.members)


def test_the_leader_dies_during_the_ramp(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    cluster = raft_cluster(3, "northbound", election_timer=100)
    leader = cluster.leader
    survivors = [member for member in cluster.members if member is not leader]

    def kill_soon() -> None:
        until(lambda: "Election timer: 100\n" not in leader.status(), "the first step")
        os.kill(leader.pid, signal.SIGKILL)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        killer = pool.submit(kill_soon)
        runs = {
            member.name: pool.submit(
                run_module, "ovn_database", settings(member, election_timer=2000, wait_timeout=40), may_fail=True
            )
            for member in cluster.members
        }
        results = {name: run.result() for name, run in runs.items()}
        killer.result()
    assert results[leader.name].failed
    cluster.await_same_log()
    for member in survivors:
        assert not results[member.name].failed, results[member.name].result
        assert "Election timer: 2000\n" in member.status()
    assert any(results[member.name]["changed"] for member in survivors)


@pytest.mark.parametrize("southbound", [1000], indirect=True)
def test_without_quorum_nothing_is_written(southbound: RaftCluster, run_module: RunModule) -> None:
    everywhere(run_module, southbound, options={"a": "1"})
    southbound.await_same_log()
    survivor = southbound.leader
    for member in southbound.members:
        if member is not survivor:
            member.kill()
    before = survivor.log_next
    for options in ({"a": "2"}, {"a": "1"}):
        ran = run_module("ovn_database", settings(survivor, options=options), may_fail=True, timeout=15)
        assert ran.failed
        assert "cannot be written now" in ran["msg"]
    assert survivor.log_next == before


def test_two_runs_at_once(southbound: RaftCluster, run_module: RunModule) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(everywhere, run_module, southbound, **SOUTHBOUND) for _run in range(2)]
        results = [run for pair in runs for run in pair.result()]
    assert all(run["election_timer"] == 11000 for run in results)
    southbound.await_same_log()
    assert len(query(southbound.members[0], "Connection", "target")) == 2
    assert len(query(southbound.members[0], "SB_Global", "_uuid")) == 1
    assert not any(run["changed"] for run in everywhere(run_module, southbound, **SOUTHBOUND))


def test_a_frozen_member_fails_in_time(southbound: RaftCluster, run_module: RunModule) -> None:
    follower = southbound.followers[0]
    follower.freeze()
    arguments = settings(follower, options={"a": "1"}, timeout=1, wait_timeout=5)
    ran = run_module("ovn_database", arguments, may_fail=True)
    follower.thaw()
    assert ran.failed
    assert "did not answer within 1 s" in ran["msg"]


def test_a_standalone_database(daemons: None, short_dir: t.Any, run_module: RunModule) -> None:
    subprocess.run(["ovsdb-tool", "create", short_dir / "db", "/usr/share/ovn/ovn-nb.ovsschema"], check=True)
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "ovsdb-server",
        "-vconsole:off",
        "--no-chdir",
        f"--unixctl={short_dir}/ctl",
    ]
    server = subprocess.Popen([*command, f"--remote=punix:{short_dir}/sock", str(short_dir / "db")])
    try:
        until(lambda: listens(short_dir / "sock"), "the server")
        place = {
            "database": "northbound",
            "control_socket": f"{short_dir}/ctl",
            "socket": f"unix:{short_dir}/sock",
        }
        wanted = {**place, "connections": [{"target": "ptcp:7002:127.0.0.9"}], "options": {"a": "1"}}
        assert run_module("ovn_database", wanted)["changed"]
        again = run_module("ovn_database", wanted)
        assert (again["changed"], again["role"], again["election_timer"]) == (False, "standalone", None)
        refused = run_module("ovn_database", {**place, "election_timer": 4000}, may_fail=True)
        assert refused.failed
        assert "standalone" in refused["msg"]
        other = run_module("ovn_database", {**place, "database": "southbound"}, may_fail=True)
        assert "does not serve OVN_Southbound (databases there: OVN_Northbound)" in other["msg"]
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"socket": "unix:/nowhere/db.sock"}, "/nowhere/db.sock is not reachable: No such file or directory"),
        ({"socket": "tcp:127.0.0.1:6641"}, "is remote"),
        ({"election_timer": 5}, "out of range"),
    ],
)
def test_unusable_options(run_module: RunModule, options: dict[str, t.Any], words: str) -> None:
    ran = run_module("ovn_database", {"database": "northbound", **options}, may_fail=True)
    assert ran.failed
    assert words in ran["msg"]
