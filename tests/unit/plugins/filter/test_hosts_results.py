"""Results of hosts that have one."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.hosts_results import FilterModule

results: t.Callable[..., t.Any] = FilterModule().filters()["hosts_results"]


@pytest.mark.parametrize(
    ("result", "counts"),
    [
        ({"tables": {}}, True),
        ({"tables": {}, "failed": False}, True),
        (None, False),
        ({"failed": True, "msg": "no"}, False),
        ({"failed": False, "msg": "no"}, False),
        ({"skipped": True}, False),
        ({"unreachable": True}, False),
    ],
)
def test_which_results_count(result: dict[str, t.Any] | None, counts: bool) -> None:
    hostvars = {"b": {"found": result}, "a": {"found": {"x": 1}}, "other": {"found": {"x": 2}}}
    assert list(results(["b", "a"], hostvars, "found")) == (["b", "a"] if counts else ["a"])
