"""When the address of the leader proxy is published, and when the proxy may be removed."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.leader_proxy import (
    await_leader_proxy,
    published_endpoints,
    refuse_published_removal,
    runs_on_all_nodes,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused

NORTHBOUND, SOUTHBOUND = "ssl:10.96.0.9:6641", "ssl:10.96.0.9:16642"
PUBLISHED = {"leaderProxyNorthbound": NORTHBOUND, "leaderProxySouthbound": SOUTHBOUND}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "ovn-leader-proxy",
        "namespace": "net",
        "labels": {
            "app.kubernetes.io/name": "ovn",
            "app.kubernetes.io/instance": "ovn",
            "app.kubernetes.io/component": "leader-proxy",
        },
    },
    "spec": {
        "clusterIP": "10.96.0.9",
        "ports": [{"name": "northbound", "port": 6641}, {"name": "southbound", "port": 16642}],
    },
}


def spec_with(**proxy: t.Any) -> ClusterSpec:
    neutron = {"sbConnection": {"allowedNamespaces": ["openstack"]}}
    return parse_spec({"leaderProxy": proxy, "neutronIntegration": neutron}, name="ovn", namespace="net")


def daemon_set(scheduled: int, available: int, observed: int = 1) -> dict[str, t.Any]:
    status = {"desiredNumberScheduled": scheduled, "numberAvailable": available, "observedGeneration": observed}
    metadata = {"name": "ovn-leader-proxy", "namespace": "net", "generation": 1}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "status": status}


def cluster_with(*objects: dict[str, t.Any]) -> FakeCluster:
    return FakeCluster(*objects)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (daemon_set(3, 3), True),
        (daemon_set(3, 4), True),  # the next pod of a node beside the former one
        (daemon_set(3, 2), False),
        (daemon_set(0, 0), False),
        (daemon_set(3, 3, observed=0), False),
        ({"metadata": {"generation": 1}}, False),
    ],
)
def test_on_all_nodes(found: dict[str, t.Any], expected: bool) -> None:
    assert runs_on_all_nodes(found) is expected


@pytest.mark.parametrize(
    ("proxy", "before", "objects", "expected"),
    [
        ({"enabled": True}, {}, [SERVICE, daemon_set(3, 3)], True),
        ({"enabled": True}, {}, [SERVICE, daemon_set(3, 2)], False),
        ({"enabled": True}, {}, [SERVICE], False),
        ({"enabled": True}, {}, [daemon_set(3, 3)], False),
        ({"enabled": True}, PUBLISHED, [SERVICE, daemon_set(3, 2)], True),  # a node is away
        (
            {"enabled": True},
            {**PUBLISHED, "leaderProxyNorthbound": "ssl:10.96.0.8:6641"},
            [SERVICE, daemon_set(3, 2)],
            False,
        ),
        ({"enabled": True, "published": False}, PUBLISHED, [SERVICE, daemon_set(3, 3)], False),
        ({}, PUBLISHED, [SERVICE, daemon_set(3, 3)], False),
    ],
    ids=[
        "runs",
        "not everywhere",
        "no DaemonSet",
        "no Service",
        "published before",
        "another address",
        "not published",
        "off",
    ],
)
def test_published(
    proxy: dict[str, t.Any], before: dict[str, str], objects: list[dict[str, t.Any]], expected: bool
) -> None:
    wanted = (NORTHBOUND, SOUTHBOUND) if expected else ("", "")
    for services in (None, [one for one in objects if one["kind"] == "Service"]):
        found = published_endpoints(cluster_with(*objects), spec_with(**proxy), before, services)
        assert (found["northbound"], found["southbound"]) == wanted


@pytest.mark.parametrize(
    ("proxy", "before", "objects", "words"),
    [
        ({}, {}, [], ""),
        ({"enabled": True}, {}, [daemon_set(2, 2)], ""),
        (
            {"enabled": True},
            {},
            [daemon_set(2, 1)],
            "1 of 2 pods are available. See kubectl -n net describe daemonset ovn-leader-proxy. Its address is published by",
        ),
        ({"enabled": True, "published": False}, {}, [daemon_set(2, 1)], "describe daemonset ovn-leader-proxy."),
        ({"enabled": True}, PUBLISHED, [daemon_set(2, 1)], "Clients on the other nodes reach no database through it."),
        ({"enabled": True}, {}, [daemon_set(0, 0)], "no node is chosen. Compare spec.leaderProxy.nodeSelector"),
    ],
    ids=["off", "runs", "new", "not published", "published", "no node"],
)
def test_who_waits_says_why(
    proxy: dict[str, t.Any], before: dict[str, str], objects: list[dict[str, t.Any]], words: str
) -> None:
    _endpoints, warnings = await_leader_proxy(cluster_with(*objects), spec_with(**proxy), before, Deadline(0.1))
    assert [words in one for one in warnings] == ([True] if words else [])


def test_it_is_published_when_it_runs() -> None:
    found = await_leader_proxy(cluster_with(SERVICE, daemon_set(2, 2)), spec_with(enabled=True), {}, Deadline(0.1))
    assert found == ({"leader_proxy_northbound": NORTHBOUND, "leader_proxy_southbound": SOUTHBOUND}, [])


def test_a_published_proxy_is_not_removed() -> None:
    resource = {"status": {"endpoints": PUBLISHED}}
    with pytest.raises(
        Refused,
        match=r"enabled of OVNCluster ovn is false, and its status publishes ssl:10\.96\.0\.9:6641 and ssl:.* Nothing was changed\.",
    ):
        refuse_published_removal(spec_with(), resource)
    refuse_published_removal(spec_with(enabled=True, published=False), resource)
    refuse_published_removal(spec_with(), {"status": {"endpoints": {"northbound": "ssl:a:1"}}})
    refuse_published_removal(spec_with(), None)
