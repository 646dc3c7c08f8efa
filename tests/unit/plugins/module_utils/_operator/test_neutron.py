"""Which Neutron resources get endpoints, and which."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.neutron import neutron_endpoints, neutron_patch

ENDPOINTS = {"northbound": "ssl:a:1,ssl:b:1", "southbound": "ssl:a:2", "southboundUnrestricted": ""}
ADDRESSES = {"northboundClusterIPs": "ssl:10.96.0.1:1", "southboundUnrestrictedClusterIPs": "ssl:10.96.0.2:16642"}
OUTSIDE = {"northbound": "ssl:192.0.2.1:31641", "southboundUnrestricted": "ssl:192.0.2.1:31642"}
PROXY = {"leaderProxyNorthbound": "ssl:10.96.0.9:6641", "leaderProxySouthbound": "ssl:10.96.0.9:16642"}
WANTED = {"nbConnection": "ssl:a:1,ssl:b:1", "sbConnection": "ssl:a:2"}


def neutron(namespace: str = "openstack", **ovn: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": "neutron", "namespace": namespace}, "spec": {"ovn": ovn}}


REFERENCE = {"name": "ovn", "namespace": "ovn-system"}


@pytest.mark.parametrize(
    ("resource", "endpoints", "expected"),
    [
        (neutron(enabled=True, clusterRef=REFERENCE), ENDPOINTS, WANTED),
        (neutron(enabled=True, clusterRef=REFERENCE, **WANTED), ENDPOINTS, None),
        (
            neutron(enabled=True, clusterRef=REFERENCE, **{**WANTED, "sbConnection": "old"}),
            ENDPOINTS,
            {"sbConnection": "ssl:a:2"},
        ),
        (
            neutron(enabled=True, clusterRef=REFERENCE),
            {**ENDPOINTS, "southboundUnrestricted": "ssl:a:16642"},
            {**WANTED, "sbConnection": "ssl:a:16642"},
        ),
        (neutron(enabled=False, clusterRef=REFERENCE), ENDPOINTS, None),
        (neutron(enabled=True), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef={"name": "other", "namespace": "ovn-system"}), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef={"name": "ovn"}), ENDPOINTS, None),  # in its own namespace
        (neutron("ovn-system", enabled=True, clusterRef={"name": "ovn"}), ENDPOINTS, WANTED),
        (neutron(enabled=True, clusterRef={"name": "ovn", "namespace": "other"}), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef=REFERENCE, nbConnection="ssl:mine:1"), {}, None),  # nothing is known
        ({"metadata": {"name": "neutron", "namespace": "openstack"}}, ENDPOINTS, None),
    ],
)
def test_neutron(resource: dict[str, t.Any], endpoints: dict[str, str], expected: dict[str, str] | None) -> None:
    patch = neutron_patch(resource, "ovn", "ovn-system", endpoints)
    assert (patch or {"spec": {"ovn": None}})["spec"]["ovn"] == expected


@pytest.mark.parametrize(
    ("endpoints", "northbound", "southbound"),
    [
        (ENDPOINTS, "ssl:a:1,ssl:b:1", "ssl:a:2"),
        ({**ENDPOINTS, **ADDRESSES}, "ssl:10.96.0.1:1", "ssl:10.96.0.2:16642"),
        ({**ENDPOINTS, **ADDRESSES, **OUTSIDE}, "ssl:192.0.2.1:31641", "ssl:192.0.2.1:31642"),
        (
            {**ENDPOINTS, **ADDRESSES, **OUTSIDE, **PROXY},
            ",".join(["ssl:10.96.0.9:6641"] * 20),
            ",".join(["ssl:10.96.0.9:16642"] * 20),
        ),
        ({"northbound": "", **ADDRESSES}, "", ""),
    ],
    ids=["names", "addresses of Services", "addresses outside", "proxy", "none so far"],
)
def test_what_neutron_can_resolve_comes_first(endpoints: dict[str, str], northbound: str, southbound: str) -> None:
    assert neutron_endpoints(endpoints) == {"nbConnection": northbound, "sbConnection": southbound}
