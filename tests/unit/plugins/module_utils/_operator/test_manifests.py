from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.manifests import (
    OperatorOptions,
    image_name,
    operator_manifests,
)

Object = dict[str, t.Any]
# Where it runs and what it looks after: the same namespace, another one, all of them.
PLACES = [("ovn-system", "ovn-system"), ("ovn-system", "network"), ("ovn-system", "")]


def manifests(kind: str, namespace: str = "ovn-system", watched: str = "ovn-system", **image: str) -> list[Object]:
    return [one for one in operator_manifests(OperatorOptions(namespace, watched, image)) if one["kind"] == kind]


def rules(kind: str, namespace: str, watched: str) -> list[Object]:
    return [rule for one in manifests(kind, namespace, watched) for rule in one["rules"]]


@pytest.mark.parametrize(("namespace", "watched"), PLACES)
def test_no_right_is_a_wildcard(namespace: str, watched: str) -> None:
    found = [*rules("Role", namespace, watched), *rules("ClusterRole", namespace, watched)]
    words = {word for rule in found for key in ("apiGroups", "resources", "verbs") for word in rule[key]}
    assert found
    assert not words & {"*", "escalate", "bind", "impersonate"}


@pytest.mark.parametrize(("namespace", "watched"), PLACES)
def test_secrets_are_read_where_the_clusters_are(namespace: str, watched: str) -> None:
    everywhere = any("secrets" in rule["resources"] for rule in rules("ClusterRole", namespace, watched))
    within = [
        role["metadata"]["namespace"]
        for role in manifests("Role", namespace, watched)
        if any("secrets" in rule["resources"] for rule in role["rules"])
    ]
    assert (everywhere, within) == ((False, [watched]) if watched else (True, []))


@pytest.mark.parametrize(("namespace", "watched"), PLACES)
def test_every_role_is_bound_to_the_account_and_leases_are_writable_where_it_runs(namespace: str, watched: str) -> None:
    for kind in ("Role", "ClusterRole"):
        roles, bindings = manifests(kind, namespace, watched), manifests(f"{kind}Binding", namespace, watched)
        assert [one["metadata"] for one in roles] == [one["metadata"] for one in bindings]
        assert [one["metadata"]["name"] for one in roles] == [one["roleRef"]["name"] for one in bindings]
        account = {"kind": "ServiceAccount", "name": "ovn-operator", "namespace": namespace}
        assert all(one["subjects"] == [account] for one in bindings)
    own = [one for one in manifests("Role", namespace, watched) if one["metadata"]["namespace"] == namespace]
    assert any("leases" in rule["resources"] and "update" in rule["verbs"] for one in own for rule in one["rules"])


def test_the_pod_is_restricted() -> None:
    (namespace,), (deployment,) = manifests("Namespace"), manifests("Deployment")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert all("emptyDir" in volume for volume in pod["volumes"])
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_selectors_find_the_pods() -> None:
    (deployment,), (budget,) = manifests("Deployment"), manifests("PodDisruptionBudget")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    for one in (deployment, budget):
        assert one["spec"]["selector"]["matchLabels"].items() <= labels


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, "ghcr.io/c5c3/ovn-operator:0.1.0"),
        ({"tag": "1"}, "ghcr.io/c5c3/ovn-operator:1"),
        ({"repository": "r.example/o", "tag": "1", "digest": "sha256:ab"}, "r.example/o@sha256:ab"),
    ],
)
def test_image(image: dict[str, str], expected: str) -> None:
    assert image_name(image) == expected
    (deployment,) = manifests("Deployment", **image)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == expected
