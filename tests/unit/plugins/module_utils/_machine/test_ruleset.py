"""The table of nftables: what is in it, and what it becomes while a rollout runs. tests/integration/test_firewall.py loads it."""

from __future__ import annotations

import dataclasses
import ipaddress

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.ruleset import (
    PortFilter,
    extend,
    render_script,
    render_table,
    table_of,
    undeclared,
)


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
