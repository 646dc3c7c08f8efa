"""Objects of every kind that we use, and how tests of a real API server apply them and look at them."""

from __future__ import annotations

import pathlib
import tempfile
import typing as t

import pytest
from _apiserver import ApiServer

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import (
    Key,
    ObjectChange,
    converge,
    list_objects,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

Object = dict[str, t.Any]
INSTANCE = {"app.kubernetes.io/instance": "test", "app.kubernetes.io/managed-by": "c5c3.ovn"}
SELECTOR = "app.kubernetes.io/instance=test"
KINDS = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
]


def made(api_version: str, kind: str, namespace: str, name: str, **content: t.Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": dict(INSTANCE)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def config_map(namespace: str, name: str, **data: str) -> Object:
    return made("v1", "ConfigMap", namespace, name, data=data)


def pod_template(**changes: t.Any) -> Object:
    container = {
        "name": "database",
        "image": "example.org/ovn:1",
        "command": ["sleep"],
        "env": [{"name": "A", "value": "1"}, {"name": "EMPTY", "value": ""}],
        "ports": [{"containerPort": 6641, "name": "client"}],
        "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {"privileged": False, "allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "run", "mountPath": "/run/ovn"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "run", "emptyDir": {}}], **changes}
    return {"metadata": {"labels": {"app": "a"}}, "spec": spec}


def everything(namespace: str) -> list[Object]:
    """One object of each kind that we use, with much that the API server fills in or writes in another way."""
    selector = {"matchLabels": {"app": "a"}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
    }
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    rbac = "rbac.authorization.k8s.io"
    return [
        config_map(namespace, "a", x="1", empty=""),
        made("v1", "Secret", namespace, "s", type="Opaque", data={"tls.key": "c2VjcmV0"}),
        made(
            *("v1", "Service", namespace, "headless"),
            spec={
                "clusterIP": "None",
                "selector": {"app": "a"},
                "publishNotReadyAddresses": True,
                "ports": [{"port": 1}, {"port": 2, "name": "b"}][1:],
            },
        ),
        made("v1", "Service", namespace, "clients", spec={"selector": {"app": "a"}, "ports": [{"port": 6641}]}),
        made("v1", "ServiceAccount", namespace, "a", automountServiceAccountToken=False),
        made(
            *("apps/v1", "Deployment", namespace, "a"),
            spec={"replicas": 2, "selector": selector, "template": pod_template()},
        ),
        made(
            *("apps/v1", "StatefulSet", namespace, "a"),
            spec={
                "replicas": 0,
                "serviceName": "headless",
                "selector": selector,
                "template": pod_template(),
                "volumeClaimTemplates": [claim],
                "updateStrategy": {"type": "OnDelete"},
            },
        ),
        made(
            *("networking.k8s.io/v1", "NetworkPolicy", namespace, "a"),
            spec={
                "podSelector": {},
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}], "ports": [{"port": 6641}]}],
            },
        ),
        made("policy/v1", "PodDisruptionBudget", namespace, "a", spec={"maxUnavailable": 1, "selector": selector}),
        made(f"{rbac}/v1", "Role", namespace, "a", rules=rules),
        made(
            *(f"{rbac}/v1", "RoleBinding", namespace, "a"),
            roleRef={"apiGroup": rbac, "kind": "Role", "name": "a"},
            subjects=[{"kind": "ServiceAccount", "name": "a", "namespace": namespace}],
        ),
    ]


def look(cluster: Cluster, namespace: str) -> dict[Key, Object]:
    return list_objects(cluster, KINDS, namespace, SELECTOR)


def run(
    cluster: Cluster, namespace: str, desired: list[Object], check_mode: bool = False, **options: t.Any
) -> list[ObjectChange]:
    return converge(cluster, desired, look(cluster, namespace), check_mode=check_mode, **options)


def actions(done: t.Iterable[ObjectChange]) -> dict[str, str]:
    return {f"{one.kind}/{one.name}": one.action for one in done if one.action != "unchanged"}


def versions(index: t.Mapping[Key, Object]) -> dict[Key, str]:
    return {key: item["metadata"]["resourceVersion"] for key, item in index.items()}


def expect(family: type[OvnError], *words: str) -> t.Any:
    """`with expect(Refused, "403"):` the message has all words."""
    pattern = "".join(f"(?=[^$]*{word})" for word in words)
    return pytest.raises(family, match=pattern)


@pytest.fixture(autouse=True)
def own_discovery_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kubernetes.core keeps what it discovered in the temporary folder, which is that of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "K8S_AUTH_CONTEXT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cluster(api_server: ApiServer) -> Cluster:
    return Cluster({"kubeconfig": api_server.kubeconfig})
