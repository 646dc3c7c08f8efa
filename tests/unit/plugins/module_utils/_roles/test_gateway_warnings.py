"""Gateways that cannot pass their traffic on."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.gateway_warnings import gateway_warnings

MAPPING = {"physical_network": "physnet1", "bridge": "br-ex"}
OTHER = {"physical_network": "physnet2", "bridge": "br-2", "ports": ["eth2"]}


@pytest.mark.parametrize(
    ("mappings", "bridges", "expected"),
    [
        pytest.param([{**MAPPING, "ports": ["eth1"]}], [], "", id="a port with the mapping"),
        pytest.param([MAPPING], [{"name": "br-ex", "ports": ["eth1"]}], "", id="a port with the bridge"),
        pytest.param([MAPPING, OTHER], [], "no port: br-ex (physnet1). What", id="one of two has none"),
        pytest.param([MAPPING], [{"name": "br-ex"}], "no port: br-ex (physnet1). What", id="a bridge without a port"),
        pytest.param([], [], "without a bridge mapping", id="no mapping"),
        pytest.param(None, [], "unless somebody else sets ovn-bridge-mappings", id="mappings are left alone"),
    ],
)
def test_what_a_gateway_lacks(
    mappings: list[dict[str, t.Any]] | None, bridges: list[dict[str, t.Any]], expected: str
) -> None:
    warnings = gateway_warnings("gw1", mappings, bridges)
    assert bool(warnings) is bool(expected)
    assert all(expected in text for text in warnings)
