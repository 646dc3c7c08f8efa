"""The launcher against real database servers: files that are lost, damaged, or not this member's."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal

import _launcher_cases
import pytest
from _launcher_cases import STRANGER, fake_server, fill, refused
from _launcher_lib import ASK, IDLE, REFUSE, SCHEMA, Cluster, Member, tool, until
from _loopback import LoopbackBackend
from test_scenarios import OnLoopback, rot

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import Entry
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess

cluster = _launcher_cases.cluster  # fixture


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
    # A hole shows where a record behind it says what is committed.
    until(lambda: b'"commit_index"' in first.file.read_bytes().rpartition(b'"index"')[2], "the last entry is committed")
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


# Damaged records ----------------------------------------------------------------------------------------------------
RECORD = re.compile(rb"OVSDB CLUSTER \d+ [0-9a-f]{40}\n[^\n]*\n")


def damage(member: Member, place: str) -> None:
    """Change bytes of the file as a disk does; the row `rotten` is followed by others."""
    raw = bytearray(member.file.read_bytes())
    at = raw.index(b'"rotten"')
    if place == "a bit":
        raw[at + 2] ^= 1
    elif place == "64 bytes":
        raw[at : at + 64] = bytes(64)
    elif place == "a bit of a record's first line":
        raw[raw.rindex(b"OVSDB CLUSTER", 0, at) + 3] ^= 1
    elif place == "a record's end and the next first line":
        raw[raw.index(b"OVSDB CLUSTER", at) - 4 : raw.index(b"OVSDB CLUSTER", at) + 60] = bytes(64)
    elif place == "a bit of the snapshot":
        raw[5000] ^= 1
    member.file.write_bytes(raw)


@pytest.mark.parametrize("stop", ["clean", "crash"])
@pytest.mark.parametrize(
    "place",
    [
        "a bit",
        "64 bytes",
        "a bit of a record's first line",
        "a record's end and the next first line",
        "a bit of the snapshot",
    ],
)
def test_a_file_with_a_damaged_record_is_not_started(cluster: Cluster, place: str, stop: str) -> None:
    """The server would drop this record and all behind it, and take part. More than 4096 bytes follow the damage."""
    first = cluster.found()
    fill(first, '"row":{"name":"rotten"}')
    fill(first, *[f'"row":{{"name":"{number:0500}"}}' for number in range(20)])
    if stop == "clean":
        first.terminate()
    else:
        first.kill()
    assert first.examined()["decision"] == "start"
    damage(first, place)
    refused(first, ASK, "broken", "is damaged")


@pytest.mark.parametrize("end", ["cut", "cut in a first line", "cut after a hash", "zeros", "noise", "a bit"])
def test_a_torn_end_is_left_to_the_server(cluster: Cluster, end: str) -> None:
    first = cluster.found()
    first.kill()
    raw = bytearray(first.file.read_bytes())
    last = raw.rindex(b"OVSDB CLUSTER")
    if end == "zeros":
        raw += bytes(5000)
    elif end == "noise":
        raw += bytes(range(256)) * 9
    elif end == "a bit":
        raw[-5] ^= 1
    else:
        stop = {"cut": -15, "cut in a first line": last + 9, "cut after a hash": raw.index(b"\n", last)}[end]
        del raw[stop:]
    first.file.write_bytes(raw)
    assert first.examined()["class"] == "member"
    first.up()


def test_a_torn_end_counts_up_to_its_last_readable_entry(cluster: Cluster) -> None:
    """The witness knows of the entry that is torn: without it this is an old copy."""
    first = cluster.found()
    fill(first, '"row":{"name":"last"}')
    first.kill()
    records = RECORD.findall(first.file.read_bytes())
    last = max(n for n, record in enumerate(records) if b'"last"' in record)
    first.file.write_bytes(b"".join(records[: last + 1]))
    whole = first.examined()
    assert whole["decision"] == "start"
    raw = bytearray(first.file.read_bytes())
    raw[-30] ^= 1
    first.file.write_bytes(raw)
    assert int(first.examined()["last_index"]) == int(whole["last_index"]) - 1
    (first.dir / "record.witness").write_text(f"server {first.sid} {whole['last_index']} -\n")
    refused(first, ASK, "outdated-copy", f"known to have had {whole['last_index']}")


def test_no_acknowledged_row_is_lost_by_a_damaged_record(daemons: None) -> None:
    """The member with the damage and the one that was away would be a majority without the rows."""
    with LoopbackBackend() as backend:
        backend.run()
        site, (first, second, third) = OnLoopback(backend), backend.hosts
        third.power_off()
        for _row in range(20):
            site.write()
        second.power_off()
        first.power_off()
        rot(second.file)
        second.power_on()
        third.power_on()
        until(lambda: "is damaged" in (second.root / "state/reason").read_text(), "the damage is reported")
        assert second.server_pid() is None
        first.power_on()
        until(lambda: backend.leader, "a leader", 30)
        backend.run()
        assert site.rows() == {1: 20, 2: 20, 3: 20}
        assert [path.name for path in second.data.glob("*.broken.*")]


def test_a_loss_stays_visible_after_newer_writes(daemons: None) -> None:
    """The second host has lost its memory with the end of its file, so its launcher notices nothing; the first host remembers the rows."""
    with LoopbackBackend() as backend:
        for host in backend.hosts:
            host.configure(backend.hosts, OVN_WITNESS_SECONDS="0.2")
        backend.run()
        site, (first, second, third) = OnLoopback(backend), backend.hosts
        third.power_off()
        for _row in range(3):
            site.write()

        def sampled() -> bool:
            status, entry = first.member.ask().status, first.member.observe().witness_entry
            return status is not None and entry is not None and entry[1] == status.log_next - 1

        until(sampled, "the first host knows of the rows")
        second.power_off()
        first.power_off()
        raw = second.file.read_bytes()
        second.file.write_bytes(raw[: raw.rindex(b"OVSDB CLUSTER", 0, raw.index(b'"scenario_0"'))])
        (second.record.parent / f"{second.record.name}.witness").unlink()
        second.power_on()
        third.power_on()
        until(lambda: backend.leader, "a leader without the rows", 30)
        for _row in range(9):
            site.write()
        leader = backend.leader
        assert leader is not None
        first.is_on = True
        lost = first.member.observe().witness_entry
        assert lost is not None
        until(lambda: leader.member.ask().terms.contradicts(Entry(*lost)), "the terms of the new log")
        with pytest.raises(
            Refused, match=rf"{first.id} remembers log entry .* of the leader {leader.id} has another one there"
        ):
            backend.run()
        assert first.server_pid() is None

        def reasons() -> set[str]:
            return {reason.code for reason in assess([host.member.ask() for host in backend.hosts]).reasons}

        assert "lost_writes" in reasons(), "of a member that is down"
        first.start()
        until(lambda: first.member.ask().terms.lost, "the first member has found out")
        assert "lost_writes" in reasons()
        first.stop()
        first.start()
        reason = first.root / "state/reason"
        until(lambda: first.connected or "is damaged" in reason.read_text(), "the server has read its file again")
        backend.run()  # a file with a commit beyond a truncation never starts again: then the member is replaced
        until(lambda: first.connected and "lost_writes" in reasons(), "the loss under a new server id, too")


def test_a_member_without_log_entries_is_no_dead_join(cluster: Cluster) -> None:
    """Right after a compaction the file is one snapshot; a cut-off join can leave just that, without the joiner in it."""
    members = cluster.complete()
    third = members[2]
    third.kill()
    first_record = re.match(rb"OVSDB CLUSTER \d+ [0-9a-f]{40}\n([^\n]*)\n", third.file.read_bytes())
    assert first_record is not None
    header = json.loads(first_record[1])
    for listed, file_class in ((True, "member"), (False, "dead-join")):
        header["prev_servers"] = {third.sid: third.address} if listed else {STRANGER: "tcp:192.0.2.1:6643"}
        body = json.dumps(header, separators=(",", ":")).encode() + b"\n"
        third.file.write_bytes(b"OVSDB CLUSTER %d %s\n%s" % (len(body), hashlib.sha1(body).hexdigest().encode(), body))

        def is_found(expected: str = file_class) -> bool:
            # It knows of more entries than the file gets here, and what writes that down may outlive its launcher for a moment.
            (third.dir / "record.witness").unlink(missing_ok=True)
            return third.examined()["class"] == expected

        until(is_found, f"its file is a {file_class}")


def test_two_failed_starts_mark_the_file_until_the_next_attempt(cluster: Cluster) -> None:
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


def test_mark_of_another_file_is_ignored(cluster: Cluster) -> None:
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


def test_a_killed_server_is_reported_as_such(cluster: Cluster) -> None:
    """Not with what was noticed about the file before."""
    members = cluster.complete()
    third = members[2]
    pid = third.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert third.process is not None
    assert third.process.wait(timeout=10) == 137
    assert "ovsdb-server ended with code 137: nothing was said." in third.messages()


def test_a_standalone_file_is_refused(cluster: Cluster) -> None:
    tool("create", cluster.members[0].file, SCHEMA)
    cluster.publish(permit="m1")
    refused(cluster.members[0], REFUSE, "standalone", "standalone database")


def test_a_retired_cluster_is_refused(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.publish(cid=STRANGER, retired_cids=f"{STRANGER[::-1]}\n{first.cid}")
    refused(first, REFUSE, "retired-cid", first.cid)


def test_a_server_that_left_for_good_is_refused(cluster: Cluster) -> None:
    first = cluster.found()
    first.kill()
    cluster.publish(retired_sids=f"{STRANGER}\n{first.sid}", some_key_of_the_future="yes")
    refused(first, REFUSE, "retired-sid", first.sid)
    cluster.publish(retired_sids=STRANGER)
    assert first.examined()["decision"] == "start"


@pytest.mark.parametrize("state", ["absent", "gone"])
def test_a_former_member_is_idle_and_no_peer(cluster: Cluster, state: str) -> None:
    first = cluster.found()
    first.kill()
    cluster.declare(first, state)
    refused(first, IDLE, "member", f"the record says {state}")
    assert cluster.members[1].examined()["decision"] == "join"
    cluster.declare(cluster.members[2], state)
    assert cluster.members[1].examined()["decision"] == "ask", "nobody is left to join"


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


def test_a_client_cannot_forge_the_state_of_the_file(cluster: Cluster) -> None:
    """`ovsdb-tool show-log` prints comments of transactions as they are."""
    first = cluster.found()
    comment = 'x\\nrecord 99:\\n note: \\"left\\"\\n commit_index: 9999\\n remote_addresses: tcp:127.0.9.9:6643'
    fill(first, '"row":{}', comment=comment)
    first.kill()
    assert first.examined()["class"] == "member"
