# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of the API and their paths. The kinds that we use are known here, so they cost no discovery."""

from __future__ import annotations

import typing as t
from urllib.parse import quote

from .._base.errors import CertificateProblem, OvnError, TimedOut, Unreachable

# Failures of the network: exceptions of urllib3 and of the system become `OvnError`s.

# urllib3 is on the control node only, so its exceptions are distinguished by their names. The order matters: in urllib3 1.26
# a refused connection is a subclass of a timeout.
_REFUSED, _BROKEN = "nothing listens there", "the connection broke"
_KINDS: tuple[tuple[tuple[str, ...], type[OvnError], str], ...] = (
    (("SSLError", "SSLCertVerificationError"), CertificateProblem, ""),
    (("NameResolutionError",), Unreachable, "the name cannot be resolved"),
    (("ProxyError",), Unreachable, "the proxy does not answer"),
    (("NewConnectionError", "ConnectionRefusedError"), Unreachable, _REFUSED),
    (("ConnectTimeoutError",), TimedOut, "no connection in time"),
    (("ReadTimeoutError", "TimeoutError", "WebSocketTimeoutException"), TimedOut, "no answer in time"),
    (("ProtocolError", "ConnectionError", "WebSocketException"), Unreachable, _BROKEN),
    (("LocationParseError", "LocationValueError", "UnknownScheme"), Unreachable, "this is no address"),
)


def network_failure(error: BaseException, doing: str, *, server: str, credentials: str) -> OvnError:
    innermost = _innermost(error)
    if isinstance(innermost, (FileNotFoundError, PermissionError)):
        return CertificateProblem(
            f"Cannot {doing}: {innermost}. Correct the path of the certificate or key in {credentials}, or its permissions."
        )
    family, what = _classify(innermost)
    if family is CertificateProblem:
        return certificate_failure(str(innermost), doing, server=server, credentials=credentials)
    if not what:
        return Unreachable(f"Cannot {doing}: API server {server}: {type(innermost).__name__}: {innermost}")
    return family(
        f"Cannot {doing}: API server {server}: {what} ({innermost}). Is it up, and is this the address that {credentials} should have?"
    )


def is_connection_failure(error: BaseException | None) -> bool:
    """Return whether the connection was refused or cut, as a server does that restarts."""
    return error is not None and _classify(_innermost(error))[1] in (_REFUSED, _BROKEN)


def _classify(error: BaseException) -> tuple[type[OvnError], str]:
    names = {base.__name__ for base in type(error).__mro__}
    return next(((family, what) for kinds, family, what in _KINDS if names.intersection(kinds)), (Unreachable, ""))


def certificate_failure(text: str, doing: str, *, server: str, credentials: str) -> CertificateProblem:
    return CertificateProblem(
        f"Cannot {doing}: TLS with the API server {server} failed ({' '.join(text.split())}). Compare the certificate authority in "
        f"{credentials} with the server's, and the name in its certificate with the address."
    )


def _innermost(error: BaseException) -> BaseException:
    """Return the innermost cause: urllib3 wraps it when it stops retrying."""
    inner: t.Any = getattr(error, "reason", None)
    return _innermost(inner) if isinstance(inner, BaseException) else error


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
