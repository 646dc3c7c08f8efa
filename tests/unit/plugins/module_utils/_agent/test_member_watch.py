"""A member that is watched from outside, without a server."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent import member_watch as members
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.control_plane_watch import known_schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView

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
