from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import selector
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.creation import (
    control_plane_manifests,
    created_by_control_plane,
    created_by_hypervisors,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.observed_cluster import ObservedKubernetes

SPEC = parse_spec({"southbound": {"replicas": 1}, "northd": {"replicas": 2}}, name="ovn", namespace="net")


def pod(component: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": "p", "labels": selector("ovn", component)}}


def test_metadata_agents_are_counted_without_gateways() -> None:
    agent = {
        "enabled": True,
        "image": {"repository": "r/neutron", "tag": "1"},
        "novaMetadata": {"host": "nova"},
        "sharedSecretRef": {"name": "nova"},
    }
    raw = {"metadataAgent": agent, "gateway": {"nodeSelector": {"gateway": "yes"}}}
    hypervisor = {"node-role.kubernetes.io/hypervisor": ""}
    labels = [hypervisor, hypervisor, {**hypervisor, "gateway": "yes"}, {}]
    nodes = [{"metadata": {"name": f"n{number}", "labels": one}} for number, one in enumerate(labels)]
    new = created_by_hypervisors(parse_spec(raw, name="ovn", namespace="net"), ObservedKubernetes(nodes=nodes))
    counts = {one.pod["serviceAccountName"]: one.number for one in new.pods}
    assert counts == {"ovs": 3, "ovn-controller": 3, "ovn-metadata-agent": 2}


def test_an_empty_cluster_gets_everything() -> None:
    new = created_by_control_plane(SPEC, ObservedKubernetes())
    assert sorted(one.number for one in new.pods) == [1, 1, 2, 3]
    assert len(new.claims) == 4
    assert len(new.objects) == len(control_plane_manifests(SPEC))


def test_what_is_there_is_not_created_again() -> None:
    manifests = control_plane_manifests(SPEC)
    observed = ObservedKubernetes(
        pods=[pod("northbound"), pod("northbound"), pod("northd"), pod("controller")],
        claims=[{"metadata": {"name": f"data-ovn-northbound-{index}"}} for index in range(3)],
        objects=manifests[:5],
    )
    new = created_by_control_plane(SPEC, observed)
    assert [one.number for one in new.pods] == [1, 1, 1, 1]
    assert len(new.claims) == 1
    assert new.objects == manifests[5:]


def test_kinds_that_cannot_be_listed_count_for_nothing() -> None:
    observed = ObservedKubernetes(unreadable={"Service objects": "forbidden"})
    assert {"Service"} & {one["kind"] for one in created_by_control_plane(SPEC, observed).objects} == set()


def test_a_hypervisor_cluster_gets_two_pods_for_each_selected_node() -> None:
    labels = {"node-role.kubernetes.io/hypervisor": ""}
    nodes = [{"metadata": {"name": f"n{index}", "labels": labels if index else {}}} for index in range(4)]
    new = created_by_hypervisors(SPEC, ObservedKubernetes(nodes=nodes, pods=[pod("ovs")]))
    assert sorted(one.number for one in new.pods) == [2, 3]
    assert new.claims == []
    assert {one["kind"] for one in new.objects} == {"ConfigMap", "DaemonSet", "ServiceAccount"}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [({}, 3), ({"tolerations": []}, 2), ({"tolerations": [{"key": "control", "operator": "Exists"}]}, 3)],
)
def test_a_leader_proxy_is_counted_on_each_node_that_gets_one(tolerations: dict[str, t.Any], expected: int) -> None:
    def node(name: str, label: str, *taints: dict[str, str]) -> dict[str, t.Any]:
        return {"metadata": {"name": name, "labels": {"role": label}}, "spec": {"taints": list(taints)}}

    nodes = [
        node("a", "control", {"key": "control", "effect": "NoSchedule"}),
        node("b", "control", {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}),
        node("c", "control", {"key": "control", "effect": "PreferNoSchedule"}),
        node("d", "compute"),
    ]
    raw = {
        "leaderProxy": {"enabled": True, "nodeSelector": {"role": "control"}, **tolerations},
        "neutronIntegration": {"sbConnection": {"allowedNamespaces": ["openstack"]}},
    }
    new = created_by_control_plane(parse_spec(raw, name="ovn", namespace="net"), ObservedKubernetes(nodes=nodes))
    (proxies,) = [one.number for one in new.pods if one.pod["containers"][0]["name"] == "leader-proxy"]
    assert proxies == expected
