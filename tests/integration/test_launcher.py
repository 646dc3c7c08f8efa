"""The launcher against real database servers: every row of its decision table."""

from __future__ import annotations

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import _launcher_cases
import pytest
from _launcher_cases import STRANGER, fill, refused
from _launcher_lib import ASK, DATABASE, IDLE, REFUSE, Cluster, tool, until
from conftest import Daemon, within

cluster = _launcher_cases.cluster  # fixture


def test_creation_needs_the_permit_and_uses_the_timer(cluster: Cluster) -> None:
    first = cluster.members[0]
    refused(first, ASK, "none", "the permit to create one is given to no member")
    cluster.publish(permit=first.id, election_timer="2500")
    assert first.call("check").returncode == 0
    first.env["OVN_REVISION"] = "r7"
    first.up()
    until(lambda: "Election timer: 2500" in first.cluster_status(), "the timer")
    until(lambda: first.state() == "running", "the launcher's word that the server runs")
    assert (first.state("sid"), first.state("revision")) == (first.sid, "r7")
    assert tool("db-name", first.file) == DATABASE


def test_the_permit_of_another_member_allows_nothing(cluster: Cluster) -> None:
    cluster.publish(permit="m2")
    refused(cluster.members[0], ASK, "none", "given to m2")


def test_a_recorded_cluster_makes_the_permit_void(cluster: Cluster) -> None:
    cluster.publish(permit="m1", cid=STRANGER)
    assert cluster.members[0].examined()["decision"] == "join"


def test_any_answer_of_a_peer_forbids_the_creation(cluster: Cluster) -> None:
    first, second, _third = cluster.members
    cluster.publish(permit="m2")
    second.up()
    cluster.publish(permit="m1")
    answer = first.call("run")
    assert answer.returncode == REFUSE
    assert second.cid in answer.stderr
    assert not first.file.exists()


def test_a_relay_forbids_no_creation(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    """It answers at the address of a peer, and of the member itself, also when there is no cluster. It has none of its own."""
    first, second, _third = cluster.members
    _scheme, host, port = second.endpoint.split(":")
    relay = [
        "ovsdb-server",
        "-vconsole:off",
        f"--unixctl={tmp_path}/relay.ctl",
        f"--remote=ptcp:{port}:{host}",
        f"relay:{DATABASE}:{first.endpoint}",
    ]
    process = Daemon(relay, tmp_path / "relay.log")
    try:
        query = '["_Server",{"op":"select","table":"Database","where":[],"columns":["model"]}]'
        ask = ("ovsdb-client", "-t", "3", "query", second.endpoint, query)
        until(lambda: '"relay"' in subprocess.run(ask, capture_output=True, text=True, check=False).stdout, "the relay")
        cluster.publish(permit=first.id)
        first.up(OVN_CLIENT_ENDPOINTS=second.endpoint)
        assert first.file.exists()
    finally:
        process.kill()


def test_no_endpoints_to_ask_means_no_creation(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    assert first.call("run", OVN_CLIENT_ENDPOINTS="").returncode == REFUSE
    assert not first.file.exists()


def test_silent_peers_cost_one_timeout(cluster: Cluster) -> None:
    """A peer that accepts and never answers is asked with a limit, all peers at once."""
    first, second, third = cluster.members
    cluster.publish(permit="m2")
    second.up()
    pid = second.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    cluster.publish(permit=first.id)
    first.start(OVN_CLIENT_ENDPOINTS=f"{second.endpoint},{second.endpoint},{third.endpoint}")
    until(first.connected, "m1 to be connected", 6)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.06, 0.15])
def test_a_creation_cut_off_anywhere_is_resumed(cluster: Cluster, delay: float) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.start()
    time.sleep(delay)  # killed at any moment
    first.kill()
    before = first.cid if first.file.exists() else None
    first.up()
    assert before in (None, first.cid)


def test_leftovers_of_an_interrupted_create_are_no_obstacle(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.file.touch()
    (first.data / "ovnnb_db.db.new").touch()
    cluster.publish(permit=first.id)
    assert first.examined()["class"] == "empty"
    first.up()
    assert [p.name for p in first.data.glob("*.empty.*")]


def test_a_member_starts_alone_from_its_file(cluster: Cluster) -> None:
    members = cluster.complete()
    second, sid = members[1], members[1].sid
    for member in members:
        member.kill()
    second.start()
    until(lambda: "Status: cluster member" in second.cluster_status(), "the server runs")
    assert (second.sid, second.state("class")) == (sid, "member")


def test_a_member_starts_without_any_record(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    shutil.rmtree(first.record)
    first.up()


def test_the_settings_of_the_process_are_applied_at_each_start(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.env |= {
        "OVN_MEMORY_TRIM": "off",
        "OVN_LOG_LEVELS": "unixctl:file:dbg",
    }
    cluster.found()
    until(lambda: "memory trimming after compaction disabled" in first.log.read_text(), "trim")
    assert re.search(r"unixctl +OFF +\S+ +DBG", first.appctl("vlog/list"))


def test_a_lost_member_joins_again_past_a_dead_one(cluster: Cluster) -> None:
    """The first address it asks never answers: the join goes on to the next one."""
    first, second, third = cluster.members
    cluster.publish(permit=second.id)
    second.up()
    cluster.publish(cid=second.cid, permit="")
    third.up()
    old = third.sid
    cluster.declare(third, "confirmed", old)
    shutil.move(third.file, third.dir / "lost.db")
    second.appctl("cluster/kick", DATABASE, old)
    until(lambda: f"({old[:4]} at" not in second.cluster_status(), "unlisted")
    third.kill()
    refused(third, ASK, "none", "its database is lost")
    assert not first.file.exists()
    cluster.declare(third, "expected", "-")
    third.up()
    assert third.sid != old
    assert third.cid == second.cid


def test_a_join_asks_every_other_member(cluster: Cluster) -> None:
    """Nobody answers yet, so the file still names all of them; the absent one is left out."""
    second = cluster.members[1]
    cluster.publish(cid=STRANGER)
    cluster.declare(cluster.members[0], "absent")
    second.start()
    until(lambda: "joining cluster" in second.cluster_status(), "joining")
    facts = second.examined()
    assert facts["class"] == "joining"
    assert facts["remotes"] == cluster.members[2].address
    assert facts["cid"] == STRANGER


def test_a_join_over_ipv6_names_the_others_as_they_are_recorded(cluster: Cluster) -> None:
    """Their addresses have brackets, as the list in the file has."""
    third = cluster.members[2]
    remotes = ["ssl:[2001:db8::1]:6643", "ssl:[2001:db8::2]:6643"]
    tool(f"--cid={STRANGER}", "join-cluster", third.file, DATABASE, third.address, *remotes)
    cluster.publish(cid=STRANGER)
    facts = third.examined()
    assert (facts["class"], sorted(facts["remotes"].split())) == ("joining-outdated", remotes)


def test_a_member_that_left_idles_until_it_is_expected_again(cluster: Cluster) -> None:
    members = cluster.complete()
    third, old = members[2], members[2].sid
    third.appctl("cluster/leave", DATABASE)
    until(lambda: "unknown cluster" in third.cluster_status() or not third.cluster_status(), "left")
    third.terminate()
    refused(third, ASK, "left", "has left the cluster")
    cluster.declare(third, "leaving")
    refused(third, IDLE, "left", "has left the cluster")
    cluster.declare(third, "absent")
    refused(third, IDLE, "left", "the record says absent")
    cluster.declare(third, "expected", "-")
    third.up()
    assert third.sid != old
    assert [tool("db-sid", p) for p in third.data.glob("*.left.*")] == [old]


def test_a_leaving_member_still_starts_from_its_file(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.declare(first, "leaving")
    first.up()


def test_hold_keeps_everything_down(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.publish(hold="rebuild")
    refused(first, IDLE, "member", "rebuild")


def test_a_file_that_the_record_gives_up_is_replaced(cluster: Cluster) -> None:
    """A zombie: kicked while it was down, its file looks healthy."""
    members = cluster.complete()
    third, old = members[2], members[2].sid
    third.kill()
    leader = cluster.leader()
    leader.appctl("cluster/kick", DATABASE, old)
    until(lambda: old[:4] not in leader.cluster_status(), "unlisted")
    cluster.declare(third, "expected", old)
    third.up()
    new = third.sid
    assert new != old
    assert [tool("db-sid", p) for p in third.data.glob("*.member.*")] == [old]
    third.kill()
    third.up()  # still `expected` with the old sid: the new file is not given up
    assert third.sid == new


def test_a_member_that_is_being_replaced_does_not_start_from_its_file(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.declare(first, "replacing")
    refused(first, ASK, "member", "the record says replacing")


def test_joiners_killed_while_they_join_never_loop(cluster: Cluster) -> None:
    """Whatever the kill leaves, the launcher starts it or asks; it never starts a server that cannot run.

    Two members carry the cluster: with one, a joiner that dies while its addition is being committed takes the majority with it.
    """
    first = cluster.found()
    cluster.members[1].up()
    third = cluster.members[2]
    for block in range(20):
        names = [f"s{block}-{n}" for n in range(20)]
        fill(first, *(f'"row":{{"name":"{name}","external_ids":["map",[["k","{"x" * 4000}"]]]}}' for name in names))
    seen: dict[str, int] = {}
    random.seed(3)
    end = time.monotonic() + 12
    for _attempt in range(15):
        if time.monotonic() > end:
            break
        third.start()
        until(lambda: third.server_pid() or (third.process and third.process.poll() is not None), "a server")
        time.sleep(random.uniform(0, 0.03))  # killed at any moment of the join
        third.kill()
        facts = third.examined()
        if facts["decision"] in ("start", "join"):
            # A torn tail can hide that the join was cut off: then the first start tells, and no second one is tried.
            third.start()
            until(lambda: third.connected() or (third.process and third.process.poll() is not None), "a result")
            if not third.connected():
                assert third.process is not None
                assert third.process.wait(timeout=within(5)) == ASK
            third.kill()
            facts = third.examined()
        assert facts["class"] in ("member", "left", "dead-join"), facts
        seen[facts["class"]] = seen.get(facts["class"], 0) + 1
        if facts["class"] == "dead-join":
            refused(third, ASK, "dead-join", facts["sid"])
        unlist(cluster, facts["sid"])
        cluster.declare(third, "expected", facts["sid"])
    print("classes after the kill:", seen)
    third.up()
    assert third.cid == first.cid


def unlist(cluster: Cluster, sid: str) -> None:
    """What a run does before the member joins again. While the addition is being committed a kick is refused, so it is repeated."""

    def gone() -> bool:
        leader = cluster.leader()
        status = leader.cluster_status()
        if f"({sid[:4]} at" in status:
            leader.appctl("cluster/kick", DATABASE, sid)
            return False
        return "Servers:" in status

    until(gone, f"{sid} unlisted")


def test_an_outdated_join_asks(cluster: Cluster) -> None:
    third = cluster.members[2]
    cluster.publish(cid=STRANGER)
    tool(f"--cid={STRANGER}", "join-cluster", third.file, DATABASE, third.address, "tcp:127.0.99.9:6643")
    refused(third, ASK, "joining-outdated", "tcp:127.0.99.9:6643")
    third.file.unlink()
    tool("join-cluster", third.file, DATABASE, third.address, cluster.members[0].address)
    assert third.examined()["class"] == "joining-outdated"


@pytest.mark.parametrize("missing", ["OVN_DATABASE", "OVN_DB_FILE", "OVN_LOCAL_ADDRESS"])
def test_missing_settings_are_named(cluster: Cluster, missing: str) -> None:
    answer = cluster.members[0].call("check", **{missing: ""})
    assert answer.returncode == 255
    assert missing in answer.stderr


def test_a_missing_directory_is_no_empty_member_and_is_waited_for(cluster: Cluster) -> None:
    """A disk that is mounted late: the launcher waits, then it starts from the file that lies there."""
    first = cluster.found()
    sid = first.sid
    first.kill()
    away = first.dir / "away"
    first.data.rename(away)
    assert first.call("run").returncode == ASK
    assert f"directory {first.data} does not exist" in first.state("reason")
    assert first.state("class") == "unknown"
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "asked")
    away.rename(first.data)
    until(first.connected, "started")
    assert first.sid == sid


def test_a_mount_point_without_its_disk_is_waited_for(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    away = first.dir / "away"
    first.data.rename(away)
    first.data.mkdir()
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "asked")
    assert first.state("class") == "none"
    first.data.rmdir()
    away.rename(first.data)
    until(first.connected, "started")
