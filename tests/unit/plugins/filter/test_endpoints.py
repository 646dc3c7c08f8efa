"""Endpoints of the central hosts, from whatever the inventory says about them."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.filter.endpoints import endpoints


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, "ssl:db1:6641", id="nothing but a name"),
        pytest.param({"ansible_host": "192.0.2.1"}, "ssl:192.0.2.1:6641", id="where Ansible connects"),
        pytest.param(
            {"ansible_host": "192.0.2.1", "ovn_address": "198.51.100.1"}, "ssl:198.51.100.1:6641", id="ovn_address wins"
        ),
        pytest.param({"ovn_address": "2001:db8::1"}, "ssl:[2001:db8::1]:6641", id="IPv6 gets brackets"),
        pytest.param({"ovn_address": "[2001:db8::1]"}, "ssl:[2001:db8::1]:6641", id="IPv6 in brackets"),
    ],
)
def test_address(variables: dict[str, t.Any], expected: str) -> None:
    assert endpoints({"db1": variables}, ["db1"], "northbound") == [expected]


def test_order_and_scheme_are_kept() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"b": {}, "a": {}}
    assert endpoints(hostvars, ["b", "a"], "southbound", "raft", tls=False) == ["tcp:b:6644", "tcp:a:6644"]


@pytest.mark.parametrize(
    ("database", "listener", "port"),
    [
        ("northbound", "unrestricted", 6641),
        ("northbound", "client", 6641),
        ("northbound", "raft", 6643),
        ("southbound", "unrestricted", 16642),
        ("southbound", "client", 6642),
        ("southbound", "raft", 6644),
    ],
)
def test_ports(database: t.Any, listener: str, port: int) -> None:
    assert endpoints({"db1": {}}, ["db1"], database, listener) == [f"ssl:db1:{port}"]


@pytest.mark.parametrize("names", [("eastbound", "client"), ("northbound", "raf"), (6641, "client")])
def test_an_unknown_port_is_named(names: tuple[t.Any, str]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"are no port of a database\. Use northbound or southbound, and"):
        endpoints({"db1": {}}, ["db1"], *names)
