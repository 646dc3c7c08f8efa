"""The launcher against real database servers: every row of its decision table."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest
from _launcher_lib import ASK, DATABASE, IDLE, REFUSE, SCHEMA, Cluster, Member, tool, until

STRANGER = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def fill(member: Member, *rows: str, comment: str = "") -> None:
    """Insert logical switches, given as JSON members of the insert operation."""
    operations = [f'{{"op":"insert","table":"Logical_Switch",{row}}}' for row in rows]
    operations.append(f'{{"op":"comment","comment":"{comment}"}}')
    subprocess.run(
        ["ovsdb-client", "-t", "5", "transact", f"unix:{member.sock}", f'["{DATABASE}",{",".join(operations)}]'],
        check=True,
        capture_output=True,
        timeout=20,
    )


def refused(member: Member, code: int, file_class: str, words: str) -> None:
    """`check` and `run` both stop with this code, say why, and leave every file as it is."""
    before = sorted((p.name, p.stat().st_size) for p in member.data.iterdir() if "~lock~" not in p.name)
    for verb in ("check", "run"):
        answer = member.call(verb)
        assert answer.returncode == code, answer.stderr
        assert words in answer.stderr
        assert member.state("class") == file_class
        assert words in member.state("reason")
        assert member.state() == {ASK: "ask", REFUSE: "refuse", IDLE: "idle"}[code]
    assert before == sorted((p.name, p.stat().st_size) for p in member.data.iterdir() if "~lock~" not in p.name)
    assert member.server_pid() is None


# First creation and the permit -------------------------------------------------------------------------------------
def test_creation_needs_the_permit_and_uses_the_timer(cluster: Cluster) -> None:
    first = cluster.members[0]
    refused(first, ASK, "none", "the permit to create one is given to nobody")
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
    begin = time.monotonic()
    first.up(OVN_CLIENT_ENDPOINTS=f"{second.endpoint},{second.endpoint},{third.endpoint}")
    assert time.monotonic() - begin < 6


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.06, 0.15])
def test_a_creation_cut_off_anywhere_is_resumed(cluster: Cluster, delay: float) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.start()
    time.sleep(delay)
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


# Start from the file -----------------------------------------------------------------------------------------------
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
        "OVN_BACKLOG_THRESHOLD": "600 1000000",
        "OVN_MEMORY_TRIM": "off",
        "OVN_LOG_LEVELS": "unixctl:file:dbg",
    }
    cluster.found()
    until(lambda: "memory trimming after compaction disabled" in first.log.read_text(), "trim")
    request = r'set-backlog-threshold\["OVN_Northbound","600","1000000"\]'
    assert re.search(request, first.log.read_text())
    assert re.search(r"unixctl +OFF +\S+ +DBG", first.appctl("vlog/list"))


# Joining -----------------------------------------------------------------------------------------------------------
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


# Lost and damaged files --------------------------------------------------------------------------------------------
def test_a_lost_volume_creates_nothing(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    first.file.unlink()
    cluster.publish(permit=first.id)
    refused(first, ASK, "none", "its database is lost")


@pytest.mark.parametrize(
    ("damage", "file_class"),
    [
        ("empty", "empty"),
        ("magic", "unidentifiable"),
        ("header", "broken"),
        ("torn header", "broken"),
        ("hole", "broken"),
    ],
)
def test_a_damaged_file_is_reported_and_kept(cluster: Cluster, damage: str, file_class: str) -> None:
    first = cluster.found()
    first.kill()
    raw = bytearray(first.file.read_bytes())
    if damage == "empty":
        raw = bytearray()
    elif damage == "magic":
        raw[3] ^= 0x20
    elif damage == "header":
        raw[300] ^= 0x20
    elif damage == "torn header":
        raw = raw[:5000]
    elif damage == "hole":
        records = re.findall(rb"OVSDB CLUSTER \d+ [0-9a-f]{40}\n[^\n]*\n", bytes(raw))
        last = max(n for n, record in enumerate(records) if n and b'"index"' in record)
        raw = bytearray(b"".join(records[:last] + records[last + 1 :]))
    first.file.write_bytes(raw)
    refused(first, ASK, file_class, "lost" if damage == "empty" else str(first.file))


def test_a_torn_tail_is_left_to_the_server(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    first.file.write_bytes(first.file.read_bytes()[:-15])
    assert first.examined()["class"] == "member"
    first.up()


def test_a_member_without_log_entries_is_told_from_a_dead_join(cluster: Cluster) -> None:
    """Right after a compaction the file is one snapshot; a cut-off join can leave just that, without the joiner in it."""
    members = cluster.complete()
    third = members[2]
    third.kill()
    (third.dir / "record.witness").unlink(missing_ok=True)  # it knows of more entries than the file gets here
    first_record = re.match(rb"OVSDB CLUSTER \d+ [0-9a-f]{40}\n([^\n]*)\n", third.file.read_bytes())
    assert first_record is not None
    header = json.loads(first_record[1])
    for listed, file_class in ((True, "member"), (False, "dead-join")):
        header["prev_servers"] = {third.sid: third.address} if listed else {STRANGER: "tcp:192.0.2.1:6643"}
        body = json.dumps(header, separators=(",", ":")).encode() + b"\n"
        third.file.write_bytes(b"OVSDB CLUSTER %d %s\n%s" % (len(body), hashlib.sha1(body).hexdigest().encode(), body))
        assert third.examined()["class"] == file_class


def fake_server(cluster: Cluster, words: str) -> str:
    """A PATH with an ovsdb-server that says this and fails; it counts its starts in the file `starts`."""
    fake = cluster.root / "bin"
    fake.mkdir()
    (fake / "ovsdb-server").write_text(f'#!/bin/sh\necho >>"$0.starts"\necho "{words}" >&2\nexit 1\n')
    (fake / "ovsdb-server").chmod(0o755)
    return f"{fake}:{os.environ['PATH']}"


def test_what_two_starts_say_of_a_file_is_believed_until_the_next_attempt(cluster: Cluster) -> None:
    """What only the server notices must not become a restart loop, nor a verdict for ever."""
    first = cluster.found()
    first.kill()
    path = fake_server(cluster, "ovsdb-server: ovsdb error: server does not belong to cluster")
    assert first.call("check").returncode == 0
    assert first.call("run", PATH=path).returncode == ASK
    assert (cluster.root / "bin/ovsdb-server.starts").read_text() == "\n\n"
    assert first.state("class") == "dead-join"
    assert first.call("check").returncode == ASK
    facts = first.examined()
    assert (facts["class"], facts["decision"]) == ("dead-join", "ask")
    assert "can never start" in facts["reason"]
    first.up()
    assert first.examined()["class"] == "member"


def test_what_was_said_of_another_file_is_not_believed(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    path = fake_server(cluster, "ovsdb-server: ovsdb error: server does not belong to cluster")
    assert first.call("run", PATH=path).returncode == ASK
    first.file.write_bytes(first.file.read_bytes())
    assert first.call("check").returncode == 0


def test_an_ordinary_failure_keeps_the_code_of_the_server(cluster: Cluster) -> None:
    first = cluster.found()
    second = first.call("run", OVN_STATE_DIR=str(first.dir / "other"), OVN_RUN_DIR=str(first.dir / "other"))
    assert second.returncode == 1
    assert "failed to lock" in second.stderr


def test_a_killed_server_is_told_as_such(cluster: Cluster) -> None:
    """Not with what was noticed about the file before."""
    members = cluster.complete()
    third = members[2]
    pid = third.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert third.process is not None
    assert third.process.wait(timeout=10) == 137
    assert "ovsdb-server ended with code 137: nothing was said." in third.messages()


# Files that do not belong here -------------------------------------------------------------------------------------
def test_a_standalone_file_is_refused(cluster: Cluster) -> None:
    tool("create", cluster.members[0].file, SCHEMA)
    cluster.publish(permit="m1")
    refused(cluster.members[0], REFUSE, "standalone", "standalone database")


def test_a_retired_cluster_is_refused(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.publish(cid=STRANGER, retired_cids=f"{STRANGER[::-1]}\n{first.cid}")
    refused(first, REFUSE, "retired-cid", first.cid)


def test_a_foreign_cluster_is_refused(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.publish(cid=STRANGER)
    refused(first, REFUSE, "foreign-cid", STRANGER)


def test_a_foreign_sid_is_refused(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.declare(first, "confirmed", STRANGER)
    refused(first, REFUSE, "foreign-sid", first.sid)


def test_another_address_is_refused(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    first.address = "ssl:192.0.2.11:6643"
    cluster.publish()  # the record of another member, or the file of one
    refused(first, REFUSE, "foreign-address", "ssl:192.0.2.11:6643")


def test_settings_with_another_address_than_file_and_record_keep_nobody_down(cluster: Cluster) -> None:
    """A run writes the settings before it refuses a changed address; then the machine reboots."""
    first = cluster.found()
    first.kill()
    first.env["OVN_LOCAL_ADDRESS"] = "ssl:192.0.2.11:6643"
    assert first.examined()["decision"] == "start"


def test_another_database_is_refused(cluster: Cluster) -> None:
    first = cluster.members[0]
    tool("create-cluster", first.file, "/usr/share/ovn/ovn-sb.ovsschema", first.address)
    refused(first, REFUSE, "foreign-name", "OVN_Southbound")
    first.file.unlink()
    cluster.publish(permit="m1")
    assert first.call("run", OVN_SCHEMA="/usr/share/ovn/ovn-sb.ovsschema").returncode == 1
    assert not first.file.exists()


# Leaving, holding, replacing ---------------------------------------------------------------------------------------
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
        time.sleep(random.uniform(0, 0.03))
        third.kill()
        facts = third.examined()
        if facts["decision"] in ("start", "join"):
            # A torn tail can hide that the join was cut off: then the first start tells, and no second one is tried.
            third.start()
            until(lambda: third.connected() or (third.process and third.process.poll() is not None), "a result")
            if not third.connected():
                assert third.process is not None
                assert third.process.wait(timeout=5) == ASK
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
    """What a run does before the member joins anew. While the addition is being committed a kick is refused, so it is repeated."""

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


# Stopping ----------------------------------------------------------------------------------------------------------
def test_sigterm_hands_the_leadership_over(cluster: Cluster) -> None:
    cluster.complete()
    leader = cluster.leader()
    begin = time.monotonic()
    assert leader.terminate() == 0
    assert time.monotonic() - begin < 3
    assert leader.state() == "stopped"
    follower = until(lambda: next((m for m in cluster.members if m is not leader and m.leads()), None), "a new leader")
    assert "reason: leadership_transfer" in follower.cluster_status()


def test_stop_ends_the_server_quickly(cluster: Cluster) -> None:
    first = cluster.found()
    begin = time.monotonic()
    assert first.call("stop").returncode == 0
    assert time.monotonic() - begin < 3
    assert first.process is not None
    assert first.process.wait(timeout=5) == 0
    assert first.server_pid() is None
    assert first.call("stop").returncode == 0


def test_in_a_pod_the_launcher_outlives_the_stop_that_a_hook_has_called(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.up(OVN_WAIT="1")
    assert first.call("stop").returncode == 0
    assert first.process is not None
    assert first.process.poll() is None
    begin = time.monotonic()
    assert first.terminate() == 0
    assert time.monotonic() - begin < 2


def test_stop_spares_a_process_that_only_has_the_pid(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.run_dir.mkdir()
    other = subprocess.Popen(["sleep", "60"])
    first.pid_file.write_text(f"{other.pid}\n")
    assert first.call("stop").returncode == 0
    assert other.poll() is None
    other.kill()
    other.wait(timeout=5)


# Waiting for the run (pods) ----------------------------------------------------------------------------------------
def test_a_waiting_launcher_acts_when_the_record_allows_it(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "ask")
    cluster.publish(permit=first.id)
    until(first.connected, "created")
    assert first.terminate() == 0


def test_a_waiting_launcher_ends_on_sigterm(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(hold="yes")
    first.start(OVN_WAIT="1", OVN_POLL="30")
    until(lambda: first.state() == "idle", "idle")
    begin = time.monotonic()
    assert first.terminate() == 0
    assert time.monotonic() - begin < 2


def test_a_veto_lasts_until_the_record_changes(cluster: Cluster) -> None:
    first, second, _third = cluster.members
    cluster.publish(permit="m2")
    second.up()
    cluster.publish(permit="m1")
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "refuse", "refused")
    second.kill()
    time.sleep(0.5)
    assert first.state() == "refuse"
    assert not first.file.exists()


# Settings ----------------------------------------------------------------------------------------------------------
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


def test_a_client_cannot_forge_the_state_of_the_file(cluster: Cluster) -> None:
    """`ovsdb-tool show-log` prints comments of transactions as they are."""
    first = cluster.found()
    comment = 'x\\nrecord 99:\\n note: \\"left\\"\\n commit_index: 9999\\n remote_addresses: tcp:127.0.9.9:6643'
    fill(first, '"row":{}', comment=comment)
    first.kill()
    assert first.examined()["class"] == "member"


# Pods: probes, console, process 1 --------------------------------------------------------------------------------------
def test_a_waiting_launcher_is_alive_and_not_ready(cluster: Cluster) -> None:
    first = cluster.members[0]
    assert first.call("alive").returncode == 1
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "ask")
    assert first.call("alive").returncode == 0
    answer = first.call("ready")
    assert answer.returncode == 1
    assert "the permit to create one is given to nobody" in answer.stderr


def test_a_launcher_that_no_longer_looks_is_not_alive(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "ask")
    assert first.process is not None
    first.process.kill()
    os.utime(first.state_dir / "beat", (time.time() - 200, time.time() - 200))
    assert first.call("alive").returncode == 1


def test_a_member_is_ready_when_it_takes_part_in_the_recorded_cluster(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.up()
    assert first.call("ready").returncode == 0  # no cid is recorded yet
    cluster.publish(cid=first.cid, permit="")
    assert (first.call("ready").returncode, first.call("alive").returncode) == (0, 0)
    cluster.publish(cid=STRANGER)
    answer = first.call("ready")
    assert answer.returncode == 1
    assert f"not connected to {STRANGER}" in answer.stderr
    cluster.publish(cid='"],[')
    assert first.call("ready").returncode == 1


def test_a_member_without_quorum_is_alive_and_not_ready(cluster: Cluster) -> None:
    members = cluster.complete()
    for member in members[1:]:
        member.kill()
    until(lambda: not members[0].connected(), "no quorum")
    assert (members[0].call("alive").returncode, members[0].call("ready").returncode) == (0, 1)


def test_a_joiner_is_alive_and_not_ready(cluster: Cluster) -> None:
    second = cluster.members[1]
    cluster.publish(cid=STRANGER)
    second.start(OVN_WAIT="1")
    until(lambda: "joining cluster" in second.cluster_status(), "joining")
    assert (second.call("alive").returncode, second.call("ready").returncode) == (0, 1)


def test_a_frozen_server_is_neither_alive_nor_ready(cluster: Cluster) -> None:
    first = cluster.found()
    pid = first.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    begin = time.monotonic()
    assert (first.call("alive").returncode, first.call("ready").returncode) == (1, 1)
    assert 7 < time.monotonic() - begin < 12  # 5 and 3 seconds


def children(pid: int) -> set[int]:
    """All processes below this one."""
    found: set[int] = set()
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found |= {int(child)} | children(int(child))
    return found


def test_the_log_of_the_server_is_shown_on_the_console(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.env |= {"OVN_CONSOLE": "1", "OVN_WAIT": "1"}
    first.start()
    until(lambda: "given to nobody" in first.messages(), "the words of the launcher")
    cluster.publish(permit=first.id)
    until(first.connected, "connected")
    until(lambda: ": elected leader by" in first.messages(), "the words of the server")
    assert first.process is not None
    below = children(first.process.pid)
    assert first.terminate() == 0
    assert "|ovsdb_server|INFO|" in first.messages()
    assert (first.state_dir / "stderr").read_text() == ""
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), "nothing is left behind")


@pytest.mark.parametrize("log", ["", "server.log"])
@pytest.mark.parametrize(
    "words",
    [
        "ovsdb-server: ovsdb error: server does not belong to cluster",
        "2026-01-01T00:00:00Z|00003|ovsdb_server|WARN|failed to open database '/d/f.db': ovsdb error: server does not belong to cluster",
    ],
)
def test_a_failed_start_is_remembered_with_a_console_as_well(cluster: Cluster, words: str, log: str) -> None:
    first = cluster.found()
    first.kill()
    path = fake_server(cluster, words)
    answer = first.call("run", PATH=path, OVN_CONSOLE="1", OVN_LOG_FILE=log and str(first.log))
    assert answer.returncode == ASK
    assert first.state("class") == "dead-join"
    assert words in answer.stdout


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_pod_without_root_and_with_a_read_only_root_file_system(cluster: Cluster, shell: str) -> None:
    """In namespaces of its own, as process 1: nothing is written elsewhere, orphans are reaped, SIGTERM hands over and ends everything."""
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.env |= {"OVN_CONSOLE": "1", "OVN_WAIT": "1", "OVN_LOG_FILE": "", "TMPDIR": "/nowhere"}
    for path in (cluster.root, *cluster.root.rglob("*")):
        os.chown(path, 65534, 65534)
    for folder in (first.run_dir, first.state_dir):
        folder.mkdir()
        os.chown(folder, 65534, 65534)
    steps = [
        # ovsdb-server itself opens a temporary file in /tmp at each start; the launcher writes only to its directories.
        *(f"mount --bind {path} {path}" for path in (first.data, first.run_dir, first.state_dir)),
        "mount --bind /tmp /tmp",
        "mount -o remount,bind,ro /",
        f"exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs {shell} {first.launcher[0]} run",
    ]
    first.launcher = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        "\n".join(steps),
    ]
    first.up()
    assert first.process is not None
    inside = int(Path(f"/proc/{first.process.pid}/task/{first.process.pid}/children").read_text())
    enter = [
        "nsenter",
        "--target",
        str(inside),
        "--mount",
        "--pid",
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ]
    environment = os.environ | first.env

    def exec_(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*enter, *command], env=environment, check=False, capture_output=True, text=True, timeout=20
        )

    script = str(cluster.root / "ovn-raft-launcher")
    for verb in ("alive", "ready", "state"):
        assert exec_(shell, script, verb).returncode == 0, verb
    exec_("sh", "-c", "setsid sh -c 'sleep 0.1' & exit 0")  # an orphan: process 1 inherits it
    until(lambda: "Z" not in exec_("sh", "-c", "sed 's/.*) //' /proc/[0-9]*/stat | cut -c1").stdout, "no zombies")
    assert "Permission denied" not in first.messages()
    assert "Read-only" not in first.messages()
    assert exec_("touch", "/var/tmp/probe").returncode == 1
    os.kill(inside, signal.SIGTERM)
    assert first.process.wait(timeout=10) == 0
    first.process = None
    assert first.state() == "stopped"
