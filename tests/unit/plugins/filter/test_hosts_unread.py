"""Hosts whose result could not be read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.hosts_unread import FilterModule

unread: t.Callable[..., t.Any] = FilterModule().filters()["hosts_unread"]


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        ({"tables": {}}, None),
        ({"skipped": True, "skip_reason": "Conditional result was False"}, None),
        ({"failed": True, "msg": "no\n  answer"}, "no answer"),
        ({"unreachable": True}, "no cause is known"),
        (None, "it does not take part in this run (--limit)."),
    ],
)
def test_the_cause(result: dict[str, t.Any] | None, cause: str | None) -> None:
    hostvars = {"a": {"found": {"tables": {}}}, "b": {"found": result}}
    assert unread(["a", "b"], hostvars, "found") == ([f"b: not read: {cause}"] if cause else [])
