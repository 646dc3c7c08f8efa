"""Bridges of bridge mappings through which nothing leaves the host."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.bridges import DesiredBridge
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.provider_networks import Interface, network_warnings

MAPPING = {"physical_network": "physnet1", "bridge": "br-ex"}
VLANS = {"physical_network": "physnet2", "bridge": "br-ex"}
UP = Interface("", "up", "up")
DOWN = Interface("", "down", "down")
UNPLUGGED = Interface("", "up", "down")
NO_PORT = "bridge br-ex (physnet1) has no port but its own, so what is sent to that provider network stays on this host. Name its port"
IS_DOWN = "port eth1 of bridge br-ex (physnet1) is down (admin_state), so nothing passes through it. Let the network configuration"
NO_LINK = "port eth1 of bridge br-ex (physnet1) has no link (link_state is down), so nothing passes through it. Check its cable"
Ports = dict[str, list[Interface]]


@pytest.mark.parametrize(
    ("mappings", "bridges", "desired", "expected"),
    [
        pytest.param([MAPPING], {"br-ex": {"eth1": [UP]}}, {}, [], id="a port that is up"),
        pytest.param([], {"br-ex": {}}, {}, [], id="no mapping"),
        pytest.param([MAPPING], {"br-ex": {}}, {}, [NO_PORT], id="no port"),
        pytest.param([MAPPING], {"br-ex": {}}, {"br-ex": ()}, [NO_PORT], id="no port is declared"),
        pytest.param([MAPPING], {}, {"br-ex": ()}, [NO_PORT], id="check mode, a new bridge without a port"),
        pytest.param([MAPPING], {}, {"br-ex": ("eth1",)}, [], id="check mode, a new bridge with a port"),
        pytest.param([MAPPING], {"br-ex": {}}, {"br-ex": ("eth1",)}, [], id="check mode, a new port"),
        pytest.param([MAPPING], {}, {}, ["bridge br-ex (physnet1) does not exist"], id="no bridge"),
        pytest.param(
            [MAPPING, VLANS], {"br-ex": {}}, {}, ["bridge br-ex (physnet1, physnet2) has no port"], id="two networks"
        ),
        pytest.param([MAPPING], {"br-ex": {}, "br-other": {"eth1": [UP]}}, {}, [NO_PORT], id="a port elsewhere"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [DOWN]}}, {}, [IS_DOWN], id="down"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [UNPLUGGED]}}, {}, [NO_LINK], id="no link"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [DOWN], "eth2": [UP]}}, {}, [IS_DOWN], id="one of two is down"),
        pytest.param([MAPPING], {"br-ex": {"bond1": [UNPLUGGED, UP]}}, {}, [], id="a bond with one link"),
        pytest.param(
            [MAPPING], {"br-ex": {"bond1": [UNPLUGGED, DOWN]}}, {}, ["port bond1 of bridge br-ex"], id="a bond without"
        ),
        pytest.param([MAPPING], {"br-ex": {"eth1": [Interface()]}}, {}, [], id="unknown states"),
        pytest.param(
            [MAPPING],
            {"br-ex": {"host": [Interface("internal", "down", "down")]}},
            {},
            [],
            id="internal ports are down",
        ),
        pytest.param(
            [MAPPING],
            {"br-ex": {"eth9": [Interface("", error="could not open eth9 (No such device)")]}},
            {},
            ["port eth9 of bridge br-ex (physnet1) cannot be used: could not open eth9 (No such device). Correct"],
            id="a port that cannot be opened",
        ),
    ],
)
def test_what_keeps_packets_on_the_host(
    mappings: list[dict[str, str]], bridges: dict[str, Ports], desired: dict[str, t.Any], expected: list[str]
) -> None:
    declared = {name: DesiredBridge(ports=ports) for name, ports in desired.items()}
    warnings = network_warnings("compute-1", mappings, bridges, declared)
    assert len(warnings) == len(expected)
    for warning, text in zip(warnings, expected):
        assert warning.startswith(f"Chassis compute-1: {text}")
