"""Who may write the status of an OVNChassis: an agent that of its own node, by a role and a policy of a real API server, which not every user can make."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from _apiserver import ApiServer
from _chassis_status import OBSERVER, Attacker, condition, with_two_nodes
from _hypervisors import API, STATUS_RIGHTS, Hypervisors, actions
from _rights import Operator
from conftest import Ran, until
from example_rights import roles, status_agent_role

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.resources import foreign_fields
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import PREPARATION, RIGHTS, status_agent_rights

Object = dict[str, t.Any]


@pytest.fixture
def two(hypervisors: Hypervisors) -> Hypervisors:
    return with_two_nodes(hypervisors)


def test_the_token_of_one_node_writes_no_other(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy")
    assert attacker.write("worker-1", "mine")["status"]["conditions"][0]["message"] == "mine"
    refused = "the agent of node worker-1 writes the status of its own OVNChassis only, not of worker-2"
    with pytest.raises(Refused, match=refused):
        attacker.write("worker-2", "theirs")
    assert "theirs" not in str(two.chassis()["worker-2"])
    # Nothing but the status, also of its own.
    changed = attacker.api.patch(
        f"{API}/worker-1/status", {"metadata": {"labels": {"x": "y"}}, "spec": {"hostname": "x"}, "status": {}}
    )
    assert "x" not in changed["metadata"]["labels"]
    assert changed["spec"]["hostname"] == "worker-1"
    for attempt in (
        lambda: attacker.api.patch(f"{API}/worker-1", {"metadata": {"labels": {"x": "y"}}}),
        lambda: attacker.api.get(API),
        lambda: attacker.api.get(f"{API}/worker-2"),
        lambda: attacker.api.create(API, {"metadata": {"name": "worker-3"}}),
        lambda: attacker.api.get(f"/api/v1/namespaces/{two.namespace}/secrets"),
        lambda: attacker.api.get("/api/v1/nodes/worker-1"),
    ):
        with pytest.raises(Refused, match=" 403: "):
            attempt()


OURS = "c5c3.ovn"  # the field manager of runs
CLAIMED = {
    "manager": "mine",
    "operation": "Update",
    "apiVersion": "ovn.c5c3.io/v1alpha1",
    "time": "2026-03-01T12:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:hostname": {}, "f:systemId": {}}},
}
SPEC = {"hostname": "taken", "systemId": "worker-2", "encapsulation": {"type": "geneve", "ip": "192.0.2.22"}}
METADATA = {"labels": {"x": "y"}, "annotations": {"x": "y"}, "ownerReferences": [], "finalizers": ["x.example/y"]}


def attacks(name: str) -> list[tuple[str, str, t.Any]]:
    """Content type, field manager, body: what a PATCH of the status could change besides."""
    applied = {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNChassis", "spec": SPEC, "status": {}}
    operations = [
        {"op": "replace", "path": "/spec/hostname", "value": "taken"},
        {"op": "replace", "path": "/spec/systemId", "value": "worker-2"},
        {"op": "add", "path": "/metadata/labels/x", "value": "y"},
        {"op": "replace", "path": "/metadata/ownerReferences", "value": []},
        {"op": "add", "path": "/metadata/finalizers", "value": ["x.example/y"]},
        {"op": "add", "path": "/status", "value": {}},
    ]
    one_more = {"op": "add", "path": "/status/conditions/-"}
    return [
        ("merge-patch+json", "mine", {"metadata": METADATA, "spec": SPEC, "status": {}}),
        ("merge-patch+json", OURS, {"metadata": METADATA, "spec": SPEC, "status": {}}),
        ("merge-patch+json", "mine", {"metadata": {"labels": None, "annotations": None}, "spec": None, "status": {}}),
        ("merge-patch+json", "mine", {"metadata": {"managedFields": [CLAIMED]}}),
        ("merge-patch+json", OURS, {"metadata": {"managedFields": [{}]}}),
        ("json-patch+json", "mine", operations),
        ("json-patch+json", OURS, operations),
        ("json-patch+json", "mine", [{"op": "replace", "path": "/metadata/managedFields", "value": [CLAIMED]}]),
        ("apply-patch+yaml", "mine", {**applied, "metadata": {"name": name, "labels": {"x": "y"}}}),
        ("apply-patch+yaml", OURS, {**applied, "metadata": {"name": name, "labels": {"x": "y"}}}),
        ("apply-patch+yaml", OURS, {**applied, "metadata": {"name": name}, "spec": {}}),
        # More field managers than the API server keeps apart: it merges the oldest, of whatever subresource they are.
        ("merge-patch+json", "mine", {"status": {"conditions": [condition("Mine")]}}),
        *(
            ("json-patch+json", f"mine-{number}", [*operations[:-1], {**one_more, "value": condition(f"Mine{number}")}])
            for number in range(12)
        ),
    ]


def test_a_patch_of_the_status_changes_nothing_else(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    """Of its own OVNChassis: neither the specification nor whose its fields are, by which runs go. Of another one nothing at all."""
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy")

    def of_runs(name: str) -> Object:
        found = two.get(f"{API}/{name}")
        metadata = {
            key: found["metadata"].get(key)
            for key in ("generation", "labels", "annotations", "ownerReferences", "finalizers")
        }
        owned = {
            one["manager"]: one["fieldsV1"]["f:spec"]
            for one in found["metadata"]["managedFields"]
            if "f:spec" in one["fieldsV1"]
        }
        return {**metadata, "spec": found["spec"], "owned": owned, "foreign": foreign_fields(found)}

    two.server.request("PATCH", f"{API}/worker-2/status", {"status": {"conditions": [condition("Theirs")]}})
    before, theirs = of_runs("worker-1"), two.get(f"{API}/worker-2")
    assert before["foreign"] == set()
    for content, manager, body in attacks("worker-1"):
        assert (attacker.send("worker-1", content, manager, body), content, body) == (200, content, body)
        after = of_runs("worker-1")
        changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        assert not changed, (content, manager, body)
    managers = {one["manager"] for one in two.get(f"{API}/worker-1")["metadata"]["managedFields"]}
    assert "ancient-changes" in managers
    for content, manager, body in attacks("worker-2"):
        assert (attacker.send("worker-2", content, manager, body), content, body) == (403, content, body)
    assert two.get(f"{API}/worker-2") == theirs
    ran = two(spec={"encapsulation": {"type": "vxlan"}}, check=True)
    assert actions(ran)["OVNChassis worker-1"] == "changed", "what a run declares is still its own"
    assert not two()["changed"]


def test_a_token_of_no_pod_writes_nothing(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    attacker = Attacker(two, two.account_of("worker-1", tmp_path, bound=False))
    for name in ("worker-1", "worker-2"):
        until(lambda name=name: attacker.is_refused(name, "the token of this agent names no node"), "the policy")


def has_status_rights(hypervisors: Hypervisors) -> bool:
    try:
        return all(
            hypervisors.get(f"{place}/c5c3-ovn-chassis-status-{hypervisors.namespace}") for place in STATUS_RIGHTS
        )
    except OSError:
        return False


def operator_with(server: ApiServer, namespace: str, directory: pathlib.Path, *more: Object) -> Operator:
    operator = Operator(server, f"operator-{namespace}", directory)
    operator.grant(*roles("hypervisors", operator.name, namespace), *more)
    return operator


NOT_PREPARED = {
    (right.group, right.resource, verb)
    for right in RIGHTS["hypervisors"]
    if right.need in PREPARATION
    for verb in right.verbs
}


def test_a_user_with_the_rights_of_the_page(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    for place in STATUS_RIGHTS:
        two.server.request("DELETE", f"{place}/c5c3-ovn-chassis-status-{two.namespace}")
    name = f"operator-{two.namespace}"
    operator = operator_with(two.server, two.namespace, tmp_path, status_agent_role(f"{name}-agents", two.namespace))
    rights = [*RIGHTS["hypervisors"], *status_agent_rights(two.namespace)]
    operator.await_denied(rights, two.namespace, NOT_PREPARED)
    assert two(kubeconfig=operator.kubeconfig)["changed"]
    assert has_status_rights(two)
    assert not two(kubeconfig=operator.kubeconfig)["changed"]
    two(kubeconfig=operator.kubeconfig, state="absent")
    assert not has_status_rights(two)


def test_a_user_without_these_rights_leaves_what_an_administrator_has_made(
    two: Hypervisors, tmp_path: pathlib.Path
) -> None:
    operator = operator_with(two.server, two.namespace, tmp_path)
    operator.await_denied(RIGHTS["hypervisors"], two.namespace, NOT_PREPARED)
    generations = two.generations()
    ran = two(kubeconfig=operator.kubeconfig, spec={"heartbeatInterval": 120})
    changed = {name for name, action in actions(ran).items() if action == "changed"}
    assert changed == {"ConfigMap ovn-chassis", f"Deployment {OBSERVER}"}
    assert two.settings()["_heartbeat"] == {"interval": 120}
    assert has_status_rights(two)
    assert two.generations() == generations
    # Where there are none, agents do not write and have no token.
    two(state="absent")
    assert two(kubeconfig=operator.kubeconfig)["changed"]
    assert "_heartbeat" not in two.settings()
    pods = two.get(f"/apis/apps/v1/namespaces/{two.namespace}/daemonsets/ovn-controller")["spec"]["template"]["spec"]
    assert "api" not in {volume["name"] for volume in pods["volumes"]}


def has_token(hypervisors: Hypervisors) -> bool:
    place = f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets/ovn-controller"
    return "api" in {volume["name"] for volume in hypervisors.get(place)["spec"]["template"]["spec"]["volumes"]}


def has_observer(hypervisors: Hypervisors) -> bool:
    """Its Deployment and its account come and go together."""
    places = (
        f"/apis/apps/v1/namespaces/{hypervisors.namespace}/deployments",
        f"/api/v1/namespaces/{hypervisors.namespace}/serviceaccounts",
    )
    there = {OBSERVER in {one["metadata"]["name"] for one in hypervisors.get(place)["items"]} for place in places}
    (found,) = there
    return found


def granted(role: Object, verbs: t.Iterable[str], resources: t.Iterable[str]) -> Object:
    """The role with these verbs and resources alone."""
    rules = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb in verbs]}
        for rule in role["rules"]
        if {*rule["resources"]} <= {*resources}
    ]
    return {**role, "rules": rules}


def warnings_with(ran: Ran, words: str) -> list[str]:
    return [text for text in ran.warnings if words in text]


POLICIES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
ROLES = ("clusterroles", "clusterrolebindings")


@pytest.mark.parametrize(
    ("verbs", "resources", "cause"),
    [
        pytest.param(("get",), (*POLICIES, *ROLES), 'role with the verb "patch" on', id="a user who may look at them"),
        pytest.param(
            ("get", "create", "patch", "delete"),
            (*POLICIES, *ROLES),
            "attempting to grant RBAC permissions not currently held",
            id="a user who cannot grant what they do not have",
        ),
    ],
)
def test_a_user_who_may_not_make_all_of_it(
    two: Hypervisors, tmp_path: pathlib.Path, verbs: tuple[str, ...], resources: tuple[str, ...], cause: str
) -> None:
    namespace = two.namespace
    role = granted(status_agent_role(f"operator-{namespace}-agents", namespace), verbs, resources)
    operator = operator_with(two.server, namespace, tmp_path, role)
    every = status_agent_rights(namespace)
    missing = {(one.group, one.resource, verb) for one in every for verb in one.verbs if verb not in verbs}
    missing = {one for one in missing if not one[1].startswith("ovnchassis")}
    missing |= {("ovn.c5c3.io", "ovnchassis/status", "get"), ("ovn.c5c3.io", "ovnchassis", "watch")}
    operator.await_denied([*RIGHTS["hypervisors"], *every], namespace, NOT_PREPARED | missing)
    # An administrator has made it.
    ran = two(kubeconfig=operator.kubeconfig)
    assert not ran["changed"]
    assert "OVNChassis" not in str(ran.get("warnings"))
    # Nobody has: nothing of it is made, and the next run says the same.
    for place in STATUS_RIGHTS:
        two.server.request("DELETE", f"{place}/c5c3-ovn-chassis-status-{namespace}")
    predicted = two(kubeconfig=operator.kubeconfig, check=True)
    ran = two(kubeconfig=operator.kubeconfig)
    assert actions(predicted) == actions(ran)
    again = two(kubeconfig=operator.kubeconfig)
    assert (ran["changed"], again["changed"]) == (True, False)
    for one in (predicted, ran, again):
        (warning,) = warnings_with(one, "Agents do not keep the status")
        assert cause in warning
    assert "_heartbeat" not in two.settings()
    assert not has_token(two)
    assert not has_observer(two)
    for place in STATUS_RIGHTS:
        with pytest.raises(OSError, match="404"):
            two.get(f"{place}/c5c3-ovn-chassis-status-{namespace}")
    # An administrator makes it, and somebody changes it.
    two()
    assert has_token(two)
    assert has_observer(two)
    place = STATUS_RIGHTS[1]
    changed = {"rules": [{"apiGroups": ["ovn.c5c3.io"], "resources": ["ovnchassis/status"], "verbs": ["patch"]}]}
    two.server.request("PATCH", f"{place}/c5c3-ovn-chassis-status-{namespace}", changed)
    ran = two(kubeconfig=operator.kubeconfig, force_conflicts=True)
    assert not ran["changed"]
    (warning,) = warnings_with(ran, "What lets agents write the status")
    assert cause in warning
    assert has_token(two)
    # Who may not delete it leaves it.
    gone = two(kubeconfig=operator.kubeconfig, state="absent")
    assert has_status_rights(two) is ("delete" not in verbs)
    left = warnings_with(gone, "It stays, and lets nobody do anything")
    assert len(left) == (0 if "delete" in verbs else len(STATUS_RIGHTS) + 2), "two are of the observer"


@pytest.mark.parametrize("guard", STATUS_RIGHTS[2:], ids=["binding of the policy", "policy"])
@pytest.mark.parametrize("verbs", [("get",), ("get", "delete")], ids=["who only looks", "who may delete"])
def test_a_user_who_cannot_bring_the_policy_back(
    two: Hypervisors, tmp_path: pathlib.Path, verbs: tuple[str, ...], guard: str
) -> None:
    """With the ClusterRoleBinding alone each agent could write the status of all."""
    namespace, name = two.namespace, f"c5c3-ovn-chassis-status-{two.namespace}"
    role = granted(status_agent_role(f"operator-{namespace}-agents", namespace), verbs, (*POLICIES, *ROLES))
    operator = operator_with(two.server, namespace, tmp_path, role)
    every = status_agent_rights(namespace)
    missing = {(one.group, one.resource, verb) for one in every for verb in one.verbs if verb not in verbs}
    missing |= {("ovn.c5c3.io", "ovnchassis/status", "get")}
    # Rights of the run itself
    missing -= {("ovn.c5c3.io", "ovnchassis/status", "patch"), ("ovn.c5c3.io", "ovnchassis", "list")}
    operator.await_denied([*RIGHTS["hypervisors"], *every], namespace, NOT_PREPARED | missing)
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy")
    two.server.request("DELETE", f"{guard}/{name}")
    until(lambda: not attacker.is_refused("worker-2", ""), "the end of the policy")
    predicted = two(kubeconfig=operator.kubeconfig, check=True)
    ran = two(kubeconfig=operator.kubeconfig)
    again = two(kubeconfig=operator.kubeconfig)
    assert actions(predicted) == actions(ran)
    assert not again["changed"]
    binding = f"{STATUS_RIGHTS[0]}/{name}"
    if "delete" in verbs:
        assert actions(ran)[f"ClusterRoleBinding {name}"] == "deleted"
        assert [
            len(warnings_with(one, f"ClusterRoleBinding {name} is deleted")) for one in (predicted, ran, again)
        ] == [
            1,
            1,
            0,
        ]
        with pytest.raises(OSError, match="404"):
            two.get(binding)
        until(lambda: attacker.is_refused("worker-2", " 403: "), "the end of the right")
    else:
        for one in (predicted, ran, again):
            (warning,) = warnings_with(one, "write the status of every OVNChassis")
            assert warning.endswith(f"kubectl delete clusterrolebinding {name}")
        assert two.get(binding)
    assert two()["changed"]
    assert has_status_rights(two)
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy again")


def test_absent_takes_the_rights_away(two: Hypervisors) -> None:
    assert not two()["changed"]
    assert has_observer(two)
    gone = [one["kind"] for one in two(state="absent")["objects"] if one["action"] == "deleted"]
    roles = [
        "ClusterRole",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterRoleBinding",
    ]  # of the agents, and of their observer
    order = [*roles, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    assert [kind for kind in gone if kind in order] == order
    assert not has_status_rights(two)
    assert not has_observer(two)


def test_token_of_the_observer_writes_statuses_alone(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    observer = Attacker(two, two.account_of("worker-1", tmp_path, account=OBSERVER))
    for name in ("worker-1", "worker-2"):
        until(lambda name=name: not observer.is_refused(name, ""), "the right to write")
    assert len(observer.api.get(API)["items"]) == 2
    for attempt in (
        lambda: observer.api.patch(f"{API}/worker-1", {"metadata": {"labels": {"x": "y"}}}),
        lambda: observer.api.create(API, {"metadata": {"name": "worker-3"}}),
        lambda: observer.api.get(f"/api/v1/namespaces/{two.namespace}/secrets"),
        lambda: observer.api.get("/api/v1/nodes"),
        lambda: observer.api.get(f"/api/v1/namespaces/{two.namespace}/pods"),
    ):
        with pytest.raises(Refused, match=" 403: "):
            attempt()
