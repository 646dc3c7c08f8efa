"""What of an OVNCluster wakes the operator."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.operated_cluster import (
    daemon_set_extract,
    observe_resource,
    reported_generation,
)

CLUSTER: dict[str, t.Any] = {
    "metadata": {"name": "ovn", "namespace": "net", "uid": "1", "generation": 2},
    "status": {
        "conditions": [
            {"type": "UpToDate", "status": "True", "observedGeneration": 2},
            {"type": "Reconciled", "status": "True"},
        ],
        "endpoints": {"southbound": "ssl:a:2,ssl:b:2", "northbound": "ssl:a:1"},
        "northbound": {"members": []},
    },
}


def test_its_own_condition_does_not_wake_it() -> None:
    changed = copy.deepcopy(CLUSTER)
    changed["status"]["conditions"][1]["status"] = "False"
    changed["status"]["northbound"] = {"members": ["a"]}
    assert observe_resource(changed) == observe_resource(CLUSTER)
    changed["status"]["conditions"][0]["status"] = "False"
    assert observe_resource(changed) != observe_resource(CLUSTER)


@pytest.mark.parametrize(
    ("part", "field", "value", "wakes"),
    [
        ("metadata", "uid", "2", True),  # deleted, and made anew by that name
        ("metadata", "generation", 3, True),
        ("metadata", "deletionTimestamp", "now", True),
        ("metadata", "resourceVersion", "77", False),
        ("metadata", "annotations", {"example.com/seen": "now"}, False),
        ("status", "endpoints", {"southbound": "ssl:c:2", "northbound": "ssl:a:1"}, True),
        ("status", "endpoints", {"northbound": "ssl:a:1", "southbound": "ssl:a:2,ssl:b:2"}, False),  # in another order
        ("status", "endpoints", None, True),
        ("status", "hypervisorClusters", [{"name": "rack1", "ready": True}], False),
    ],
)
def test_what_wakes_it(part: str, field: str, value: t.Any, wakes: bool) -> None:
    changed = copy.deepcopy(CLUSTER)
    changed[part][field] = value
    assert (observe_resource(changed) != observe_resource(CLUSTER)) is wakes


def test_another_chassis_that_does_not_answer_wakes_hypervisors_though_no_condition_changes() -> None:
    late = copy.deepcopy(CLUSTER)
    late["status"]["conditions"].append({"type": "ControllersReady", "status": "False", "message": "No answer: a."})
    later = copy.deepcopy(late)
    later["status"]["conditions"][-1]["message"] = "No answer: a, b."
    assert observe_resource(late).conditions == observe_resource(later).conditions
    assert observe_resource(late).answers != observe_resource(later).answers


def test_the_generation_that_is_rolled_out_wakes_hypervisors_though_no_condition_changes() -> None:
    later = copy.deepcopy(CLUSTER)
    later["status"]["conditions"][0]["observedGeneration"] = 3
    assert observe_resource(later).conditions == observe_resource(CLUSTER).conditions
    assert (observe_resource(CLUSTER).rolled_out, observe_resource(later).rolled_out) == (2, 3)


def test_one_without_a_status_is_observed() -> None:
    observed = observe_resource({"metadata": CLUSTER["metadata"]})
    assert (observed.rolled_out, observed.endpoints, observed.conditions) == (0, (), ())


def test_after_a_restart_a_generation_is_not_told_anew() -> None:
    assert reported_generation(CLUSTER) == 0
    told = copy.deepcopy(CLUSTER)
    told["status"]["conditions"][1]["observedGeneration"] = 2
    assert reported_generation(told) == 2
    assert reported_generation({"metadata": {}}) == 0


def daemon_set(component: str, available: int) -> dict[str, t.Any]:
    labels = {"app.kubernetes.io/component": component}
    return {
        "metadata": {"uid": "1", "generation": 1, "labels": labels},
        "status": {"observedGeneration": 1, "desiredNumberScheduled": 2, "numberAvailable": available},
    }


@pytest.mark.parametrize(("component", "wakes"), [("leader-proxy", True), ("ovs", False)])
def test_a_leader_proxy_on_all_nodes_wakes_it(component: str, wakes: bool) -> None:
    """Only a run publishes the address, and the next one without a cause may be ten minutes away."""
    one, all_nodes = daemon_set(component, 1), daemon_set(component, 2)
    assert (daemon_set_extract(one) != daemon_set_extract(all_nodes)) is wakes
    assert daemon_set_extract(one) == daemon_set_extract(daemon_set(component, 0))
    edited = {**one, "metadata": {**one["metadata"], "generation": 2}}
    assert daemon_set_extract(edited) != daemon_set_extract(one)
