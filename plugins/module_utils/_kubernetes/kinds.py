# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of the API and their paths. The kinds that we use are known here, so they cost no discovery."""

from __future__ import annotations

import typing as t
from urllib.parse import quote

FIELD_MANAGER = "c5c3.ovn"  # one name for all, or fields that we no longer send would stay


class Kind(t.NamedTuple):
    """A kind of the API, with what its paths are made of."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str = "") -> str:
        """Return the path of one object, or of all of them without `name`; without `namespace` those of all namespaces."""
        parts = [group_path(self.api_version)]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=":"))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def group_path(api_version: str) -> str:
    """Return the path at which the API server lists the kinds of a group and version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def kind_of_discovery(api_version: str, kind: str, answer: t.Mapping[str, t.Any]) -> Kind | None:
    """Return the kind from the API server's list of a group and version, None if it is not in it."""
    for resource in answer.get("resources") or []:
        if resource["kind"] == kind and "/" not in resource["name"]:
            return Kind(api_version, kind, resource["name"], resource["namespaced"])
    return None


def _kinds(api_version: str, namespaced: bool, **plurals: str) -> dict[tuple[str, str], Kind]:
    return {(api_version, kind): Kind(api_version, kind, plural, namespaced) for kind, plural in plurals.items()}


KNOWN_KINDS: t.Mapping[tuple[str, str], Kind] = {
    **_kinds("v1", False, Namespace="namespaces", Node="nodes", PersistentVolume="persistentvolumes"),
    **_kinds(
        "v1",
        True,
        ConfigMap="configmaps",
        Endpoints="endpoints",
        Event="events",
        LimitRange="limitranges",
        PersistentVolumeClaim="persistentvolumeclaims",
        Pod="pods",
        ResourceQuota="resourcequotas",
        Secret="secrets",
        Service="services",
        ServiceAccount="serviceaccounts",
    ),
    **_kinds(
        "admissionregistration.k8s.io/v1",
        False,
        ValidatingAdmissionPolicy="validatingadmissionpolicies",
        ValidatingAdmissionPolicyBinding="validatingadmissionpolicybindings",
    ),
    **_kinds("apiextensions.k8s.io/v1", False, CustomResourceDefinition="customresourcedefinitions"),
    **_kinds(
        "apps/v1",
        True,
        ControllerRevision="controllerrevisions",
        DaemonSet="daemonsets",
        Deployment="deployments",
        ReplicaSet="replicasets",
        StatefulSet="statefulsets",
    ),
    **_kinds("batch/v1", True, CronJob="cronjobs", Job="jobs"),
    **_kinds("certificates.k8s.io/v1", False, CertificateSigningRequest="certificatesigningrequests"),
    **_kinds("coordination.k8s.io/v1", True, Lease="leases"),
    **_kinds("networking.k8s.io/v1", True, NetworkPolicy="networkpolicies"),
    **_kinds("ovn.c5c3.io/v1alpha1", False, OVNChassis="ovnchassis"),
    **_kinds("ovn.c5c3.io/v1alpha1", True, OVNCluster="ovnclusters"),
    **_kinds("policy/v1", True, PodDisruptionBudget="poddisruptionbudgets"),
    **_kinds(
        "rbac.authorization.k8s.io/v1", False, ClusterRole="clusterroles", ClusterRoleBinding="clusterrolebindings"
    ),
    **_kinds("rbac.authorization.k8s.io/v1", True, Role="roles", RoleBinding="rolebindings"),
    **_kinds("storage.k8s.io/v1", False, StorageClass="storageclasses"),
}
