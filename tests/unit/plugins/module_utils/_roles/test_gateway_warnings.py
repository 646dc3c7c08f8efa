"""Gateways that cannot pass their traffic on."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.gateway_warnings import gateway_warnings


@pytest.mark.parametrize(
    ("mappings", "expected"),
    [
        pytest.param([{"physical_network": "physnet1", "bridge": "br-ex"}], "", id="a mapping"),
        pytest.param([], "without a bridge mapping", id="no mapping"),
        pytest.param(None, "unless somebody else sets ovn-bridge-mappings", id="mappings are left alone"),
    ],
)
def test_what_a_gateway_lacks(mappings: list[dict[str, t.Any]] | None, expected: str) -> None:
    warnings = gateway_warnings("gw1", mappings)
    assert bool(warnings) is bool(expected)
    assert all(expected in text for text in warnings)
