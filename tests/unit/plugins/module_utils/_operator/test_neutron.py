"""Which Neutron resources get endpoints, and which."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.neutron import (
    NeutronClients,
    Place,
    neutron_endpoints,
    neutron_patch,
    referenced_clusters,
    takes_central,
)

ENDPOINTS = {"northbound": "ssl:a:1,ssl:b:1", "southbound": "ssl:a:6642", "southboundUnrestricted": "ssl:a:2"}
ADDRESSES = {"northboundClusterIPs": "ssl:10.96.0.1:1", "southboundUnrestrictedClusterIPs": "ssl:10.96.0.2:16642"}
OUTSIDE = {"northbound": "ssl:192.0.2.1:31641", "southboundUnrestricted": "ssl:192.0.2.1:31642"}
PROXY = {"leaderProxyNorthbound": "ssl:10.96.0.9:6641", "leaderProxySouthbound": "ssl:10.96.0.9:16642"}
DESIRED = {"nbConnection": "ssl:a:1,ssl:b:1", "sbConnection": "ssl:a:2"}


def neutron(namespace: str = "openstack", **ovn: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": "neutron", "namespace": namespace}, "spec": {"ovn": ovn}}


REFERENCE = {"name": "ovn", "namespace": "ovn-system"}
OVN, OTHER = Place("ovn", "ovn-system"), Place("other", "other-system")


@pytest.mark.parametrize(
    ("resource", "endpoints", "expected"),
    [
        (neutron(enabled=True, clusterRef=REFERENCE), ENDPOINTS, DESIRED),
        (neutron(enabled=True, clusterRef=REFERENCE, **DESIRED), ENDPOINTS, None),
        (
            neutron(enabled=True, clusterRef=REFERENCE, **{**DESIRED, "sbConnection": "old"}),
            ENDPOINTS,
            {"sbConnection": "ssl:a:2"},
        ),
        (
            neutron(enabled=True, clusterRef=REFERENCE, sbConnection="ssl:mine:1"),
            {**ENDPOINTS, "southboundUnrestricted": ""},
            {"nbConnection": DESIRED["nbConnection"]},  # never the port of chassis
        ),
        (neutron(enabled=False, clusterRef=REFERENCE), ENDPOINTS, None),
        (neutron(enabled=True), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef={"name": "other", "namespace": "ovn-system"}), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef={"name": "ovn"}), ENDPOINTS, None),  # in its own namespace
        (neutron("ovn-system", enabled=True, clusterRef={"name": "ovn"}), ENDPOINTS, DESIRED),
        (neutron(enabled=True, clusterRef={"name": "ovn", "namespace": "other"}), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef=REFERENCE, nbConnection="ssl:mine:1"), {}, None),  # nothing is known
        ({"metadata": {"name": "neutron", "namespace": "openstack"}}, ENDPOINTS, None),
    ],
)
def test_neutron(resource: dict[str, t.Any], endpoints: dict[str, str], expected: dict[str, str] | None) -> None:
    is_ours = referenced_clusters(resource, {OVN: []})
    patch = neutron_patch(resource, neutron_endpoints(endpoints)) if is_ours else None
    assert (patch or {"spec": {"ovn": None}})["spec"]["ovn"] == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"name": "hypervisor-cluster-a", "namespace": "infrastructure"}, [OVN]),
        ({"name": "hypervisor-cluster-a"}, [OVN]),
        ({"name": "hypervisor-cluster-b", "namespace": "infrastructure"}, [OTHER]),
        ({"name": "shared", "namespace": "infrastructure"}, [OVN, OTHER]),
        ({"name": "hypervisor-cluster-c"}, []),
        # An OVNCluster with the name of a hypervisor cluster comes first.
        ({"name": "other", "namespace": "other-system"}, [OTHER]),
        ({}, []),
    ],
)
def test_reference_to_hypervisor_cluster_means_ovnclusters_that_list_it(
    reference: dict[str, str], expected: list[Place]
) -> None:
    clusters = {OVN: ["hypervisor-cluster-a", "shared", "other"], OTHER: ["hypervisor-cluster-b", "shared"]}
    assert referenced_clusters(neutron(enabled=True, clusterRef=reference), clusters) == expected


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (neutron(centralRef={"name": "ovn", "namespace": "ovn-system"}), OVN),
        (neutron("ovn-system", centralRef={"name": "ovn"}), OVN),
        (neutron(enabled=True, clusterRef=REFERENCE), None),
        ({"metadata": {"name": "neutron", "namespace": "openstack"}}, None),
    ],
)
def test_central_reference_is_read_with_default_namespace(resource: dict[str, t.Any], expected: Place | None) -> None:
    assert takes_central(resource) == expected


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


@pytest.mark.parametrize(
    ("endpoints", "expected"),
    [
        ({**ENDPOINTS, **ADDRESSES, **OUTSIDE}, ("ssl:10.96.0.1:1", "ssl:10.96.0.2:16642")),
        (OUTSIDE, ("ssl:192.0.2.1:31641", "ssl:192.0.2.1:31642")),
        ({**ADDRESSES, **PROXY}, (",".join(["ssl:10.96.0.9:6641"] * 20), ",".join(["ssl:10.96.0.9:16642"] * 20))),
    ],
)
def test_who_is_let_in_as_a_pod_gets_addresses_of_services(
    endpoints: dict[str, str], expected: tuple[str, str]
) -> None:
    """Behind a node port it may have the address of a node, which is in no network that is named."""
    assert tuple(neutron_endpoints(endpoints, is_named=True).values()) == expected


@pytest.mark.parametrize("namespaces", [(), ("openstack",)])
def test_the_port_of_chassis_is_never_written(namespaces: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    resource = neutron(enabled=True, clusterRef=REFERENCE, sbConnection="ssl:former:1")
    patches: list[t.Any] = []
    monkeypatch.setattr(cluster, "list", lambda _version, kind: [resource] if kind == "Neutron" else [])
    monkeypatch.setattr(cluster, "patch", lambda *args, **_options: patches.append(args[-1]) or args[-1])
    endpoints = {"northbound": "ssl:192.0.2.1:31641", "southbound": "ssl:192.0.2.1:31642", "southboundUnrestricted": ""}
    warnings: list[str] = []
    NeutronClients(cluster, OVN, [], endpoints, namespaces, "m", warnings.append).fill_in()
    assert patches == [{"spec": {"ovn": {"nbConnection": endpoints["northbound"]}}}]
    (warning,) = warnings
    assert "Neutron openstack/neutron got no sbConnection: the Southbound is exposed for chassis alone" in warning
