"""Addresses of node ports follow the members that they lead to."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.outside_addresses import follow, host_of_pod

MEMBERS = ["ovn-northbound-0", "ovn-northbound-1", "ovn-northbound-2"]
INSIDE = ",".join(f"ssl:ovn-southbound-{index}.ovn-southbound.net.svc.cluster.local:16642" for index in range(3))
BEFORE = "ssl:192.0.2.1:31641,ssl:192.0.2.2:30642,ssl:192.0.2.3:32101"


def pod(*hosts: str) -> dict[str, t.Any]:
    return {"status": {"hostIP": hosts[0], "hostIPs": [{"ip": host} for host in hosts]} if hosts else {}}


@pytest.mark.parametrize(
    ("endpoints", "pods", "expected"),
    [
        (BEFORE, {MEMBERS[1]: pod("192.0.2.2")}, BEFORE),
        (BEFORE, {MEMBERS[1]: pod("192.0.2.4")}, BEFORE.replace("192.0.2.2", "192.0.2.4")),
        (BEFORE, {MEMBERS[1]: pod()}, BEFORE),
        (BEFORE, {}, BEFORE),
        (BEFORE, {MEMBERS[1]: pod("2001:db8::4")}, BEFORE),
        (BEFORE, {MEMBERS[1]: pod("2001:db8::4", "192.0.2.4")}, BEFORE.replace("192.0.2.2", "192.0.2.4")),
        ("ssl:192.0.2.1:31641", {MEMBERS[0]: pod("192.0.2.4")}, "ssl:192.0.2.1:31641"),
        ("", {MEMBERS[0]: pod("192.0.2.4")}, ""),
        (
            BEFORE.replace("192.0.2.2", "[2001:db8::2]"),
            {MEMBERS[1]: pod("192.0.2.4", "2001:db8::4")},
            BEFORE.replace("192.0.2.2", "[2001:db8::4]"),
        ),
        (INSIDE, {MEMBERS[1]: pod("192.0.2.4", "2001:db8::4")}, INSIDE),
    ],
    ids=[
        "it is where it was",
        "it has moved",
        "its new pod has no node yet",
        "it has no pod",
        "its node has no address of this family",
        "its node has addresses of both families",
        "not all members have an address yet",
        "nothing is told yet",
        "IPv6",
        "names inside of the cluster, whose port is none of a node",
    ],
)
def test_an_address_stays_until_its_member_moves(endpoints: str, pods: dict[str, t.Any], expected: str) -> None:
    assert follow(endpoints, MEMBERS, pods) == expected


def test_a_kubelet_of_before_1_29_tells_one_address() -> None:
    assert host_of_pod({"status": {"hostIP": "192.0.2.1"}}, ipv6=False) == "192.0.2.1"
    assert host_of_pod({"status": {"hostIP": "192.0.2.1"}}, ipv6=True) == ""
