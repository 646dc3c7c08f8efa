"""Variables whose templates are rendered when they are read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.rendered import RenderedHosts, RenderedVariables


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


def test_hosts_are_read_once_and_their_values_are_plain() -> None:
    class Rendering(dict[str, t.Any]):
        def __getitem__(self, name: str) -> t.Any:
            raise ZeroDivisionError

    class Hostvars(dict[str, dict[str, t.Any]]):
        read = 0

        def __getitem__(self, host: str) -> dict[str, t.Any]:
            self.read += 1
            return super().__getitem__(host)

    hostvars = Hostvars({"h1": {"a": ({"b": 1},)}, "h2": Rendering(a=1)})
    hosts = RenderedHosts(hostvars)
    assert (hosts["h1"]["a"], hosts["h1"].get("b"), hostvars.read) == ([{"b": 1}], None, 1)
    assert (list(hosts), len(hosts), "h3" in hosts, hosts.get("h3")) == (["h1", "h2"], 2, False, None)
    with pytest.raises(InvalidInput, match=r"^a of h2 cannot be rendered"):
        hosts["h2"].get("a")
