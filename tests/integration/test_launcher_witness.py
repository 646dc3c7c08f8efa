"""The launcher's witness against real servers: an old copy of a member never starts, and an ordinary restart always does."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest
from _launcher_lib import ASK, DATABASE, Cluster, Member, log_terms, until
from _waits import stays

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    merge_cluster_witness,
    parse_cluster_witness,
    parse_witness,
    render_cluster_witness,
    reported_by_leader,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import parse_cluster_status
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import NO_SID


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    made = Cluster()
    for member in made.members:
        member.env["OVN_WITNESS_SECONDS"] = "0.2"
    yield made
    made.close()


def insert(member: Member, name: str, size: int = 1) -> bool:
    """One logical switch; whether the cluster has acknowledged it."""
    row = f'{{"name":"{name}","external_ids":["map",[["k","{"x" * size}"]]]}}'
    operation = f'{{"op":"insert","table":"Logical_Switch","row":{row}}}'
    done = subprocess.run(
        ["ovsdb-client", "-t", "5", "transact", f"unix:{member.sock}", f'["{DATABASE}",{operation}]'],
        check=False,
        capture_output=True,
        text=True,
        timeout=20,
    )
    return '"uuid"' in done.stdout


def witness(member: Member) -> Path:
    return member.dir / "record.witness"


def known(member: Member) -> int:
    """The highest index that the witness of this member knows of it."""
    return int(member.examined()["witness"] or 0)


def last(member: Member) -> int:
    return int(member.examined()["last_index"])


def committed(member: Member) -> tuple[int, int]:
    """Index and term of the last entry that the witness of this member has seen to be committed."""
    for line in witness(member).read_text().splitlines() if witness(member).exists() else ():
        if line.startswith(f"committed {member.sid} "):
            term, index = line.split()[2:]
            return int(index), int(term)
    return 0, 0


def insert_alone(leader: Member, name: str) -> None:
    """Its leader writes this one, and nobody acknowledges it: the other members do not answer."""
    row = f'["{DATABASE}",{{"op":"insert","table":"Logical_Switch","row":{{"name":"{name}"}}}}]'
    with subprocess.Popen(["ovsdb-client", "transact", f"unix:{leader.sock}", row], stdout=subprocess.PIPE) as client:
        until(lambda: f'"{name}"' in leader.file.read_text(), f"{name} in the file of {leader.id}")
        assert client.poll() is None
        client.kill()


def freeze(members: t.Iterable[Member]) -> None:
    for member in members:
        pid = member.server_pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)


def recreate_pod(member: Member) -> None:
    """What the launcher remembers itself is gone with its pod; the next pod sees what Kubernetes keeps of it."""
    kept = parse_cluster_witness(witness(member).read_text())
    (member.record / "witness").write_text(render_cluster_witness(kept))
    witness(member).unlink()


def asked(member: Member, file_class: str) -> str:
    """The launcher does not start this file, and keeps it; why."""
    before = member.file.read_bytes()
    facts = member.examined()
    assert (facts["class"], facts["decision"]) == (file_class, "ask"), facts
    assert member.call("run").returncode == ASK
    assert member.server_pid() is None
    assert member.file.read_bytes() == before
    return facts["reason"]


# An old copy -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("database", ["northbound", "southbound"])
def test_an_old_copy_of_the_first_member_is_not_started_after_a_clean_stop(cluster: Cluster, database: str) -> None:
    first = cluster.members[0]
    if database == "southbound":
        first.env["OVN_DATABASE"] = database
        first.sock, first.ctl, first.pid_file = (first.run_dir / f"ovnsb_db.{end}" for end in ("sock", "ctl", "pid"))
    cluster.publish(permit=first.id)
    start(first)
    write_chassis(first, database, "a")
    first.terminate()
    shutil.copy2(first.file, first.dir / "old")
    old = last(first)
    start(first)
    write_chassis(first, database, "b")
    first.terminate()
    new = last(first)
    shutil.copy2(first.dir / "old", first.file)
    reason = asked(first, "outdated-copy")
    assert f"its last index is {old}" in reason
    assert str(new) in reason


def start(member: Member) -> None:
    member.start()
    until(lambda: member.call("ready").returncode == 0, "ready")


def write_chassis(member: Member, database: str, name: str) -> None:
    """A row in a table that both have in some form."""
    table, schema = ("Chassis_Private", "OVN_Southbound") if database == "southbound" else ("Logical_Switch", DATABASE)
    operation = f'{{"op":"insert","table":"{table}","row":{{"name":"{name}"}}}}'
    done = subprocess.run(
        ["ovsdb-client", "-t", "5", "transact", f"unix:{member.sock}", f'["{schema}",{operation}]'],
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert '"uuid"' in done.stdout, done.stdout


def test_a_copy_from_before_an_election_is_not_started_after_a_clean_stop(cluster: Cluster) -> None:
    """It has every entry, but not the vote that the member has given since."""
    members = cluster.complete()
    follower = next(m for m in members if not m.leads())
    follower.terminate()
    shutil.copy2(follower.file, follower.dir / "old")
    follower.up()
    leader = cluster.leader()
    leader.kill()
    until(lambda: next((m for m in members if m is not leader and m.leads()), None), "a new leader")
    follower.terminate()
    assert follower.examined()["decision"] == "start"
    shutil.copy2(follower.dir / "old", follower.file)
    asked(follower, "outdated-copy")


@pytest.mark.parametrize("kept_by", ["the host", "Kubernetes"])
def test_an_old_copy_is_not_started_after_a_crash(cluster: Cluster, kept_by: str) -> None:
    """What the sampled witness knows is enough, once the next sample has been taken."""
    members = cluster.complete()
    follower = next(m for m in members if not m.leads())
    follower.terminate()
    shutil.copy2(follower.file, follower.dir / "old")
    follower.up()
    for number in range(5):
        assert insert(cluster.leader(), f"s{number}")
    end = last(cluster.leader())
    until(lambda: known(follower) >= end, "sampled")
    follower.kill()
    if kept_by == "Kubernetes":
        recreate_pod(follower)
        assert follower.examined()["decision"] == "start"
    shutil.copy2(follower.dir / "old", follower.file)
    assert f"this member is known to have had {known(follower)}" in asked(follower, "outdated-copy")


@pytest.mark.parametrize("kept_by", ["the host", "Kubernetes"])
def test_an_old_copy_as_long_but_with_entries_that_were_never_committed_is_not_started(
    cluster: Cluster, kept_by: str
) -> None:
    """Its older term tells: with its vote, a member that lacks acknowledged writes could win."""
    cluster.publish(election_timer="4000")  # a leader that nobody hears stays one for a while
    members = cluster.complete()
    leader = cluster.leader()
    others = [member for member in members if member is not leader]
    before = last(leader)
    freeze(others)
    # A server takes one write after the other; changes of the cluster itself make its log longer still.
    insert_alone(leader, "u")
    leader.appctl("cluster/change-election-timer", DATABASE, "2000")
    leader.appctl("cluster/kick", DATABASE, others[0].address)
    until(lambda: max(log_terms(leader)) >= before + 3, "three entries that are not committed")
    shutil.copy2(leader.file, leader.dir / "old")
    leader.kill()
    old = last(leader)
    for member in others:
        member.kill()
    for member in others:
        member.start()
    for member in others:
        until(member.connected, f"{member.id} connected")
    assert insert(cluster.leader(), "a")
    leader.up()
    end = last(cluster.leader())
    until(lambda: committed(leader)[0] == end, "sampled")
    leader.kill()
    if kept_by == "Kubernetes":
        recreate_pod(leader)
    assert leader.examined()["decision"] == "start"
    shutil.copy2(leader.dir / "old", leader.file)
    assert known(leader) == end < old  # so the index does not tell
    assert f"known to have had {end} of term" in asked(leader, "outdated-copy")


def test_an_old_copy_longer_than_the_file_of_a_clean_stop_is_not_started(cluster: Cluster) -> None:
    """Of an older term, it cannot be newer; here only what the clean stop recorded tells."""
    first = cluster.found()
    first.terminate()
    facts = first.examined()
    assert facts["decision"] == "start"
    index, term = int(facts["last_index"]), int(facts["last_term"])
    witness(first).write_text(f"stopped {first.sid} {term + 1} {index - 1} 0a\n")
    assert f"at its last clean stop at {index - 1} it was {term + 1}" in asked(first, "outdated-copy")
    witness(first).write_text(f"stopped {first.sid} {term - 1} {index + 1} 0a\n")
    asked(first, "outdated-copy")
    witness(first).write_text(f"stopped {first.sid} {term} {index - 1} 0a\n")
    assert first.examined()["decision"] == "start"


def test_an_old_copy_is_noticed_by_what_the_record_carries(cluster: Cluster) -> None:
    """The machine came back with an old witness beside its old file; the one in the record's directory is newer."""
    first = cluster.found()
    insert(first, "a")
    first.terminate()
    witness(first).unlink()
    assert first.examined()["decision"] == "start"
    (first.record / "witness").write_text(f"server {first.sid} 4711 -\n")
    assert "known to have had 4711" in asked(first, "outdated-copy")
    (first.record / "witness").write_text(f"peer {first.sid[:4]} 4712\n")
    assert "known to have had 4712" in asked(first, "outdated-copy")
    (first.record / "witness").write_text("server 11111111-2222-4333-8444-555555555555 4711 -\npeer 1111 5\n")
    assert first.examined()["decision"] == "start"


def test_an_old_copy_that_the_record_gives_up_is_moved_aside_and_joins(cluster: Cluster) -> None:
    members = cluster.complete()
    third = members[2]
    third.terminate()
    shutil.copy2(third.file, third.dir / "old")
    third.up()
    assert insert(members[0], "a")
    third.terminate()
    shutil.copy2(third.dir / "old", third.file)
    old = third.sid
    asked(third, "outdated-copy")
    leader = cluster.leader()
    leader.appctl("cluster/kick", DATABASE, old)
    until(lambda: f"({old[:4]} at" not in cluster.leader().cluster_status(), "unlisted")
    cluster.declare(third, "expected", old)
    third.up()
    assert third.sid != old
    assert [p.name for p in third.data.glob("*.outdated-copy.*")]
    third.terminate()
    assert third.examined()["decision"] == "start"


# Another disk ------------------------------------------------------------------------------------------------------
class Disks:
    """Two file systems that can be mounted where the first member has its database."""

    def __init__(self, member: Member) -> None:
        self.member, self.image = member, member.dir / "image"
        for name in ("one", "two"):
            subprocess.run(["truncate", "-s", "32M", f"{self.image}.{name}"], check=True, timeout=20)
            subprocess.run(["mkfs.ext4", "-q", f"{self.image}.{name}"], check=True, timeout=60)

    def mount(self, name: str) -> None:
        subprocess.run(["mount", "-o", "loop", f"{self.image}.{name}", self.member.data], check=True, timeout=20)

    def unmount(self) -> None:
        """What a launcher has left in the background may still look at the file."""
        command = ["umount", str(self.member.data)]
        until(lambda: subprocess.run(command, check=False, timeout=20).returncode == 0, "unmounted")


@pytest.fixture
def disks(cluster: Cluster) -> t.Iterator[Disks]:
    """The first disk is mounted."""
    made = Disks(cluster.members[0])
    made.mount("one")
    yield made
    for member in cluster.members:
        member.kill()
    while os.path.ismount(made.member.data):
        made.unmount()


def test_a_file_on_another_disk_is_not_started(cluster: Cluster, disks: Disks) -> None:
    first = cluster.found()
    until(lambda: known(first), "sampled")
    first.terminate()
    shutil.copy2(first.file, first.dir / "file")
    assert first.examined()["decision"] == "start"
    disks.unmount()
    disks.mount("two")
    shutil.copy2(first.dir / "file", first.file)
    assert "another disk" in asked(first, "other-disk")
    disks.unmount()
    disks.mount("one")
    first.up()
    first.terminate()


def test_a_member_whose_disk_is_not_mounted_waits_for_it(cluster: Cluster, disks: Disks) -> None:
    """The second disk stands for whatever lies under the mount point: this machine's file systems need not have an identity."""
    first = cluster.found()
    sid = first.sid
    until(lambda: known(first), "sampled")
    first.terminate()
    disks.unmount()
    disks.mount("two")
    facts = first.examined()
    assert (facts["class"], facts["decision"]) == ("disk-missing", "ask")
    assert "Mount it," in facts["reason"]
    assert "ovn_central_permit=lost_disk on machines" in facts["reason"]
    first.start(OVN_WAIT="1")
    until(lambda: first.state("class") == "disk-missing", "waiting")
    disks.unmount()
    disks.mount("one")
    until(first.connected, "started")
    assert first.sid == sid


def test_a_file_that_was_deleted_is_lost_and_its_disk_is_not_missing(cluster: Cluster, disks: Disks) -> None:
    first = cluster.found()
    until(lambda: known(first), "sampled")
    first.kill()
    first.file.unlink()
    assert first.examined()["class"] == "none"


def test_a_member_that_was_given_up_joins_on_the_disk_that_is_there(cluster: Cluster, disks: Disks) -> None:
    members = cluster.complete()
    first = members[0]
    old = first.sid
    until(lambda: known(first), "sampled")
    first.terminate()
    disks.unmount()
    disks.mount("two")
    leader = cluster.leader()
    leader.appctl("cluster/kick", DATABASE, old)
    until(lambda: f"({old[:4]} at" not in cluster.leader().cluster_status(), "unlisted")
    cluster.declare(first, "replacing", old)
    assert first.examined()["class"] == "disk-missing"
    cluster.declare(first, "expected", old)
    first.up()
    assert first.sid != old
    cluster.declare(first, "confirmed", first.sid)
    until(lambda: known(first), "sampled")
    first.kill()
    assert first.examined()["decision"] == "start"


def test_a_member_that_has_joined_again_and_is_not_confirmed_yet_waits_for_its_disk(
    cluster: Cluster, disks: Disks
) -> None:
    """Only the id that was given up is done with; that of the file on the disk that is away is a member's."""
    first = cluster.found()
    sid = first.sid
    until(lambda: known(first), "sampled")
    first.terminate()
    disks.unmount()
    disks.mount("two")
    cluster.declare(first, "expected", "7" * 8 + "-0000-4000-8000-000000000000")
    facts = first.examined()
    assert (facts["class"], facts["decision"], facts["sid"]) == ("disk-missing", "ask", sid)
    cluster.declare(first, "expected", NO_SID)
    assert first.examined()["class"] == "disk-missing"
    cluster.declare(first, "expected", sid)
    assert first.examined()["class"] == "none"


# What a run writes for the next pod --------------------------------------------------------------------------------
def test_what_a_leader_knows_refuses_no_good_file(cluster: Cluster) -> None:
    """15 random kills under writes: what its leader and launcher knew of a member a moment before, its file has after a crash."""
    members = cluster.complete()
    sids = {member.sid: member for member in members}
    random.seed(11)
    number, terms = 0, set()
    kept = ClusterWitness(members[0].cid)
    for attempt in range(15):
        victim = random.choice(members)
        end = time.monotonic() + random.uniform(0, 0.3)
        while time.monotonic() < end:
            number += 1
            insert(cluster.leader(), f"s{number}", random.choice([1, 3000]))
        told = reported_by_leader(parse_cluster_status(cluster.leader().cluster_status()), sids)
        kept = merge_cluster_witness(kept, ClusterWitness(kept.cluster_id, told))
        if attempt % 4 == 0:
            victim.appctl("ovsdb-server/compact", DATABASE)
        victim.kill()
        witness(victim).unlink(missing_ok=True)
        (victim.record / "witness").write_text(render_cluster_witness(kept))
        facts = victim.examined()
        assert facts["decision"] == "start", (attempt, facts)
        for sid, one in told.items():
            if one.entry is not None:
                terms.add(one.entry.term)
                assert log_terms(sids[sid]).get(one.entry.log_index, one.entry.term) == one.entry.term
        victim.up()
        until(lambda: any(m.leads() for m in members), "a leader")
    assert len(terms) > 1
    assert kept.members.keys() == sids.keys()


# What it records ---------------------------------------------------------------------------------------------------
def test_the_leader_remembers_its_peers_and_everybody_itself(cluster: Cluster) -> None:
    members = cluster.complete()
    assert insert(cluster.leader(), "a")

    def peers_known() -> bool:
        """An election, as a busy machine has them, adds an entry, and another leader remembers."""
        leader = cluster.leader()
        peers = {member.sid[:4]: last(leader) for member in members if member is not leader}
        return witness(leader).exists() and parse_witness(witness(leader).read_text()).peers == peers

    until(peers_known, "the peers")
    for member in members:
        until(lambda member=member: known(member) == last(member), f"{member.id} itself")
        assert parse_witness(witness(member).read_text()).index_of(member.sid) == known(member)


def test_the_term_is_that_of_the_committed_entry(cluster: Cluster) -> None:
    """After changes of the leader, in the log or in the snapshot alone, and on a member that counted up its own term while it was cut off."""
    members = cluster.complete()
    for number in range(2):
        leader = cluster.leader()
        leader.terminate()
        until(lambda leader=leader: next((m for m in members if m is not leader and m.leads()), None), "a new leader")
        leader.up()
        assert insert(cluster.leader(), f"s{number}", 100_000)

    def knows_the_end(member: Member) -> bool:
        end = last(cluster.leader())  # an election adds an entry
        return committed(member) == (end, log_terms(member).get(end))

    for member in members:
        until(lambda member=member: knows_the_end(member), f"{member.id} knows the term")
    assert len(set(log_terms(members[0]).values())) > 1
    for member in members:
        member.appctl("ovsdb-server/compact", DATABASE)
        until(lambda member=member: len(log_terms(member)) == 1, f"{member.id} compacted")
        witness(member).unlink()
        until(lambda member=member: knows_the_end(member), f"{member.id} knows the term of its snapshot")
    lone, *others = members
    for member in others:
        member.kill()
    lone.kill()
    before = committed(lone)
    lone.start()
    stays(lambda: committed(lone) == before, "no new committed entry", 4)
    lone.kill()
    assert lone.examined()["decision"] == "start"


def is_running(*command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().split(b"\0")[:-1] == [word.encode() for word in command]:
                return True
    return False


def test_a_loss_since_the_last_sample_is_recorded_at_a_clean_stop(cluster: Cluster) -> None:
    """Without this, the end of the new log would replace what the witness remembers of the old one."""
    first = cluster.found()
    first.terminate()
    first.up(OVN_WITNESS_SECONDS="3607")

    until(lambda: is_running("sleep", "3607"), "the samples after the start")
    end, term = committed(first)
    witness(first).write_text(f"committed {first.sid} {term - 1} {end}\n")
    first.terminate()
    assert f"lost {first.cid} {term - 1} {end}" in witness(first).read_text().splitlines()


def test_an_idle_server_costs_no_write(cluster: Cluster) -> None:
    first = cluster.found()
    until(lambda: committed(first)[0] == last(first), "sampled")
    before = witness(first).stat().st_mtime_ns
    stays(lambda: witness(first).stat().st_mtime_ns == before, "no write to the witness", 1.5)


def test_a_witness_that_cannot_be_written_keeps_nobody_down(cluster: Cluster) -> None:
    first = cluster.found()
    first.terminate()
    witness(first).unlink()
    first.up(OVN_WITNESS_FILE="/proc/nowhere/witness")
    until(lambda: "An old copy of this member would not be noticed" in first.messages(), "told")
    assert first.terminate() == 0


# What is ordinary --------------------------------------------------------------------------------------------------
def test_kills_under_writes_are_no_old_copies(cluster: Cluster) -> None:
    """30 random kills of any member at any moment, with compactions and torn tails: each of them starts again."""
    members = cluster.complete()
    random.seed(5)
    number = 0
    for attempt in range(30):
        victim = random.choice(members)
        writer = random.choice([member for member in members if member is not victim])
        end = time.monotonic() + random.uniform(0, 0.4)
        while time.monotonic() < end:
            number += 1
            insert(writer, f"s{number}", random.choice([1, 3000]))
        if attempt % 4 == 0:
            victim.appctl("ovsdb-server/compact", DATABASE)
        whole = True
        if attempt % 5 == 4:
            assert victim.terminate() == 0
        else:
            victim.kill()
            if attempt % 3 == 0:
                # What was written last, and has not reached the disk: not more than what follows the last commit.
                whole = False
                raw = victim.file.read_bytes()
                victim.file.write_bytes(raw[: -random.randint(1, 10)])
        facts = victim.examined()
        assert (facts["class"], facts["decision"]) == ("member", "start"), (attempt, facts)
        if facts["witness"]:
            assert int(facts["last_index"]) >= int(facts["witness"])
            index, term = committed(victim)
            assert int(facts["last_term"]) >= term
            assert not whole or log_terms(victim).get(index, term) == term
        victim.up()


def test_entries_that_were_never_committed_may_vanish(cluster: Cluster) -> None:
    """A leader without followers appends, stops cleanly, and learns at its next start that others went on without it."""
    cluster.publish(
        election_timer="4000"
    )  # a leader that nobody hears stays one for a while, and the others elect once
    members = cluster.complete()
    leader = cluster.leader()
    others = [member for member in members if member is not leader]
    freeze(others)
    insert_alone(leader, "u0")
    leader.terminate()
    lonely = last(leader)
    for member in others:
        member.kill()
    for member in others:
        member.start()
    for member in others:
        until(member.connected, f"{member.id} connected")
    assert 'u0"' in leader.file.read_text()
    assert last(others[0]) <= lonely  # the new leader's own entry has taken the place of the first of them
    leader.up()
    leader.kill()
    assert leader.examined()["decision"] == "start"
    leader.up()
