"""What Kubernetes keeps of how new the members' files are: never lowered, never of another cluster, never more than is certain."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    Entry,
    MemberWitness,
    differs_meaningfully,
    keep_members,
    merge_cluster_witness,
    parse_cluster_witness,
    render_cluster_witness,
    reported_by_leader,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import ClusterStatus, ListedServer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.witness import parse_witness

CID = "aaaaaaaa-1111-4111-8111-111111111111"
OTHER_CID = "aaaaaaaa-2222-4111-8111-111111111111"
ONE = "bbbb0000-1111-4111-8111-000000000001"
TWO = "cccc0000-1111-4111-8111-000000000002"
THREE = "dddd0000-1111-4111-8111-000000000003"


def of(*members: tuple[str, MemberWitness], cid: str | None = CID) -> ClusterWitness:
    return ClusterWitness(cid, dict(members))


@pytest.mark.parametrize(
    ("text", "known"),
    [
        pytest.param("", ClusterWitness(), id="nothing was written yet"),
        pytest.param(f"cluster {CID}\n", of(), id="a cluster of which nothing is known"),
        pytest.param(
            f"cluster {CID}\nserver {ONE} 12 -\n",
            of((ONE, MemberWitness(12))),
            id="an index, and no identity of the disk",
        ),
        pytest.param(
            f"cluster {CID}\nserver {ONE} 12 3f-2a\ncommitted {ONE} 3 11\n",
            of((ONE, MemberWitness(12, "3f-2a", Entry(3, 11)))),
            id="index, disk and the term of an entry",
        ),
        pytest.param(
            f"committed {ONE} 3 14\n",
            of((ONE, MemberWitness(14, "", Entry(3, 14))), cid=None),
            id="of a launcher alone",
        ),
        pytest.param(
            f"cluster {CID}\nserver {ONE} 12 -\nstopped {ONE} 3 14 0a\npeer cccc 9\n",
            of((ONE, MemberWitness(12))),
            id="the end of a log after a clean stop need not be committed, and four digits are no server",
        ),
        pytest.param(
            f"cluster x\nserver {ONE} 99999999999999999999 -\nserver {ONE} -1 -\nserver {ONE}\ncommitted {ONE} 1\n"
            f"committed {ONE} 1 x\nserver abcd 5 -\nfuture {ONE} 7\n\n",
            ClusterWitness(),
            id="lines that say nothing known",
        ),
        pytest.param(
            f"server {ONE} 5 /dev/sda\n",
            of((ONE, MemberWitness(5)), cid=None),
            id="a disk that no launcher would write",
        ),
    ],
)
def test_what_is_read(text: str, known: ClusterWitness) -> None:
    assert parse_cluster_witness(text) == known


def test_what_is_written_is_read_again_here_and_by_the_hosts_reader() -> None:
    known = of((TWO, MemberWitness(7)), (ONE, MemberWitness(12, "3f", Entry(3, 11))))
    text = render_cluster_witness(known)
    assert text == f"cluster {CID}\nserver {ONE} 12 3f\ncommitted {ONE} 3 11\nserver {TWO} 7 -\n"
    assert parse_cluster_witness(text) == known
    assert parse_witness(text).by_short_sid() == {"bbbb": 12, "cccc": 7}


@pytest.mark.parametrize(
    ("known", "seen", "merged"),
    [
        pytest.param(ClusterWitness(), of((ONE, MemberWitness(5))), of((ONE, MemberWitness(5))), id="the first words"),
        pytest.param(
            of((ONE, MemberWitness(9, "3f", Entry(2, 8)))),
            of((ONE, MemberWitness(5, "", Entry(1, 5)))),
            of((ONE, MemberWitness(9, "3f", Entry(2, 8)))),
            id="nothing is lowered",
        ),
        pytest.param(
            of((ONE, MemberWitness(9, "3f", Entry(2, 8)))),
            of((ONE, MemberWitness(12))),
            of((ONE, MemberWitness(12, "3f", Entry(2, 8)))),
            id="the observer knows indexes only, and keeps the rest",
        ),
        pytest.param(
            of((ONE, MemberWitness(9, "", Entry(1, 9)))),
            of((ONE, MemberWitness(9, "", Entry(2, 7)))),
            of((ONE, MemberWitness(9, "", Entry(2, 7)))),
            id="of entries the term counts first",
        ),
        pytest.param(
            of((ONE, MemberWitness(9, "3f"))),
            of((ONE, MemberWitness(9, "4a"))),
            of((ONE, MemberWitness(9, "4a"))),
            id="the launcher started on another disk, so that is its disk now",
        ),
        pytest.param(
            of((ONE, MemberWitness(9))),
            of((TWO, MemberWitness(3))),
            of((ONE, MemberWitness(9)), (TWO, MemberWitness(3))),
            id="a member that was rebuilt is another server",
        ),
        pytest.param(
            of((ONE, MemberWitness(9))),
            of((TWO, MemberWitness(30)), cid=OTHER_CID),
            of((ONE, MemberWitness(9))),
            id="what was seen of another cluster does not count",
        ),
    ],
)
def test_what_two_know_together(known: ClusterWitness, seen: ClusterWitness, merged: ClusterWitness) -> None:
    assert merge_cluster_witness(known, seen) == merged


def test_servers_that_are_no_members_any_more_are_dropped() -> None:
    assert keep_members(of((ONE, MemberWitness(9)), (TWO, MemberWitness(3))), {TWO}) == of((TWO, MemberWitness(3)))


@pytest.mark.parametrize(
    ("merged", "due"),
    [
        pytest.param(of((ONE, MemberWitness(9, "3f", Entry(2, 8)))), False, id="nothing new"),
        pytest.param(of((ONE, MemberWitness(108, "3f", Entry(2, 108)))), False, id="a few entries"),
        pytest.param(of((ONE, MemberWitness(109, "3f", Entry(2, 8)))), True, id="many entries"),
        pytest.param(of((ONE, MemberWitness(9, "3f", Entry(3, 9)))), True, id="a newer term"),
        pytest.param(of((ONE, MemberWitness(9, "4a", Entry(2, 8)))), True, id="another disk"),
        pytest.param(
            of((ONE, MemberWitness(9, "3f", Entry(2, 8))), (TWO, MemberWitness(1))), True, id="another member"
        ),
        pytest.param(of((ONE, MemberWitness(9, "3f", Entry(2, 8))), cid=OTHER_CID), True, id="another cluster"),
    ],
)
def test_what_is_worth_a_write_before_a_pod_is_recreated(merged: ClusterWitness, due: bool) -> None:
    assert differs_meaningfully(of((ONE, MemberWitness(9, "3f", Entry(2, 8)))), merged) == due


def listed(sid: str, match: int | None, *, is_self: bool = False, phase: str | None = None) -> ListedServer:
    return ListedServer(sid[:4], f"ssl:{sid[:4]}:6643", is_self, phase, None, None, match, None)


def status(
    *servers: ListedServer, role: str = "leader", status: str = "cluster member", waiting: int = 0
) -> ClusterStatus:
    fields: dict[str, t.Any] = dict.fromkeys(ClusterStatus._fields)
    fields.update(role=role, status=status, term=4, log_next=21, not_committed=waiting, servers=servers)
    return ClusterStatus(**fields)


@pytest.mark.parametrize(
    ("told", "known"),
    [
        pytest.param(
            status(listed(ONE, 20, is_self=True), listed(TWO, 20), listed(THREE, 17)),
            {
                ONE: MemberWitness(20, "", Entry(4, 20)),
                TWO: MemberWitness(20, "", Entry(4, 20)),
                THREE: MemberWitness(17),
            },
            id="all is committed, so the log ends with an entry of the leader's term; a member that lags may lack it",
        ),
        pytest.param(
            status(listed(ONE, 20, is_self=True), listed(TWO, 20), listed(THREE, 17), waiting=2),
            {ONE: MemberWitness(18), TWO: MemberWitness(18), THREE: MemberWitness(17)},
            id="entries that are not committed do not count, and the term of the others is not known",
        ),
        pytest.param(
            status(listed(ONE, 20, is_self=True), listed(TWO, 0), listed(THREE, None)),
            {ONE: MemberWitness(20, "", Entry(4, 20))},
            id="a leader that has just won knows nothing of the others",
        ),
        pytest.param(
            status(listed(ONE, 20, is_self=True), listed(TWO, 20, phase="adding: catchup")),
            {ONE: MemberWitness(20, "", Entry(4, 20))},
            id="a joiner is no member yet",
        ),
        pytest.param(
            status(listed("eeee0000", 20), listed(ONE, 20)),
            {ONE: MemberWitness(20, "", Entry(4, 20))},
            id="a server whose whole id is not known",
        ),
        pytest.param(status(listed(ONE, None), role="follower"), {}, id="a follower's list tells nothing"),
        pytest.param(status(listed(ONE, 20), status="leaving cluster"), {}, id="a server that leaves"),
    ],
)
def test_what_a_leader_knows(told: ClusterStatus, known: dict[str, MemberWitness]) -> None:
    assert reported_by_leader(told, [ONE, TWO, THREE]) == known


def test_four_digits_that_two_servers_share_name_nobody() -> None:
    assert reported_by_leader(status(listed(ONE, 20)), [ONE, "bbbb0000-9999-4111-8111-000000000001"]) == {}
