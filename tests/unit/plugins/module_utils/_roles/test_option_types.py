"""Options of roles whose values do not have their type."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import option_problem

SPECIFICATION: dict[str, dict[str, t.Any]] = {
    "ovn_level": {"type": "str", "choices": ["info", "dbg"], "default": "info"},
    "ovn_number": {"type": "int", "default": 1, "required": True},
    "ovn_switch": {"type": "bool"},
    "ovn_list": {"type": "list", "elements": "dict", "options": {"a": {"type": "int"}}},
    "ovn_kinds": {"type": "list", "elements": "str", "choices": ["x", "y"]},
    "ovn_map": {"type": "dict"},
    "ovn_key": {"type": "int", "no_log": True},
    "ovn_text": {"type": "str"},
}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"ovn_level": "dbg", "ovn_number": "5", "ovn_switch": "no", "ovn_map": {}, "ovn_text": 3, "other": "x"}, ""),
        ({"ovn_list": [{"a": "1"}], "ovn_kinds": "x,y"}, ""),
        ({"ovn_level": "inof"}, 'ovn_level of h1 is "inof", which is not allowed: give one of info, dbg.'),
        ({"ovn_number": "five"}, 'ovn_number of h1 is "five", which is not allowed: give an integer.'),
        ({"ovn_switch": "maybe"}, 'ovn_switch of h1 is "maybe", which is not allowed: give true or false.'),
        ({"ovn_map": "{}x"}, 'ovn_map of h1 is "{}x", which is not allowed: give a dictionary.'),
        (
            {"ovn_list": [{"c": 1}]},
            """ovn_list of h1 is "[{'c': 1}]", which is not allowed: give a list (dict) """
            "(ovn_list.c. Supported parameters include: a).",
        ),
        (
            {"ovn_kinds": ["z"]},
            """ovn_kinds of h1 is "['z']", which is not allowed: give a list (str) of one of x, y.""",
        ),
        ({"ovn_key": "secret"}, "ovn_key of h1 is a hidden value, which is not allowed: give an integer."),
        ({"ovn_switch": ""}, "ovn_switch of h1 is empty, which is not allowed: give true or false, or leave it out."),
        ({"ovn_number": "x" * 9000}, f'ovn_number of h1 is "{"x" * 80}", which is not allowed: give an integer.'),
    ],
)
def test_option_problem(variables: dict[str, t.Any], expected: str) -> None:
    assert option_problem(["h1"], {"h1": variables}, SPECIFICATION) == expected


def test_equal_problems_of_several_hosts_are_one_sentence() -> None:
    hosts = {"h1": {"ovn_level": "x"}, "h2": {}, "h3": {"ovn_level": "x"}}
    assert (
        option_problem([*hosts], hosts, SPECIFICATION)
        == 'ovn_level of h1, h3 is "x", which is not allowed: give one of info, dbg.'
    )
