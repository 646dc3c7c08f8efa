"""A member that is watched from outside, without a server."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent import member_watch as members
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.control_plane_watch import known_schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.member_watch import (
    ActiveNorthd,
    VerdictDebouncer,
    leading_pod,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.view import Sample, align_indexes

PLACE = "tcp:ovn-northbound-0.ovn-northbound:6641"


def view(connected: bool = True) -> ServerView:
    return ServerView("clustered", connected, False, "c", "s", 10, "process")


class FakeServer:
    """A connection to it."""

    def __init__(self, schema: str | OvnError) -> None:
        self.schema, self.asked = schema, 0
        self.updates: list[t.Any] = []

    def ask(self, method: str, _params: list[t.Any]) -> t.Any:
        assert method == "get_schema"
        self.asked += 1
        if isinstance(self.schema, OvnError):
            raise self.schema
        return {"version": self.schema}


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> members.MemberWatch:
    monkeypatch.setattr(members, "read_databases", lambda _connection: [])
    monkeypatch.setattr(members, "answer_of_server", lambda *_: {"server": view()})
    return members.MemberWatch(parse_endpoint(PLACE), "OVN_Northbound", t.cast(t.Any, None), lambda: None)


@pytest.mark.parametrize(
    ("schema", "known"),
    [("7.0.0", "7.0.0"), (TimedOut("busy"), None), (Unreachable("away"), None), (Refused("no"), None)],
    ids=["at once", "a busy server", "it hangs up", "it has none"],
)
def test_status_without_schema_is_healthy(
    watch: members.MemberWatch, schema: str | OvnError, known: str | None
) -> None:
    server = FakeServer(schema)
    for _look in range(2):
        watch._query(t.cast(t.Any, server))
    assert watch.answer is not None
    assert (watch.answer.server, watch.answer.problems) == (view(), ())
    assert (watch.schema, server.asked) == (known, 1)


def test_nobody_remembers_the_schema_of_a_member_that_failed(
    watch: members.MemberWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: t.Any) -> t.NoReturn:
        watch.stop()
        raise Unreachable("away")

    watch._query(t.cast(t.Any, FakeServer("7.0.0")))
    monkeypatch.setattr(members, "open_monitor", away)
    watch.run()
    assert watch.answer is not None
    assert watch.answer.problems
    assert watch.schema is None


@pytest.mark.parametrize(
    ("first", "found"),
    [(view(), "6.0.0"), (view(connected=False), "7.0.0"), (None, "7.0.0")],
    ids=["takes part", "is alone with an old file", "is away"],
)
def test_only_members_that_take_part_tell_the_schema(first: ServerView | None, found: str) -> None:
    def member(schema: str, server: ServerView | None) -> t.Any:
        return types.SimpleNamespace(schema=schema, answer=Answer("m", "OVN_Northbound", server=server))

    there = [member("6.0.0", first), member("7.0.0", view())]
    assert known_schemas(there, "7.0.0") == (found, "7.0.0")
    assert known_schemas([], None) == (None, None)


if t.TYPE_CHECKING:
    from conftest import Say


def judge(judge: VerdictDebouncer, answers: list[Answer], now: float, timer: int = 1000) -> tuple[str, bool]:
    verdict, seen = judge.debounce(answers, {}, None, timer, now)
    return verdict.verdict, seen


def test_an_election_is_waited_for(say: Say) -> None:
    one = VerdictDebouncer(3)
    nobody_leads = [say.member(n) for n in range(3)]
    assert judge(one, say.healthy(), 0) == ("healthy", True)
    assert judge(one, nobody_leads, 1) == ("healthy", False)
    assert one.unsettled
    assert judge(one, nobody_leads, 3.9) == ("healthy", False)
    assert judge(one, nobody_leads, 4.1) == ("no_quorum", True)
    assert judge(one, say.healthy(), 5) == ("healthy", True)
    assert not one.unsettled


def test_a_slow_timer_gets_more_time(say: Say) -> None:
    one = VerdictDebouncer(3)
    nobody_leads = [say.member(n) for n in range(3)]
    judge(one, say.healthy(), 0, 10000)
    assert judge(one, nobody_leads, 1, 10000) == ("healthy", False)
    assert judge(one, nobody_leads, 30, 10000) == ("healthy", False)
    assert judge(one, nobody_leads, 32, 10000) == ("no_quorum", True)


def test_a_lost_majority_is_told_at_once(say: Say) -> None:
    one = VerdictDebouncer(3)
    judge(one, say.healthy(), 0)
    assert judge(one, [say.member(0, leader=True), say.unresponsive(1), say.unresponsive(2)], 0.1) == (
        "no_quorum",
        True,
    )


def test_of_two_leaders_none_is_labeled_at_first(say: Say) -> None:
    one = VerdictDebouncer(3)
    two = [say.member(0, leader=True), say.member(1, leader=True), say.member(2)]
    assert judge(one, two, 0)[1] is False


def test_leading_pod(say: Say) -> None:
    assert leading_pod(assess(say.healthy(2), 3)) == "ovn-northbound-2"
    assert leading_pod(assess([say.unresponsive(n) for n in range(3)], 3)) is None


def test_a_change_of_northd_is_waited_for() -> None:
    northd = ActiveNorthd()
    assert northd.debounce([], 0) == ([], True)
    assert northd.debounce(["a"], 1) == (["a"], True)
    assert northd.debounce([], 2) == (["a"], False)
    assert northd.debounce(["b"], 3) == (["b"], True)
    assert northd.debounce([], 4) == (["b"], False)
    assert northd.debounce([], 10) == ([], True)
    assert northd.debounce(None, 11) == (None, True)


def indexes(answers: list[Answer], samples: dict[str, list[Sample]]) -> list[int | None]:
    return [answer.server.log_index if answer.server else None for answer in align_indexes(answers, samples)]


def test_a_member_that_was_asked_before_the_leader_does_not_lag(say: Say) -> None:
    answers = [say.member(0, leader=True, index=500), say.member(1, index=100), say.unresponsive(2)]
    samples = {"ovn-northbound-0": [Sample(0, 90), Sample(5, 500)], "ovn-northbound-1": [Sample(5, 100)]}
    assert indexes(answers, samples) == [500, 500, None]


def test_a_member_that_stands_still_lags_by_what_the_leader_had_before(say: Say) -> None:
    answers = [say.member(0, leader=True, index=900), say.member(1, index=100), say.unresponsive(2)]
    samples = {
        "ovn-northbound-0": [Sample(0, 400), Sample(5, 900)],
        "ovn-northbound-1": [Sample(0, 100), Sample(5, 100)],
    }
    assert indexes(answers, samples) == [900, 600, None]
    assert "lagging" in [reason.code for reason in assess(align_indexes(answers, samples), 3).reasons]


def test_a_joiner_stays_one(say: Say) -> None:
    answers = [say.member(0, leader=True), say.member(1, connected=False, index=None)]
    assert indexes(answers, {}) == [10, None]
