"""What the lines of the launcher's witness mean."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    Entry,
    LogTerms,
    MemberWitness,
    differs_meaningfully,
    keep_members,
    merge_cluster_witness,
    number_or_none,
    parse_cluster_witness,
    parse_log_terms,
    parse_witness,
    render_cluster_witness,
    reported_by_leader,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import ClusterStatus, ListedServer

SID = "abcd0000-0000-4000-8000-000000000001"
OTHER = "ef010000-0000-4000-8000-000000000002"


@pytest.mark.parametrize(
    ("text", "index"),
    [
        pytest.param("", None, id="nothing is remembered"),
        pytest.param(f"server {SID} 12 -\n", 12, id="what was committed on its disk"),
        pytest.param(
            f"server {SID} 12 -\nstopped {SID} 3 14 0a\n", 14, id="a clean stop knows of entries after the last commit"
        ),
        pytest.param(f"server {SID} 16 -\nstopped {SID} 3 14 0a\n", 16, id="the higher one counts"),
        pytest.param(f"committed {SID} 3 14\n", 14, id="an entry of which the term is known as well"),
        pytest.param(f"server {OTHER} 16 -\n", None, id="an earlier server of this host was another one"),
        pytest.param("peer abcd 9\n", 9, id="a peer remembers it by four digits"),
        pytest.param(f"server {SID} 7 -\npeer abcd 9\n", 9, id="a peer knows more than the host itself"),
        pytest.param(f"server {SID} 7 -\nserver {SID} 5 -\n", 7, id="two files, the first is newer"),
        pytest.param(f"server {SID} x -\nserver {SID}\nfuture {SID} 99\n\n", None, id="lines that say nothing known"),
    ],
)
def test_the_highest_index_that_a_server_is_known_to_have_had(text: str, index: int | None) -> None:
    assert parse_witness(text).index_of(SID) == index


def test_all_servers_by_four_digits_and_what_they_committed() -> None:
    """The end of a log at a clean stop need not be committed: the leader may have replaced it without any loss."""
    text = f"server {SID} 12 -\nstopped {SID} 2 13 0a\nserver {OTHER} 4 -\npeer ef01 5\npeer 2345 6\n"
    assert parse_witness(text).by_short_sid() == {"abcd": 12, "ef01": 5, "2345": 6}


def test_an_unknown_server_has_no_index() -> None:
    assert parse_witness("peer abcd 9\n").index_of(None) is None


def test_last_committed_entry_has_the_highest_term() -> None:
    text = (
        f"committed {SID} 3 14\ncommitted {SID} 2 16\ncommitted {OTHER} 4 2\nserver {SID} 16 -\ncommitted {SID} x 20\n"
    )
    assert parse_witness(text).entries == {SID: Entry(3, 14), OTHER: Entry(4, 2)}


@pytest.mark.parametrize(
    ("entry", "contradicts"),
    [
        pytest.param(Entry(2, 12), False, id="the first entry that is published"),
        pytest.param(Entry(2, 19), False, id="the last one of its term"),
        pytest.param(Entry(2, 20), True, id="replaced by one of a newer term"),
        pytest.param(Entry(2, 900), True, id="lost, and the log is longer than it was"),
        pytest.param(Entry(3, 15), True, id="of a newer term than the log has there"),
        pytest.param(Entry(5, 20), False, id="in the place where its term begins"),
        pytest.param(Entry(6, 40), False, id="a newer leader, of which nothing is published yet"),
        pytest.param(Entry(1, 5), False, id="before what is published"),
        pytest.param(Entry(3, 5), True, id="before what is published, and of a newer term than later entries"),
    ],
)
def test_committed_entry_contradicts_a_log_without_it(entry: Entry, contradicts: bool) -> None:
    terms = parse_log_terms("term 12 2\nterm 20 5\nfuture 1 2\nterm x 3\n")
    assert terms == LogTerms(((12, 2), (20, 5)))
    assert terms.contradicts(entry) is contradicts


def test_log_without_published_terms_contradicts_nothing() -> None:
    assert not parse_log_terms("lost 2 10\n").contradicts(Entry(7, 1))
    assert parse_log_terms("lost 2 10\n").lost == Entry(2, 10)
    assert parse_log_terms("committed abcd 2 10\ncommitted abcd 2\n").committed == ("abcd", Entry(2, 10))


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("", None), (None, None), ("-1", None), ("²", None)])
def test_numbers_of_the_launcher(text: str | None, number: int | None) -> None:
    assert number_or_none(text) == number


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
