from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.observed_cluster import ObservedKubernetes
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.placement import (
    judge_node_addresses,
    judge_placement,
    members_to_place,
    why_unsuitable,
)

Object = dict[str, t.Any]
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


def node(name: str = "n1", labels: t.Mapping[str, str] | None = None, ready: bool = True, **spec: t.Any) -> Object:
    return {
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        },
    }


def cluster(**raw: t.Any) -> ClusterSpec:
    return parse_spec({"southbound": {"replicas": 1}, **raw}, name="ovn", namespace="net")


@pytest.mark.parametrize(
    ("given", "selector", "tolerations", "why"),
    [
        pytest.param(node(), {}, [], "", id="any node"),
        pytest.param(node(), {"disk": "fast"}, [], "lacks the label disk=fast", id="without the label"),
        pytest.param(node(labels={"disk": "fast"}), {"disk": "fast"}, [], "", id="with the label"),
        pytest.param(node(unschedulable=True), {}, [], "is cordoned", id="cordoned"),
        pytest.param(node(ready=False), {}, [], "is not ready", id="kubelet unresponsive"),
        pytest.param(node(taints=[TAINT]), {}, [], "has the taint dedicated=db:NoSchedule", id="taint"),
        pytest.param(
            node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), {}, [], "", id="a taint that only prefers"
        ),
        pytest.param(node(taints=[TAINT]), {}, [{"key": "dedicated", "value": "db"}], "", id="tolerated by value"),
        pytest.param(
            node(taints=[TAINT]),
            {},
            [{"key": "dedicated", "value": "web"}],
            "has the taint dedicated=db:NoSchedule",
            id="another value",
        ),
        pytest.param(node(taints=[TAINT]), {}, [{"key": "dedicated", "operator": "Exists"}], "", id="tolerated by key"),
        pytest.param(node(taints=[TAINT]), {}, [{"operator": "Exists"}], "", id="all taints tolerated"),
        pytest.param(
            node(taints=[TAINT]),
            {},
            [{"operator": "Exists", "effect": "NoExecute"}],
            "has the taint dedicated=db:NoSchedule",
            id="another effect",
        ),
    ],
)
def test_why_unsuitable(given: Object, selector: dict[str, str], tolerations: list[dict[str, t.Any]], why: str) -> None:
    assert why_unsuitable(given, selector, tolerations) == why


def claim(name: str, phase: str) -> Object:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def pod(name: str, on: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"nodeName": on} if on else {}}


def test_what_was_placed_once_needs_no_node() -> None:
    observed = ObservedKubernetes(
        claims=[claim("data-ovn-northbound-0", "Bound"), claim("data-ovn-northbound-1", "Pending")],
        pods=[pod("ovn-northbound-2", "n1"), pod("ovn-northbound-1", "")],
    )
    assert members_to_place(cluster(), "northbound", observed) == ["ovn-northbound-1"]


@pytest.mark.parametrize(
    ("nodes", "pods", "cause"),
    [
        pytest.param([node("n1")], [], "", id="one node is enough"),
        pytest.param([], [], "No node could take its pods: there is none.", id="no node"),
        pytest.param(
            [node("n1", taints=[TAINT])],
            [],
            "No node could take its pods: n1 has the taint dedicated=db:NoSchedule.",
            id="it tolerates nothing",
        ),
        pytest.param(
            [], [{"metadata": {"name": "ovn-northd-1"}, "spec": {"nodeName": "n1"}}], "", id="it runs already"
        ),
    ],
)
def test_northd_needs_a_node_that_it_tolerates(nodes: list[Object], pods: list[Object], cause: str) -> None:
    claims = [claim(f"data-ovn-{name}-0", "Bound") for name in ("northbound", "southbound")]
    observed = ObservedKubernetes(nodes=nodes, pods=pods, claims=claims)
    found = judge_placement(cluster(northbound={"replicas": 1}), observed)
    assert [(one.code, one.object, one.cause) for one in found] == (
        [("nodes_too_few", "northd", cause)] if cause else []
    )
    tolerant = judge_placement(
        cluster(northbound={"replicas": 1}, northd={"tolerations": [{"operator": "Exists"}]}), observed
    )
    assert bool(tolerant) == (bool(cause) and not nodes)


def test_enough_nodes_are_nothing_found() -> None:
    assert judge_placement(cluster(), ObservedKubernetes(nodes=[node(f"n{i}") for i in range(3)])) == []


def test_too_few_nodes_are_counted_and_explained() -> None:
    nodes = [node("n1"), node("n2", taints=[TAINT]), node("n3", unschedulable=True)]
    (found,) = judge_placement(cluster(), ObservedKubernetes(nodes=nodes))
    assert (found.code, found.object) == ("nodes_too_few", "Northbound database")
    assert "3 have none yet (ovn-northbound-0, ovn-northbound-1, ovn-northbound-2)" in found.cause
    assert "nodes that could take them: 1 (n1)" in found.cause
    assert "n2 has the taint dedicated=db:NoSchedule, n3 is cordoned" in found.cause
    assert "northbound.tolerations" in found.next_step
    assert found.next_step.endswith("uncordon them or declare 1 member.")


def test_a_node_that_carries_a_member_takes_no_second_one() -> None:
    nodes = [node(f"n{i}") for i in range(3)]
    pods = [pod("ovn-northbound-0", "n0"), pod("ovn-southbound-0", "n1")]
    assert judge_placement(cluster(), ObservedKubernetes(nodes=nodes, pods=pods)) == []
    (found,) = judge_placement(cluster(), ObservedKubernetes(nodes=nodes[:2], pods=pods))
    assert "2 have none yet" in found.cause
    assert "1 (n1)" in found.cause
    # A run would refuse 1 instead of 3: the first member may be on record with the others.
    assert found.next_step.endswith("uncordon them.")


def test_a_dead_node_stops_no_control_plane_that_is_rolled_out() -> None:
    claims = [claim(f"data-ovn-northbound-{i}", "Bound") for i in range(3)]
    claims.append(claim("data-ovn-southbound-0", "Bound"))
    observed = ObservedKubernetes(nodes=[node(ready=False)], claims=claims, pods=[pod("ovn-northd-1", "n1")])
    assert judge_placement(cluster(), observed) == []


def test_nodes_that_may_not_be_listed_are_not_judged() -> None:
    assert judge_placement(cluster(), ObservedKubernetes(nodes=None)) == []
    assert judge_node_addresses(cluster(northbound={"service": {"type": "NodePort"}}), ObservedKubernetes()) == []


@pytest.mark.parametrize(
    ("service", "labels", "found"),
    [
        pytest.param("NodePort", {}, ["Node bare"], id="a node port needs an address"),
        pytest.param("LoadBalancer", {}, [], id="a load balancer has one of its own"),
        pytest.param("NodePort", {"disk": "fast"}, [], id="a node that takes no member"),
    ],
)
def test_judge_node_addresses(service: str, labels: dict[str, str], found: list[str]) -> None:
    bare = {**node("bare"), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    both = {
        database: {"replicas": 1, "service": {"type": service}, "nodeSelector": labels}
        for database in ("northbound", "southbound")
    }
    observed = ObservedKubernetes(nodes=[node("n1"), bare])
    assert [one.object for one in judge_node_addresses(cluster(**both), observed)] == found
