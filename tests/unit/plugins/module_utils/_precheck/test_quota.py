from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.quota import NewPods, applies, demand_of, judge_quotas

Object = dict[str, t.Any]
CRITICAL = "system-cluster-critical"
RESOURCES = {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
PODS = [NewPods(3, {"priorityClassName": CRITICAL, "containers": [{"resources": RESOURCES}]})]
CLAIM = {"resources": {"requests": {"storage": "10Gi"}}, "storageClassName": "fast"}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s"},
    "spec": {"type": "NodePort", "ports": [{}]},
}
BUDGET = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: t.Any) -> Object:
    return {
        "metadata": {"name": "q", "namespace": "net"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used or dict.fromkeys(hard, "0")},
    }


def judge(*quotas: Object, limit_ranges: list[Object] | None = None, pods: list[NewPods] | None = None) -> list[str]:
    found = judge_quotas(
        "cluster", quotas, limit_ranges, PODS if pods is None else pods, [CLAIM, CLAIM], [SERVICE, BUDGET]
    )
    return [f"{one.code}: {one.cause}" for one in found]


@pytest.mark.parametrize(
    ("hard", "used", "short"),
    [
        pytest.param({"pods": "3"}, None, "", id="exactly enough pods"),
        pytest.param({"pods": "2"}, None, "pods: 3 more needed, 2 left", id="too few pods"),
        pytest.param({"pods": "10"}, {"pods": "9"}, "pods: 3 more needed, 1 left", id="pods that are there count"),
        pytest.param({"pods": "1"}, {"pods": "4"}, "pods: 3 more needed, 0 left", id="a quota that was lowered"),
        pytest.param({"count/pods": "2"}, None, "count/pods: 3 more needed, 2 left", id="pods as objects"),
        pytest.param({"requests.cpu": "750m"}, None, "", id="exactly enough CPU"),
        pytest.param({"cpu": "500m"}, None, "cpu: 750m more needed, 500m left", id="the short name of requests"),
        pytest.param(
            {"cpu": "1e0"}, {"cpu": "400000u"}, "cpu: 750m more needed, 600m left", id="forms of other clients"
        ),
        pytest.param({"cpu": "1"}, {"cpu": "999999u"}, "cpu: 750m more needed, 0 left", id="less than is shown"),
        pytest.param({"limits.memory": "2Gi"}, None, "limits.memory: 3Gi more needed, 2Gi left", id="memory"),
        pytest.param(
            {"persistentvolumeclaims": "1"}, None, "persistentvolumeclaims: 2 more needed, 1 left", id="claims"
        ),
        pytest.param({"requests.storage": "15Gi"}, None, "requests.storage: 20Gi more needed, 15Gi left", id="storage"),
        pytest.param(
            {"fast.storageclass.storage.k8s.io/requests.storage": "0"},
            None,
            "fast.storageclass.storage.k8s.io/requests.storage: 20Gi more needed, 0 left",
            id="storage of a class",
        ),
        pytest.param(
            {"slow.storageclass.storage.k8s.io/requests.storage": "0"}, None, "", id="storage of another class"
        ),
        pytest.param({"services.nodeports": "0"}, None, "services.nodeports: 1 more needed, 0 left", id="node ports"),
        pytest.param(
            {"services": "1", "services.loadbalancers": "0"}, None, "", id="services, and none with a load balancer"
        ),
        pytest.param(
            {"count/poddisruptionbudgets.policy": "0"},
            None,
            "count/poddisruptionbudgets.policy: 1 more needed, 0 left",
            id="objects of a group",
        ),
        pytest.param({"count/secrets": "0"}, None, "", id="what a run does not create"),
    ],
)
def test_what_is_left(hard: dict[str, str], used: dict[str, str] | None, short: str) -> None:
    expected = [f"quota_exceeded: It leaves too little for the control plane: {short}."] if short else []
    assert judge(quota(hard, used)) == expected


def test_a_quota_that_was_lowered_stops_no_run_that_creates_nothing() -> None:
    lowered = quota({"pods": "1"}, {"pods": "4"})
    assert judge_quotas("cluster", [lowered], None, [PODS[0]._replace(number=0)], [], []) == []


def scope(operator: str, *values: str) -> Object:
    expression: Object = {"scopeName": "PriorityClass", "operator": operator}
    return {"scopeSelector": {"matchExpressions": [{**expression, **({"values": list(values)} if values else {})}]}}


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({}, True),
        (scope("In", CRITICAL), True),
        (scope("In", "other"), False),
        (scope("NotIn", CRITICAL), False),
        (scope("Exists"), True),
        (scope("DoesNotExist"), False),
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["BestEffort"]}, False),
    ],
)
def test_applies(spec: Object, counts: bool) -> None:
    assert applies(quota({"pods": "0"}, **spec), CRITICAL) is counts
    assert bool(judge(quota({"pods": "0"}, **spec))) is counts


def test_a_quota_with_a_scope_counts_pods_alone() -> None:
    assert judge(quota({"persistentvolumeclaims": "0", "services": "0"}, **scope("Exists"))) == []


LIMITED = [NewPods(1, {"containers": [{"resources": {"limits": {"memory": "1Gi"}}}]})]
BARE = [NewPods(1, {"containers": [{"name": "status"}]})]
DEFAULTS = {"spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]}}


@pytest.mark.parametrize(
    ("hard", "limit_ranges", "pods", "found"),
    [
        pytest.param({"limits.memory": "9Gi"}, [], BARE, "limits.memory", id="no limit"),
        pytest.param({"memory": "9Gi"}, [], BARE, "memory", id="no request"),
        pytest.param({"limits.memory": "9Gi"}, [DEFAULTS], BARE, "", id="a default"),
        pytest.param({"requests.memory": "9Gi"}, [DEFAULTS], BARE, "", id="a default limit is a default request"),
        pytest.param({"limits.memory": "9Gi"}, None, BARE, "", id="defaults cannot be read"),
        pytest.param({"limits.memory": "9Gi"}, [], PODS, "", id="declared"),
        pytest.param({"limits.cpu": "9"}, [], PODS, "limits.cpu", id="another one declared"),
        pytest.param({"requests.memory": "9Gi"}, [], LIMITED, "", id="a limit is a request, too"),
        pytest.param({"limits.cpu": "9"}, [], [BARE[0]._replace(number=0)], "", id="no new pods"),
        pytest.param({"pods": "9"}, [], BARE, "", id="no resources limited"),
    ],
)
def test_what_containers_have_to_declare(
    hard: dict[str, str], limit_ranges: list[Object] | None, pods: list[NewPods], found: str
) -> None:
    cause = f"It limits {found}, so each container has to declare that, and containers of the control plane do not."
    assert judge(quota(hard), limit_ranges=limit_ranges, pods=pods) == (
        [f"quota_needs_resources: {cause}"] if found else []
    )


def test_sidecars_count_and_other_init_containers_do_not() -> None:
    """Kubernetes adds the requests of what goes on beside the containers."""
    other = {"resources": {"requests": {"cpu": "8"}}}
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}
    pod = {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "initContainers": [other, sidecar]}
    assert demand_of([NewPods(3, pod)], [], [])["requests.cpu"] == 9
