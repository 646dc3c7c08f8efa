"""What `nft -j` lists. tests/integration/test_firewall.py compares what real nftables has loaded."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.ruleset import (
    PortFilter,
    extend,
    has_table,
    parse_table,
    render_script,
    render_table,
    table_of,
    undeclared,
)

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


def tcp(port: int, *networks: str) -> PortFilter:
    return PortFilter("tcp", port, tuple(map(ipaddress.ip_network, networks)))


def test_a_table_lets_sources_in_and_drops_the_rest_of_its_port() -> None:
    assert (
        render_table(table_of([tcp(6641, "192.0.2.1", "2001:db8::/64")])).replace("\t", "    ")
        == """\
table inet c5c3_ovn {
    set tcp_6641_ipv4 {
        type ipv4_addr
        flags interval
        elements = {
            192.0.2.1
        }
    }
    set tcp_6641_ipv6 {
        type ipv6_addr
        flags interval
        elements = {
            2001:db8::/64
        }
    }
    chain input {
        type filter hook input priority 0; policy accept;
        iif "lo" accept
        tcp dport 6641 ip saddr @tcp_6641_ipv4 accept
        tcp dport 6641 ip6 saddr @tcp_6641_ipv6 accept
        tcp dport 6641 drop
    }
}
"""
    )


def test_a_port_without_sources_has_empty_sets() -> None:
    assert "elements" not in render_table(table_of([tcp(6641)]))


def test_a_script_replaces_the_table_whether_or_not_it_is_there() -> None:
    lines = render_script(table_of([])).splitlines()
    assert lines[1:5] == ["table inet c5c3_ovn {", "}", "delete table inet c5c3_ovn", "table inet c5c3_ovn {"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["192.0.2.7", "192.0.2.0/24"], ["192.0.2.0/24"]),
        (["192.0.3.0/24", "192.0.2.0/24"], ["192.0.2.0/23"]),
        (["192.0.2.9", "192.0.2.2"], ["192.0.2.2/32", "192.0.2.9/32"]),
        (["2001:db8::1"], []),
    ],
)
def test_overlaps_are_collapsed(given: list[str], expected: list[str]) -> None:
    assert list(map(str, tcp(1, *given).of_version(4))) == expected


@pytest.mark.parametrize(
    ("declared", "left"),
    [([], [9, 6641, 6643]), ([tcp(6641)], [9, 6643]), ([tcp(9), tcp(6641), tcp(6643), tcp(1)], [])],
    ids=["nothing is declared", "one port is", "all are"],
)
def test_what_a_loaded_table_has_beyond_the_declared_ports(declared: list[PortFilter], left: list[int]) -> None:
    filters = [tcp(9, "192.0.2.1"), tcp(6641, "192.0.2.1", "2001:db8::1"), tcp(6643)]
    loaded = table_of(filters)
    # nft lists sets in an order of its own.
    loaded = dataclasses.replace(loaded, sets=dict(sorted(loaded.sets.items(), reverse=True)))
    found = undeclared(declared, loaded)
    assert [one.port for one in found] == left
    assert table_of(found) == table_of([one for one in filters if one.port in left])


def test_udp_is_another_port_than_tcp_and_a_set_of_others_is_none() -> None:
    loaded = table_of([PortFilter("udp", 6081, ())])
    loaded = dataclasses.replace(loaded, sets={**loaded.sets, "mine": ()}, rules=())
    assert undeclared([tcp(6081)], loaded) == [PortFilter("udp", 6081, ())]


def test_a_table_of_before_is_extended_and_shuts_nobody_out() -> None:
    loaded = table_of([tcp(6641, "192.0.2.1"), tcp(6643, "192.0.2.1"), tcp(9, "192.0.2.1")])
    desired = [tcp(6641, "192.0.2.2"), tcp(6643, "192.0.2.1"), tcp(16642, "192.0.2.2")]
    extended = table_of(extend(desired, loaded))
    # 16642 was open and 9 is not filtered any more: both are open now.
    assert extended == table_of([tcp(6641, "192.0.2.1", "192.0.2.2"), tcp(6643, "192.0.2.1")])
