"""Variables whose templates are rendered when they are read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.rendered import (
    RenderedHosts,
    RenderedVariables,
    changed_objects,
    results_of_hosts,
    unread_hosts,
)


def render(value: str) -> str:
    if value == "{{ later }}":
        raise RuntimeError("'later' is undefined")
    return value.upper()


def test_variable_is_rendered_once_and_when_it_is_read() -> None:
    read: list[str] = []
    variables = RenderedVariables(
        "h1", {"a": "x", "b": "{{ later }}"}, lambda value: read.append(value) or render(value)
    )
    assert (variables["a"], variables.get("a"), variables.get("c", "absent")) == ("X", "X", "absent")
    assert (read, "b" in variables, "c" in variables, list(variables), len(variables)) == (
        ["x"],
        True,
        False,
        ["a", "b"],
        2,
    )


def test_variable_that_cannot_be_rendered_is_named_with_its_host() -> None:
    with pytest.raises(InvalidInput, match=r"^b of h1 cannot be rendered"):
        RenderedVariables("h1", {"b": "{{ later }}"}, render)["b"]


def test_variables_of_a_host_are_collected_once_and_plain() -> None:
    read: list[str] = []

    def variables_of(host: str) -> RenderedVariables:
        read.append(host)
        return RenderedVariables(host, {"a": ({"b": 1},)}, lambda value: value)

    hosts = RenderedHosts({"h1": {}, "h2": {}}, variables_of)
    assert (hosts["h1"]["a"], hosts["h1"].get("b"), read) == ([{"b": 1}], None, ["h1"])
    assert (list(hosts), len(hosts), "h3" in hosts, hosts.get("h3")) == (["h1", "h2"], 2, False, None)


def test_unchanged_objects_are_left_out() -> None:
    actions = ("created", "unchanged", "configured")
    objects = [{"action": action, "kind": "Pod", "name": f"p{number}"} for number, action in enumerate(actions)]
    assert changed_objects(objects) == ["created Pod p0", "configured Pod p2"]
    assert changed_objects([]) == []


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
    assert list(results_of_hosts(["b", "a"], hostvars, "found")) == (["b", "a"] if counts else ["a"])


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
def test_the_cause_of_an_unread_host(result: dict[str, t.Any] | None, cause: str | None) -> None:
    hostvars = {"a": {"found": {"tables": {}}}, "b": {"found": result}}
    assert unread_hosts(["a", "b"], hostvars, "found") == ([f"b: not read: {cause}"] if cause else [])
