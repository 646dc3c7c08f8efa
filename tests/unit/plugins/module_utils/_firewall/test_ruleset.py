"""The table of nftables: what is in it, and what it becomes while a rollout runs. tests/integration/test_firewall.py loads it."""

from __future__ import annotations

import ipaddress

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._firewall.ruleset import (
    PortFilter,
    extend,
    render_script,
    render_table,
    table_of,
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


def test_a_table_of_before_is_extended_and_shuts_nobody_out() -> None:
    loaded = table_of([tcp(6641, "192.0.2.1"), tcp(6643, "192.0.2.1"), tcp(9, "192.0.2.1")])
    desired = [tcp(6641, "192.0.2.2"), tcp(6643, "192.0.2.1"), tcp(16642, "192.0.2.2")]
    extended = table_of(extend(desired, loaded))
    # 16642 was open and 9 is not filtered any more: both are open now.
    assert extended == table_of([tcp(6641, "192.0.2.1", "192.0.2.2"), tcp(6643, "192.0.2.1")])
