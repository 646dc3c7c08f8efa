"""Pods are touched so that new settings reach them sooner; an API server that does not answer is asked once."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_settings import DEFAULT
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.objects import (
    AgentRights,
    missing_guards,
    trigger_config_sync,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import (
    ObservedHypervisors,
    StatusRights,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import ObjectChange, key_of
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import with_hash
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.status_rights import observer_rights, status_rights

LABELS = {
    "app.kubernetes.io/managed-by": "c5c3.ovn",
    "app.kubernetes.io/instance": "ovn",
    "app.kubernetes.io/component": "controller",
}


def pod(name: str) -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": "x", "labels": LABELS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": name}}


@pytest.mark.parametrize(
    ("error", "touched"),
    [
        (None, ["a", "b", "c"]),
        (Refused("it has gone"), ["a", "b", "c"]),
        (TimedOut("frozen"), ["a"]),
        (Unreachable("away"), ["a"]),
    ],
    ids=["all is well", "a pod has gone", "no answer", "no API server"],
)
def test_touched_pods(error: OvnError | None, touched: list[str]) -> None:
    cluster = FakeCluster(*map(pod, "abc"))
    if error:
        cluster.always("patch", error)
    settings = ObjectChange("ConfigMap", "ovn-chassis", "x", "changed", {"data": {}}, {"data": {DEFAULT: "new"}})
    desired = types.SimpleNamespace(name="ovn", namespace="x")
    trigger_config_sync(cluster, t.cast(t.Any, desired), [], settings)
    assert [call.name for call in cluster.written] == touched


RIGHTS = status_rights("ovn-controller", "net", "ovn", "controller")
POLICY, POLICY_BINDING, ROLE, BINDING = RIGHTS
OF_OBSERVER = observer_rights("net", "ovn")
NAME = "c5c3-ovn-chassis-status-net"
REVIEWS = "selfsubjectaccessreviews"


class Limited(FakeCluster):
    """Its user may write none of the rights, and delete `deletable` alone."""

    def __init__(self, deletable: bool | None) -> None:
        super().__init__()
        self.deletable = deletable  # None: the user may not even ask
        self.reviewed: list[t.Any] = []
        self.always("apply", Refused("apply: 403: no right.", http_status=403))

    def send(self, method: str, path: str, doing: str, **options: t.Any) -> t.Any:
        if path.endswith("selfsubjectrulesreviews"):
            return {"status": {"resourceRules": [], "incomplete": True}}
        if not path.endswith(REVIEWS):
            return super().send(method, path, doing, **options)
        if self.deletable is None:
            raise Refused("create a SelfSubjectAccessReview: 403: no right.", http_status=403)
        asked = options["body"]["spec"]["resourceAttributes"]
        self.reviewed.append(asked)
        mine = ("delete", "clusterrolebindings", NAME)
        allowed = self.deletable and (asked["verb"], asked["resource"], asked.get("name")) == mine
        return {"status": {"allowed": allowed}}


def observed(*objects: t.Any, rights: StatusRights = "managed") -> ObservedHypervisors:
    stored = [with_hash(one) for one in objects]
    return ObservedHypervisors("ovn", "net", {key_of(one): one for one in stored}, [], {}, None, False, rights)


def made(cluster: FakeCluster) -> tuple[AgentRights, list[str]]:
    spec = parse_spec({}, name="ovn", namespace="net")
    desired = types.SimpleNamespace(name="ovn", namespace="net", spec=spec, force_conflicts=False)
    progress = Progress()
    return AgentRights(cluster, t.cast("t.Any", desired), progress), progress.warnings


MISSING: list[t.Any] = [
    pytest.param([ROLE, POLICY_BINDING], f"ValidatingAdmissionPolicy {NAME} is missing", id="the policy"),
    pytest.param([ROLE, POLICY], f"ValidatingAdmissionPolicyBinding {NAME} is missing", id="its binding"),
    pytest.param(
        [ROLE],
        f"ValidatingAdmissionPolicy {NAME} and ValidatingAdmissionPolicyBinding {NAME} are missing",
        id="both of them",
    ),
]


@pytest.mark.parametrize("deletable", [False, None], ids=["may not delete", "may not ask"])
@pytest.mark.parametrize(("there", "cause"), MISSING)
def test_who_may_end_nothing_is_told_what_ends_it(there: list[t.Any], cause: str, deletable: bool | None) -> None:
    cluster = Limited(deletable)
    rights, warnings = made(cluster)
    state = observed(BINDING, *there)
    for _again in range(2):
        assert rights.unguarded_binding(state) is None
    first, second = warnings
    assert first.startswith("Agents do not keep the status of OVNChassis true between runs: apply: 403: no right.")
    assert second.startswith(
        f"ClusterRoleBinding {NAME} lets the agent of each node write the status of every OVNChassis"
    )
    assert cause in second
    assert second.endswith(f"kubectl delete clusterrolebinding {NAME}")
    assert not cluster.deleted


@pytest.mark.parametrize(("there", "cause"), MISSING)
def test_who_may_delete_the_binding_does_so(there: list[t.Any], cause: str) -> None:
    cluster = Limited(True)
    rights, warnings = made(cluster)
    state = observed(BINDING, *there)
    for _again in range(2):
        found = rights.unguarded_binding(state)
        assert found is not None
        assert key_of(found) == key_of(BINDING)
    assert rights.of(state) == "none"
    assert warnings[1].startswith(f"ClusterRoleBinding {NAME} is deleted: ")
    assert cause in warnings[1]
    assert "kubectl" not in warnings[1]
    assert len(cluster.reviewed) == 2, "whether the user may do everything, and this; once in a run"
    # When it is gone nothing is left to say.
    rights, warnings = made(cluster)
    assert rights.unguarded_binding(observed(*there)) is None
    assert rights.of(observed(*there)) == "none"
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(observed(*RIGHTS, *OF_OBSERVER), "managed", id="all of it"),
        pytest.param(observed(*RIGHTS), "kept", id="all but those of the observer"),
        pytest.param(observed(), "none", id="none of it"),
        pytest.param(observed(POLICY, POLICY_BINDING, ROLE), "none", id="all but the binding"),
        pytest.param(observed(POLICY, POLICY_BINDING, BINDING), "none", id="all but the role"),
        pytest.param(
            observed(POLICY, POLICY_BINDING, {**ROLE, "rules": []}, BINDING), "kept", id="somebody changed it"
        ),
        pytest.param(
            observed(*RIGHTS[:3], {**BINDING, "subjects": [{**BINDING["subjects"][0], "name": "former"}]}),
            "none",
            id="of the account of an earlier installation",
        ),
        pytest.param(observed(BINDING), "none", id="without its role the binding lets nobody write"),
        pytest.param(observed(rights="kept"), "kept", id="the user may not look at it"),
        pytest.param(observed(rights="none"), "none", id="before Kubernetes 1.30"),
    ],
)
def test_a_binding_under_a_policy_stays(state: ObservedHypervisors, expected: str) -> None:
    rights, _warnings = made(Limited(True))
    assert rights.of(state) == expected
    assert rights.unguarded_binding(state) is None


def test_a_server_that_is_too_old_for_the_policy() -> None:
    """It was newer when the binding was made."""
    rights, _warnings = made(Limited(True))
    assert rights.unguarded_binding(observed(ROLE, BINDING, rights="none")) is not None


def test_who_may_write_all_of_it_brings_the_policy_back() -> None:
    """The policy is applied before the binding."""
    cluster = FakeCluster()
    rights, warnings = made(cluster)
    state = observed(ROLE, BINDING)
    assert rights.unguarded_binding(state) is None
    assert rights.of(state) == "managed"
    assert not warnings
    assert not cluster.objects, "dry runs alone"


def test_missing_guards() -> None:
    index = observed(*RIGHTS).index
    assert missing_guards(RIGHTS, index) == []
    del index[key_of(POLICY)]
    assert missing_guards(RIGHTS, index) == [f"ValidatingAdmissionPolicy {NAME}"]
