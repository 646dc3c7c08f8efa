"""An empty text is an absent value, whichever variable it is."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import variables


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"a": "1", "b": "2"}, "1", id="the first one counts"),
        pytest.param({"a": "", "b": "2"}, "2", id="an empty text is absent"),
        pytest.param({"a": None, "b": "2"}, "2", id="null is absent"),
        pytest.param({}, "default", id="nothing"),
        pytest.param({"a": []}, [], id="an empty list is a value"),
        pytest.param({"a": False, "b": True}, False, id="no is a value"),
    ],
)
def test_first_value(given: dict[str, t.Any], expected: t.Any) -> None:
    assert variables.first_value(given, "a", "b", default="default") == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), ("true", True), ("no", False), (False, False), ("", True), (None, True)]
)
def test_is_true(value: t.Any, expected: bool) -> None:
    assert variables.is_true({"a": value}, "a", default=True) is expected


@pytest.mark.parametrize("value", ["ture", [], {}])
def test_a_typo_is_no_boolean(value: t.Any) -> None:
    with pytest.raises(InvalidInput, match=r"b or a is .* Give true or false"):
        variables.is_true({"a": value}, "b", "a")


def test_hosts_by_backend_keeps_the_order() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {
        "b": {"ovn_backend": "kubernetes"},
        "a": {"ovn_backend": "kubernetes"},
        "m": {"ovn_backend": ""},
        "n": {},
    }
    assert variables.hosts_by_backend(["n", "b", "m", "a"], hostvars) == {"host": ["n", "m"], "kubernetes": ["b", "a"]}
