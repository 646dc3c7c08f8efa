from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    CertificateProblem,
    Conflict,
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import Access
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import with_hash
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.cluster_precheck import (
    connection_finding,
    judge_permissions,
    lost_rights,
    needs,
    title,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.observed_cluster import ObservedKubernetes
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import Right, questions_of

NAMESPACE = {"metadata": {"name": "net"}}
APPLIED = {one["metadata"]["name"]: with_hash(one) for one in custom_resource_definitions()}
CHASSIS = {name: one for name, one in APPLIED.items() if name.startswith("ovnchassis")}


def cluster(**raw: t.Any) -> ClusterSpec:
    return parse_spec({"tls": {"enabled": False}, **raw}, name="ovn", namespace="net")


@pytest.mark.parametrize(
    ("kind", "spec", "observed", "found"),
    [
        pytest.param(
            "cluster", cluster(), ObservedKubernetes(namespace=NAMESPACE, definitions=APPLIED), [], id="prepared"
        ),
        pytest.param(
            "hypervisors",
            cluster(),
            ObservedKubernetes(namespace=NAMESPACE, definitions=CHASSIS),
            [],
            id="one definition",
        ),
        pytest.param(
            "cluster",
            cluster(),
            ObservedKubernetes(namespace=NAMESPACE, definitions=CHASSIS),
            ["definitions"],
            id="one missing",
        ),
        pytest.param("cluster", cluster(), ObservedKubernetes(definitions=APPLIED), ["namespace"], id="no namespace"),
        pytest.param(
            "cluster",
            cluster(),
            ObservedKubernetes(unreadable={"namespace": "forbidden", "definitions": "forbidden"}),
            [],
            id="an administrator keeps what this user may not read",
        ),
        pytest.param(
            "cluster",
            cluster(southbound={"service": {"type": "NodePort", "allowPlaintext": True}}),
            ObservedKubernetes(namespace=NAMESPACE, definitions=APPLIED),
            ["node ports"],
            id="node ports",
        ),
        pytest.param(
            "cluster",
            cluster(tls={"enabled": True}),
            ObservedKubernetes(namespace=NAMESPACE, definitions=APPLIED),
            ["secret", "own secret"],
            id="TLS",
        ),
        pytest.param(
            "hypervisors",
            cluster(
                metadataAgent={
                    "enabled": True,
                    "image": {"repository": "r/neutron", "tag": "1"},
                    "novaMetadata": {"host": "nova"},
                    "sharedSecretRef": {"name": "nova"},
                }
            ),
            ObservedKubernetes(namespace=NAMESPACE, definitions=APPLIED),
            ["secret"],
            id="the secret of metadata agents",
        ),
        pytest.param(
            "cluster",
            None,
            ObservedKubernetes(namespace=NAMESPACE, definitions=APPLIED),
            ["secret", "own secret"],
            id="an invalid specification: TLS is the default",
        ),
    ],
)
def test_needs(kind: Kind, spec: ClusterSpec | None, observed: ObservedKubernetes, found: list[str]) -> None:
    own = ["own resource"] if kind == "cluster" else []
    assert needs(kind, spec, observed, own_secret=True) == ["always", *own, *found]


def test_the_secret_of_another_owner_is_only_read() -> None:
    observed = ObservedKubernetes(namespace=NAMESPACE, definitions=APPLIED)
    spec = cluster(tls={"enabled": True})
    assert needs("cluster", spec, observed, own_secret=False, own_resource=False) == ["always", "secret"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unreachable("x"), "api_unreachable"),
        (TimedOut("x"), "api_unreachable"),
        (CertificateProblem("x"), "api_unreachable"),
        (Refused("x", http_status=401), "api_credentials"),
        (InvalidInput("x"), "api_credentials"),
        (Refused("x", http_status=403), None),
        (Conflict("x"), None),
    ],
)
def test_connection_finding(error: OvnError, code: str | None) -> None:
    found = connection_finding(error, "https://192.0.2.1:6443", "kubeconfig k")
    assert (found.code if found else None) == code


def test_without_an_address_the_kubeconfig_is_named() -> None:
    found = connection_finding(InvalidInput("x"), "", "kubeconfig k")
    assert found is not None
    assert found.object == "kubeconfig k"


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
