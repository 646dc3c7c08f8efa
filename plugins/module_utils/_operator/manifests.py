# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects with which the operator runs in a cluster: those of deploy/ and of the module ovn_operator. Pure."""

from __future__ import annotations

import typing as t

from .._api.crds import custom_resource_definitions
from .._api.names import MANAGER, POD_SECURITY, Object
from .._precheck.rights import PREPARATION, RIGHTS, Right, roles_of

NAME = "ovn-operator"
REPOSITORY = "ghcr.io/c5c3/ovn-operator"
VERSION = "0.1.0"  # of the collection: the tag of its image
PORT = 8080
_USER = 10001
_RBAC = "rbac.authorization.k8s.io"
_SELECTOR = {"app.kubernetes.io/name": NAME}
LABELS = {**_SELECTOR, "app.kubernetes.io/managed-by": MANAGER, "app.kubernetes.io/part-of": "ovn"}

# Beside those of a run over a control plane that another client keeps: it follows what wakes it, tells what it did, and writes the endpoints to Neutron.
_BESIDE = (
    Right("ovn.c5c3.io", "ovnclusters", ("get", "list", "watch", "patch")),
    Right("", "secrets", ("list", "watch")),
    Right("", "services", ("watch",)),
    Right("", "persistentvolumeclaims", ("watch",)),
    Right("", "events", ("create",)),
    Right("neutron.openstack.c5c3.io", "neutrons", ("get", "list", "patch"), cluster_wide=True),
)
_ELECTION = (Right("coordination.k8s.io", "leases", ("get", "create", "update")),)


class OperatorOptions(t.NamedTuple):
    """`namespace` is where it runs, `watch_namespace` the only one whose OVNClusters it looks after, empty for all. `image` as in an OVNCluster."""

    namespace: str
    watch_namespace: str
    image: t.Mapping[str, str]
    replicas: int = 2
    resync: int = 600
    cluster_domain: str = "cluster.local"
    log_level: str = "info"
    pull_secrets: t.Sequence[str] = ()


def operator_manifests(options: OperatorOptions) -> list[Object]:
    """Return all objects in the order in which they are applied."""
    return [
        namespace_manifest(options.namespace),
        *custom_resource_definitions(),
        _object("v1", "ServiceAccount", options.namespace, {"automountServiceAccountToken": False}),
        *_rights(options),
        _object(
            "policy/v1",
            "PodDisruptionBudget",
            options.namespace,
            {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": _SELECTOR}}},
        ),
        _deployment(options),
    ]


def namespace_manifest(namespace: str) -> Object:
    """Return the namespace, in which only pods with the strictest security start."""
    metadata = {"name": namespace, "labels": {POD_SECURITY: "restricted"}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _object(api_version: str, kind: str, namespace: str | None, content: Object, name: str = NAME) -> Object:
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **place, "labels": dict(LABELS)},
        **content,
    }


def _rights(options: OperatorOptions) -> list[Object]:
    """One ClusterRole for what is no part of a namespace, and the rest where the OVNClusters are: in one namespace, or in all of them."""
    left_out = (*PREPARATION, "own resource")
    rights = [*(one for one in RIGHTS["cluster"] if one.need not in left_out), *_BESIDE]
    everywhere, within = (one["rules"] for one in roles_of(rights, NAME, options.namespace))
    found = [
        *_bound(options, "ClusterRole", NAME, [*everywhere, *([] if options.watch_namespace else within)]),
        *(_bound(options, "Role", NAME, within, options.watch_namespace) if options.watch_namespace else []),
    ]
    if options.watch_namespace != options.namespace:
        (election,) = roles_of(_ELECTION, NAME, options.namespace)
        found += _bound(options, "Role", f"{NAME}-election", election["rules"], options.namespace)
    return found


def _bound(
    options: OperatorOptions, kind: str, name: str, rules: list[Object], namespace: str | None = None
) -> list[Object]:
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": options.namespace}
    reference = {"apiGroup": _RBAC, "kind": kind, "name": name}
    return [
        _object(f"{_RBAC}/v1", kind, namespace, {"rules": rules}, name),
        _object(f"{_RBAC}/v1", f"{kind}Binding", namespace, {"roleRef": reference, "subjects": [account]}, name),
    ]


def _deployment(options: OperatorOptions) -> Object:
    template = {"metadata": {"labels": dict(LABELS)}, "spec": _pod(options)}
    spec = {"replicas": options.replicas, "selector": {"matchLabels": _SELECTOR}, "template": template}
    return _object("apps/v1", "Deployment", options.namespace, {"spec": spec})


def _pod(options: OperatorOptions) -> Object:
    term = {"labelSelector": {"matchLabels": _SELECTOR}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "priorityClassName": "system-cluster-critical",
        **({"imagePullSecrets": [{"name": name} for name in options.pull_secrets]} if options.pull_secrets else {}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
            }
        },
        "containers": [_container(options)],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}],  # keys are written there
    }


def _container(options: OperatorOptions) -> Object:
    probe = {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 5}
    return {
        "name": "operator",
        "image": image_name(options.image),
        "imagePullPolicy": options.image.get("pullPolicy") or "IfNotPresent",
        "args": [
            f"--namespace={options.watch_namespace}",
            f"--metrics-port={PORT}",
            f"--resync={options.resync}",
            f"--cluster-domain={options.cluster_domain}",
            f"--log-level={options.log_level}",
        ],
        "env": [_from_field("POD_NAME", "metadata.name"), _from_field("POD_NAMESPACE", "metadata.namespace")],
        "ports": [{"name": "http", "containerPort": PORT}],
        "livenessProbe": {**probe, "initialDelaySeconds": 10, "failureThreshold": 6},
        "readinessProbe": {**probe, "httpGet": {"path": "/readyz", "port": "http"}},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _from_field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def image_name(image: t.Mapping[str, str]) -> str:
    """Return the image; a digest counts more than a tag."""
    repository = image.get("repository") or REPOSITORY
    if image.get("digest"):
        return f"{repository}@{image['digest']}"
    return f"{repository}:{image.get('tag') or VERSION}"
