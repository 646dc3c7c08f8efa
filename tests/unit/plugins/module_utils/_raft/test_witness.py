"""What the lines of the launcher's witness mean."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import Entry
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.witness import (
    LogTerms,
    number_or_none,
    parse_log_terms,
    parse_witness,
)

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
