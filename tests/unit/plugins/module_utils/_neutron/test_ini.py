from __future__ import annotations

import re
from collections import UserString
from typing import Any

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.ini import check_extra, merge_sections, render_ini


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


def test_a_text_of_a_vault_is_a_text() -> None:
    """Before ansible-core 2.19 it is a sequence, and no str."""
    assert "o = secret\n" in render_ini({"s": {"o": UserString("secret")}})


@pytest.mark.parametrize("extra", ["text", ["ovn"], {"ovn": "text"}, {"ovn": None}])
def test_what_is_no_dictionary_of_sections_is_refused(extra: Any) -> None:
    with pytest.raises(InvalidInput, match="extra_option is no dictionary of sections"):
        check_extra(extra, {}, "extra_option")
