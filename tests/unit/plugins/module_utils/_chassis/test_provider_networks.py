"""Bridges of bridge mappings through which nothing leaves the host."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.bridges import DesiredBridge
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.provider_networks import (
    Circumstances,
    Interface,
    network_warnings,
)

MAPPING = {"physical_network": "physnet1", "bridge": "br-ex"}
VLANS = {"physical_network": "physnet2", "bridge": "br-ex"}
UP = Interface("", "up", "up")
DOWN = Interface("", "down", "down")
UNPLUGGED = Interface("", "up", "down")
HOST = Interface("internal", "down", "down")
GONE = Interface("", error="could not open network device vm2 (No such device)")
DPDK = Interface("dpdk", "up", "down")
EX = {"br-ex": ("eth1",)}
LEADS_NOWHERE = (
    "bridge br-ex (physnet1) has no port that leads out, so what is sent to that provider network stays on this host. "
)
NO_PORT = f"{LEADS_NOWHERE}Name its port under"
THEIRS = f"{LEADS_NOWHERE}Let whoever manages that bridge add its port."
IS_DOWN = "port eth1 of bridge br-ex (physnet1) is down (admin_state), so nothing passes through it. Let the network configuration"
NO_LINK = "port eth1 of bridge br-ex (physnet1) has no link (link_state is down), so nothing passes through it. Check its cable"
OTHERS = "and no other port leads out. Let whoever manages that port correct it."
VM2 = "port vm2 of bridge br-ex (physnet1) cannot be used: could not open network device vm2 (No such device)"
Ports = dict[str, list[Interface]]


@pytest.mark.parametrize(
    ("mappings", "bridges", "desired", "expected"),
    [
        pytest.param([MAPPING], {"br-ex": {"eth1": [UP]}}, {}, [], id="a port that is up"),
        pytest.param([], {"br-ex": {}}, {}, [], id="no mapping"),
        pytest.param(
            [{**MAPPING, "physical_network": " physnet1"}],
            {"br-ex": {"eth1": [UP]}},
            {},
            ['the bridge mapping " physnet1:br-ex" has a blank'],
            id="a blank that ovn-controller does not trim",
        ),
        pytest.param([MAPPING], {"br-ex": {}}, {}, [THEIRS], id="no port, and no bridge of ours"),
        pytest.param([MAPPING], {"br-ex": {}}, {"br-ex": ()}, [NO_PORT], id="no port is declared"),
        pytest.param([MAPPING], {}, {"br-ex": ()}, [NO_PORT], id="check mode, a new bridge without a port"),
        pytest.param([MAPPING], {}, {"br-ex": ("eth1",)}, [], id="check mode, a new bridge with a port"),
        pytest.param([MAPPING], {"br-ex": {}}, {"br-ex": ("eth1",)}, [], id="check mode, a new port"),
        pytest.param([MAPPING], {}, {}, ["bridge br-ex (physnet1) does not exist"], id="no bridge"),
        pytest.param(
            [MAPPING, VLANS],
            {"br-ex": {}},
            {},
            ["bridge br-ex (physnet1, physnet2) has no port that"],
            id="two networks",
        ),
        pytest.param(
            [MAPPING], {"br-ex": {}, "br-other": {"eth1": [UP]}}, {"br-ex": ()}, [NO_PORT], id="a port elsewhere"
        ),
        pytest.param([MAPPING], {"br-ex": {"eth1": [DOWN]}}, EX, [IS_DOWN], id="down"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [UNPLUGGED]}}, EX, [NO_LINK], id="no link"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [DOWN], "eth2": [UP]}}, EX, [IS_DOWN], id="one of two is down"),
        pytest.param(
            [MAPPING], {"br-ex": {"bond1": [UNPLUGGED, UP]}}, {"br-ex": ("bond1",)}, [], id="a bond with one link"
        ),
        pytest.param(
            [MAPPING],
            {"br-ex": {"bond1": [UNPLUGGED, DOWN]}},
            {"br-ex": ("bond1",)},
            ["port bond1 of bridge br-ex (physnet1) has no link"],
            id="a bond without",
        ),
        pytest.param([MAPPING], {"br-ex": {"eth1": [Interface()]}}, EX, [], id="unknown states"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [DPDK]}}, EX, [], id="DPDK may negotiate"),
        pytest.param(
            [MAPPING],
            {"br-ex": {"eth1": [DPDK._replace(error="eth1: could not set configuration")]}},
            EX,
            ["port eth1 of bridge br-ex (physnet1) cannot be used"],
            id="DPDK with an error",
        ),
        pytest.param(
            [MAPPING],
            {"br-ex": {"eth9": [Interface("", error="could not open eth9 (No such device)")]}},
            {"br-ex": ("eth9",)},
            ["port eth9 of bridge br-ex (physnet1) cannot be used: could not open eth9 (No such device), so"],
            id="a port that cannot be opened",
        ),
        pytest.param([MAPPING], {"br-ex": {"host": [HOST]}}, {"br-ex": ()}, [NO_PORT], id="a leg of the host alone"),
        pytest.param([MAPPING], {"br-ex": {"host": [HOST]}}, {}, [THEIRS], id="a leg of the host, bridge of others"),
        pytest.param([MAPPING], {"br-ex": {"eth1": [HOST]}}, EX, [NO_PORT], id="a declared leg of the host"),
        pytest.param(
            [MAPPING], {"br-ex": {"host": [HOST]}}, EX, [], id="check mode, a port beside the leg of the host"
        ),
        pytest.param([MAPPING], {"br-ex": {"host": [HOST], "eth1": [UP]}}, EX, [], id="a leg of the host and a port"),
        *(
            pytest.param(
                [MAPPING], {"br-ex": {"out": [UP._replace(kind=kind)]}}, {"br-ex": ()}, [], id=f"out by {kind}"
            )
            for kind in ("system", "afxdp", "dpdk", "patch", "vxlan", "tap")
        ),
        pytest.param(
            [MAPPING], {"br-ex": {"eth1": [UP], "tap1": [DOWN], "vm2": [GONE]}}, EX, [], id="stopped guests of others"
        ),
        pytest.param(
            [MAPPING],
            {"br-ex": {"eth1": [DOWN], "tap1": [DOWN], "vm2": [GONE]}},
            EX,
            [IS_DOWN],
            id="ours is down beside stopped guests",
        ),
        pytest.param(
            [MAPPING], {"br-ex": {"bond0": [UP], "tap1": [UNPLUGGED]}}, {"br-ex": ()}, [], id="others: one leads out"
        ),
        pytest.param(
            [MAPPING],
            {"br-ex": {"bond0": [UNPLUGGED, DOWN], "host": [HOST], "vm2": [GONE]}},
            {"br-ex": ()},
            [f"port bond0 of bridge br-ex (physnet1) has no link (link_state is down), {OTHERS}", f"{VM2}, {OTHERS}"],
            id="others: none leads out",
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


@pytest.mark.parametrize(
    ("ports", "circumstances", "expected"),
    [
        pytest.param({}, Circumstances(foreign={"br-ex"}), THEIRS, id="a bridge of others"),
        pytest.param({}, Circumstances(foreign={"br-int"}), NO_PORT, id="a bridge of ours"),
        pytest.param({"eth1": [UNPLUGGED]}, Circumstances(new_ports={"eth1": "br-ex"}), "", id="new, negotiates"),
        pytest.param({"eth1": [DOWN]}, Circumstances(new_ports={"eth1": "br-ex"}), IS_DOWN, id="new, down"),
        pytest.param({"eth1": [UNPLUGGED]}, Circumstances(new_ports={"eth2": "br-ex"}), NO_LINK, id="not new"),
        pytest.param({"eth1": [GONE]}, Circumstances(allow_missing_ports=True), "", id="waits for its device"),
        pytest.param({"eth1": [GONE], "tap1": [DOWN]}, Circumstances(allow_missing_ports=True), "", id="with a guest"),
        pytest.param({"eth1": [DOWN]}, Circumstances(allow_missing_ports=True), IS_DOWN, id="is there, but down"),
    ],
)
def test_what_else_matters(ports: Ports, circumstances: Circumstances, expected: str) -> None:
    declared = {"br-ex": DesiredBridge(ports=("eth1",) if ports else ())}
    warnings = network_warnings("compute-1", [MAPPING], {"br-ex": ports}, declared, circumstances)
    assert len(warnings) == bool(expected)
    assert all(warning.startswith(f"Chassis compute-1: {expected}") for warning in warnings)
