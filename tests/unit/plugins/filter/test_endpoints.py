"""Endpoints of the central hosts, from whatever the inventory says about them."""

from __future__ import annotations

import typing as t

import pytest

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
    assert endpoints({"db1": variables}, ["db1"], 6641) == [expected]


def test_order_and_scheme_are_kept() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"b": {}, "a": {}}
    assert endpoints(hostvars, ["b", "a"], 1, tls=False) == ["tcp:b:1", "tcp:a:1"]
