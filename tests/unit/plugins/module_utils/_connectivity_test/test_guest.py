from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.guest import (
    MARK,
    ActualGuest,
    ActualPort,
    Guest,
    GuestLink,
    actual_port,
    guest_commands,
    guest_removal,
    makes_device,
    parse_link,
    port_operations,
    port_removal,
)

WANTED = Guest("ns", "dev", "02:00:00:00:00:01", "198.18.0.1/16", 1400)
GOOD = GuestLink("veth", WANTED.mac, 1400, True, ("198.18.0.1/16",))
THERE = ActualGuest(True, True, True, GOOD)

# `ip -netns NS -json -details address show`, iproute2 6.1
LOOPBACK = {
    "ifname": "lo",
    "flags": ["UP"],
    "mtu": 65536,
    "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}],
}
ETH0 = {
    "ifname": "eth0",
    "flags": ["BROADCAST", "UP"],
    "mtu": 1400,
    "address": WANTED.mac,
    "linkinfo": {"info_kind": "veth"},
    "addr_info": [
        {"family": "inet", "local": "198.18.0.1", "prefixlen": 16},
        {"family": "inet6", "scope": "link", "local": "fe80::1", "prefixlen": 64},
    ],
}


@pytest.mark.parametrize(
    ("data", "expected"),
    [([], None), ([{}, LOOPBACK], None), ([LOOPBACK, ETH0], GOOD), ([ETH0, LOOPBACK], GOOD)],
    ids=["no link", "loopback alone", "behind loopback", "before loopback"],
)
def test_parse_link(data: list[dict[str, t.Any]], expected: GuestLink | None) -> None:
    assert parse_link(data) == expected


def link(**changes: t.Any) -> ActualGuest:
    return dataclasses.replace(THERE, link=dataclasses.replace(GOOD, **changes))


INSIDE = "-netns ns "


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (THERE, []),
        (link(mac="02:00:00:00:00:99"), [INSIDE + "link set dev eth0 address 02:00:00:00:00:01"]),
        (link(mtu=1500), [INSIDE + "link set dev eth0 mtu 1400"]),
        (link(up=False), [INSIDE + "link set dev eth0 up"]),
        (
            link(addresses=("198.18.0.9/16",)),
            [INSIDE + "address delete 198.18.0.9/16 dev eth0", INSIDE + "address add 198.18.0.1/16 dev eth0"],
        ),
        (dataclasses.replace(THERE, device_up=False), ["link set dev dev up"]),
    ],
    ids=["all there", "mac", "mtu", "down", "address", "device down"],
)
def test_drift_is_corrected_in_place(actual: ActualGuest, expected: list[str]) -> None:
    assert [" ".join(command) for command in guest_commands(WANTED, actual)] == expected


@pytest.mark.parametrize(
    ("actual", "first"),
    [
        (ActualGuest(), "netns add ns"),
        (ActualGuest(namespace=True), "link add dev dev type veth peer name eth0 netns ns"),
        (ActualGuest(namespace=True, device=True), "link delete dev dev"),
        (ActualGuest(namespace=True, link=GOOD), "-netns ns link delete dev eth0"),
        (link(kind="dummy"), "link delete dev dev"),
    ],
    ids=["nothing", "no device", "the other end is elsewhere", "only the inner end", "not a veth pair"],
)
def test_a_torn_pair_is_recreated(actual: ActualGuest, first: str) -> None:
    commands = guest_commands(WANTED, actual)
    assert " ".join(commands[0]) == first
    assert makes_device(commands)
    assert " ".join(commands[-1]) == "link set dev dev up"


def test_removal_of_a_guest() -> None:
    assert guest_removal(WANTED, ActualGuest()) == []
    assert guest_removal(WANTED, THERE) == [["link", "delete", "dev", "dev"], ["netns", "delete", "ns"]]


PLUGGED = ActualPort(bridge="b", port="p", holder="br-int", interface="i", iface_id="lp")


@pytest.mark.parametrize(
    ("actual", "kinds"),
    [
        (PLUGGED, []),
        (dataclasses.replace(PLUGGED, iface_id="old"), ["mutate Interface"]),
        (ActualPort(bridge="b"), ["insert Interface", "insert Port", "mutate Bridge"]),
    ],
    ids=["plugged", "another logical port", "not plugged"],
)
def test_port_operations(actual: ActualPort, kinds: list[str]) -> None:
    assert [f"{o['op']} {o['table']}" for o in port_operations("br-int", "dev", "lp", actual)] == kinds


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (ActualPort(), "no bridge br-int"),
        (dataclasses.replace(PLUGGED, ours=False), "not one that this module made"),
        (dataclasses.replace(PLUGGED, holder="br-ex"), "already a port of bridge br-ex"),
        (ActualPort(bridge="b", interface="i"), "interface of another port"),
    ],
    ids=["no integration bridge", "somebody else's port", "on another bridge", "part of a bond"],
)
def test_ports_of_others_are_refused(actual: ActualPort, words: str) -> None:
    with pytest.raises(Refused, match=words):
        port_operations("br-int", "dev", "lp", actual)


@pytest.mark.parametrize(
    "actual",
    [ActualPort(), ActualPort(bridge="b"), dataclasses.replace(PLUGGED, ours=False)],
    ids=["no bridge", "no port", "somebody else's"],
)
def test_nothing_to_unplug(actual: ActualPort) -> None:
    assert port_removal("br-int", actual) == []


def test_unplug() -> None:
    assert port_removal("br-int", PLUGGED)[0]["mutations"] == [["ports", "delete", ["set", [["uuid", "p"]]]]]


def test_rows_are_understood() -> None:
    bridges = [
        {"_uuid": ["uuid", "b"], "name": "br-int", "ports": ["uuid", "p"]},
        {"_uuid": ["uuid", "x"], "name": "br-ex", "ports": ["set", []]},
    ]
    ports = [{"_uuid": ["uuid", "p"], "external_ids": ["map", [[MARK, "true"]]]}]
    interfaces = [{"_uuid": ["uuid", "i"], "external_ids": ["map", [["iface-id", "lp"]]]}]
    assert actual_port("br-int", [{"rows": bridges}, {"rows": ports}, {"rows": interfaces}]) == PLUGGED
    assert actual_port("br-int", [{"rows": []}, {"rows": []}, {"rows": []}]) == ActualPort()
