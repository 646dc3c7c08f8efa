"""What `nft -j` lists. tests/integration/test_firewall.py compares what real nftables has loaded."""

from __future__ import annotations

import ipaddress
import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.loaded_table import has_table, parse_table
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.ruleset import PortFilter, table_of

SOURCES = ("10.0.0.1", "10.0.0.2", "192.0.2.0/23", "2001:db8::1", "fd00::/64")
DESIRED = table_of([PortFilter("tcp", 6641, tuple(map(ipaddress.ip_network, SOURCES)))])
# As nft 1.0.6 lists it
PLACE = {"family": "inet", "table": "c5c3_ovn"}
PORT = {"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 6641}}


def a_set(version: int, *elements: t.Any) -> dict[str, t.Any]:
    name = f"tcp_6641_ipv{version}"
    kind = f"ipv{version}_addr"
    return {"set": {**PLACE, "name": name, "type": kind, "handle": 2, "flags": ["interval"], "elem": list(elements)}}


def from_set(version: int) -> dict[str, t.Any]:
    payload = {"protocol": "ip" if version == 4 else "ip6", "field": "saddr"}
    return {"match": {"op": "==", "left": {"payload": payload}, "right": f"@tcp_6641_ipv{version}"}}


def rule(*expressions: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"rule": {**PLACE, "chain": "input", "handle": 5, "expr": list(expressions)}}


LISTED: list[dict[str, t.Any]] = [
    {"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
    {"table": {"family": "inet", "name": "c5c3_ovn", "handle": 4}},
    a_set(4, "10.0.0.1", "10.0.0.2", {"prefix": {"addr": "192.0.2.0", "len": 23}}),
    a_set(6, "2001:db8::1", {"prefix": {"addr": "fd00::", "len": 64}}),
    {
        "chain": {
            **PLACE,
            "name": "input",
            "handle": 1,
            "type": "filter",
            "hook": "input",
            "prio": 0,
            "policy": "accept",
        }
    },
    rule({"match": {"op": "==", "left": {"meta": {"key": "iif"}}, "right": "lo"}}, {"accept": None}),
    rule(PORT, from_set(4), {"accept": None}),
    rule(PORT, from_set(6), {"accept": None}),
    rule(PORT, {"drop": None}),
]


def text(objects: list[dict[str, t.Any]]) -> str:
    return json.dumps({"nftables": objects})


def test_nft_that_lists_a_single_flag_as_text() -> None:
    listed = [{"set": {**one["set"], "flags": "interval"}} if "set" in one else one for one in LISTED]
    assert parse_table(json.dumps({"nftables": listed})) == parse_table(json.dumps({"nftables": LISTED}))


def test_a_loaded_table_equals_the_desired_one() -> None:
    assert parse_table(text(LISTED)) == DESIRED


@pytest.mark.parametrize(
    "elements",
    [
        [{"range": ["10.0.0.1", "10.0.0.2"]}, {"prefix": {"addr": "192.0.2.0", "len": 23}}],
        [
            "10.0.0.2",
            {"prefix": {"addr": "192.0.3.0", "len": 24}},
            {"prefix": {"addr": "192.0.2.0", "len": 24}},
            "10.0.0.1",
        ],
    ],
)
def test_other_ways_to_list_the_same_elements(elements: list[t.Any]) -> None:
    assert parse_table(text([*LISTED[:2], a_set(4, *elements), *LISTED[3:]])) == DESIRED


@pytest.mark.parametrize(
    "objects",
    [
        LISTED[:-1],
        [*LISTED, rule(PORT, {"accept": None})],
        [*LISTED[:-1], rule(PORT, {"reject": None})],
        [*LISTED[:-1], rule(PORT, {"counter": {"packets": 1, "bytes": 2}}, {"drop": None})],
        [*LISTED, {"chain": {**PLACE, "name": "more", "handle": 9}}],
        [*LISTED, {"map": {**PLACE, "name": "m", "handle": 9}}],
        [*LISTED[:2], a_set(4, "10.0.0.1"), *LISTED[3:]],
        [*LISTED[:2], a_set(4, {"elem": {"val": "10.0.0.1", "timeout": 5}}), *LISTED[3:]],
        [*LISTED[:2], *LISTED[3:]],
    ],
)
def test_what_differs_is_seen(objects: list[dict[str, t.Any]]) -> None:
    assert parse_table(text(objects)) != DESIRED


def test_our_table_among_those_of_others() -> None:
    others = [
        {"table": {"family": "ip", "name": "c5c3_ovn", "handle": 1}},
        {"table": {"family": "inet", "name": "filter"}},
    ]
    assert not has_table(text([LISTED[0], *others]))
    assert has_table(text([*others, LISTED[1]]))


@pytest.mark.parametrize("answer", ["", "[]", "{}", "table inet c5c3_ovn {}"])
def test_an_answer_that_is_no_json(answer: str) -> None:
    with pytest.raises(BadAnswer, match="nft --version"):
        parse_table(answer)
