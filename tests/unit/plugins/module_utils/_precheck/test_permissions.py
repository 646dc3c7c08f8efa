from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import Access
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.permissions import (
    judge_permissions,
    lost_rights,
    title,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import Right, questions_of

PODS = Right("", "pods", ("get", "list", "delete"))
DEFINITIONS = Right(
    "apiextensions.k8s.io", "customresourcedefinitions", ("create", "patch"), "definitions", ("a", "b"), True
)
EVENTS = Right("", "events", ("list",), "optional", without="no events in messages")


def every(*rights: Right) -> set[Access]:
    return {one for right in rights for one in questions_of(right, "net")}


def test_nothing_denied_is_nothing_found() -> None:
    assert judge_permissions([PODS, DEFINITIONS, EVENTS], set(), "net", "operator") == []
    assert lost_rights([PODS, EVENTS], set(), "net") == []


def test_a_resource_is_one_finding_with_each_verb() -> None:
    denied = {Access("", "pods", verb, "", "net") for verb in ("get", "delete")}
    (found,) = judge_permissions([PODS, EVENTS], denied, "net", "operator")
    assert found.code == "permission_missing"
    assert found.object == "pods in namespace net"
    assert found.cause == "User operator may not: get, delete."
    assert "a Role in namespace net with get, delete on pods of the core API group" in found.next_step


def test_verbs_of_two_needs_are_one_finding() -> None:
    more = Right("", "pods", ("patch",), "own secret")
    (found,) = judge_permissions([PODS, more], every(PODS, more), "net", "operator")
    assert found.cause == "User operator may not: get, list, delete, patch."


def test_names_and_the_whole_cluster_are_told() -> None:
    denied = {Access("apiextensions.k8s.io", "customresourcedefinitions", "patch", "b", "")}
    (found,) = judge_permissions([DEFINITIONS], denied, "net", "operator")
    assert found.object == "customresourcedefinitions.apiextensions.k8s.io named b in the whole cluster"
    assert "ClusterRole (by a ClusterRoleBinding) with patch on" in found.next_step


def test_an_optional_right_is_a_fact_and_no_finding() -> None:
    assert judge_permissions([EVENTS], every(EVENTS), "net", "operator") == []
    assert lost_rights([PODS, EVENTS], every(PODS, EVENTS), "net") == [
        {"resource": "events", "verbs": ["list"], "without": "no events in messages"}
    ]


def test_title_is_that_of_kubectl() -> None:
    assert [title("", "pods/exec"), title("apps", "deployments"), title("x.y", "things/status")] == [
        "pods/exec",
        "deployments.apps",
        "things.x.y/status",
    ]
