from __future__ import annotations

import re
from collections import UserString
from typing import Any

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.ini import (
    check_extra,
    has_option,
    merge_sections,
    normalized,
    parse_ini,
    render_ini,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (5, "5"),
        ("a b", "a b"),
        (["a", "b"], "a,b"),
        ({"a": 1, "b": 2}, "a:1,b:2"),
        ("pa$$word$", "pa$$$$word$$"),
        ([], ""),
    ],
)
def test_values_are_written_as_oslo_config_reads_them(value: Any, text: str) -> None:
    assert render_ini({"s": {"o": value}}).endswith(f"\n[s]\no = {text}\n")


def test_sections_keep_their_order_and_empty_ones_are_left_out() -> None:
    text = render_ini({"z": {"b": 1, "a": 2}, "empty": {}, "a": {"c": 3}})
    assert re.findall(r"^(\[\w+\]|\w) ?", text, re.MULTILINE) == ["[z]", "b", "a", "[a]", "c"]


@pytest.mark.parametrize("value", ["a\nb", ["a\nb"], "a\r", None, 1j])
def test_a_value_that_is_no_line_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"o in \[s\]"):
        render_ini({"s": {"o": value}})


def test_the_last_value_counts_and_others_stay() -> None:
    assert merge_sections({"a": {"x": 1, "y": 1}}, {"a": {"x": 2}, "b": {"z": 3}}) == {
        "a": {"x": 2, "y": 1},
        "b": {"z": 3},
    }


def test_what_is_ours_is_refused_and_the_rest_passes() -> None:
    ours = {"ovn": {"ovn_nb_connection": "x"}}
    assert check_extra({"ovn": {"dns_servers": "y"}, "quotas": {}}, ours, "o") == {
        "ovn": {"dns_servers": "y"},
        "quotas": {},
    }
    with pytest.raises(InvalidInput, match=r"extra_option sets ovn_nb_connection in \[ovn\]"):
        check_extra({"ovn": {"ovn_nb_connection": "z"}}, ours, "extra_option")


@pytest.mark.parametrize(
    "extra",
    [{"OVN": {"ovn_nb_connection": "z"}}, {"ovn": {"ovn-nb-connection": "z"}}, {"ovn": {"OVN_NB_CONNECTION": 1}}],
)
def test_another_spelling_is_the_same_option(extra: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="which the collection sets itself"):
        check_extra(extra, {"ovn": {"ovn_nb_connection": "x"}}, "extra_option")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"OVN": {"a": 1}}, {"ovn": {"a": 1}}),
        ({"AGENT": {"a": 1}, "agent": {"b": 2, "a": 3}}, {"agent": {"a": 3, "b": 2}}),
        ({"DEFAULT": {"a-b": 1}}, {"DEFAULT": {"a_b": 1}}),
        ({"default": {"a": 1}, "DEFAULT": {"a": 2}}, {"default": {"a": 1}, "DEFAULT": {"a": 2}}),
        ({"ovn-x": {"a": 1}, "ovn_x": {"b": 1}}, {"ovn-x": {"a": 1}, "ovn_x": {"b": 1}}),
        ({"ovn": {"A_b": 1}}, {"ovn": {"A_b": 1}}),
    ],
)
def test_names_as_oslo_config_finds_them(given: dict[str, Any], found: dict[str, Any]) -> None:
    """All of it was tried with oslo.config 10.7.0: a dash or capitals in the name of an option, and [default], are read by nobody."""
    assert normalized(given) == found


@pytest.mark.parametrize(
    ("section", "option", "has"),
    [
        ("ovn", "ovn_nb_connection", True),
        ("OVN", "ovn-nb-connection", True),
        ("ovn", "OVN_NB_CONNECTION", True),
        ("o-vn", "ovn_nb_connection", False),
        ("DEFAULT", "core_plugin", True),
        ("default", "core_plugin", False),
        ("Default", "core_plugin", False),
    ],
)
def test_which_option_is_there(section: str, option: str, has: bool) -> None:
    assert has_option({"DEFAULT": {"core_plugin": 1}, "ovn": {"ovn_nb_connection": 1}}, section, option) is has


def test_what_users_add_gets_the_names_of_files() -> None:
    assert check_extra({"Quotas": {"quota-port": 5}}, {}, "o") == {"quotas": {"quota_port": 5}}


@pytest.mark.parametrize("section", ["default", "Default"])
def test_a_section_that_nobody_reads_is_refused(section: str) -> None:
    with pytest.raises(InvalidInput, match=rf"extra_option has a section \[{section}\].*Write DEFAULT"):
        check_extra({section: {"debug": True}}, {}, "extra_option")


def test_a_text_of_a_vault_is_a_text() -> None:
    """Before ansible-core 2.19 it is a sequence, and no str."""
    assert "o = secret\n" in render_ini({"s": {"o": UserString("secret")}})


@pytest.mark.parametrize("extra", ["text", ["ovn"], {"ovn": "text"}, {"ovn": None}])
def test_what_is_no_dictionary_of_sections_is_refused(extra: Any) -> None:
    with pytest.raises(InvalidInput, match="extra_option is no dictionary of sections"):
        check_extra(extra, {}, "extra_option")


def test_a_file_is_read_as_oslo_config_reads_it() -> None:
    """Compared with oslo.config 10.7, but for the lines that it refuses."""
    text = """
early = refused
[ML2]
# comment = 1
a = 1
a : "two"
b = x,
  y = z
# the end of b
  not = c
no assignment
d =
[DEFAULT]
e = 'it''s'
f = $$x
[ml2]
c=3=4
"""
    assert parse_ini(text) == {
        "ml2": {"a": "two", "b": "x,\ny = z", "d": "", "c": "3=4"},
        "DEFAULT": {"e": "it''s", "f": "$x"},
    }


def test_what_is_written_is_read() -> None:
    sections = {"DEFAULT": {"a": "1"}, "ovn": {"b": "x,y", "c": "pa$$word"}}
    assert parse_ini(render_ini(sections)) == sections
