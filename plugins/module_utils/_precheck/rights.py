# SPDX-License-Identifier: GPL-3.0-or-later
"""The rights of the user in the kubeconfig, as tables: those of a rollout, which the precheck asks about, and the Roles with them."""

from __future__ import annotations

import typing as t

from .._api.crds import custom_resource_definitions
from .._api.names import GROUP, Object
from .._base.tls_options import CHASSIS_SIGNER
from .._kubernetes.access_review import Access
from .._manifests.ca_bundle import AUTHORITIES, role_name
from .._manifests.status_rights import observer_rights_name, status_rights_name
from .finding import Kind

Need = t.Literal["always", "secret", "own secret", "own resource", "node ports", "namespace", "definitions", "optional"]

_RBAC = "rbac.authorization.k8s.io"
_CRD = "apiextensions.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_DEFINITIONS = tuple(manifest["metadata"]["name"] for manifest in custom_resource_definitions())
_CHASSIS_DEFINITION = tuple(name for name in _DEFINITIONS if name.startswith("ovnchassis."))
_OBJECT = ("list", "create", "patch", "delete")  # of a kind that is compared, applied and pruned


class Right(t.NamedTuple):
    """Verbs on one resource, in the namespace unless `cluster_wide`. `names` limits it to these objects.

    `need` says which runs need it: all of them, those with TLS ("secret"; "own secret" if ovn_pki writes it), those that apply the OVNCluster ("own
    resource"), with node ports, those that make the namespace or write the definitions. A run goes on without an "optional" one; `without` says what it lacks
    then.
    """

    group: str
    resource: str  # with its subresource, as in a Role
    verbs: tuple[str, ...]
    need: Need = "always"
    names: tuple[str, ...] = ()
    cluster_wide: bool = False
    without: str = ""


# A server-side apply is a PATCH and needs `create` for an object that does not exist.
_BOTH = (
    Right("", "namespaces", ("create", "patch"), "namespace", cluster_wide=True),
    Right("", "secrets", ("get",), "secret"),
    Right("", "secrets", ("create", "patch"), "own secret"),
    Right("coordination.k8s.io", "leases", ("get", "create", "update", "patch", "delete")),
    Right("", "events", ("list",), "optional", without="messages do not say what Kubernetes reports of a pod"),
    Right("", "resourcequotas", ("list",), "optional", without="the precheck does not compare quotas"),
    Right("", "limitranges", ("list",), "optional", without="the precheck does not know the default resources of pods"),
)

# What the Roles of northd and the observer grant is among it: nobody may grant a right that they do not have.
_CLUSTER = (
    Right("", "configmaps", ("get", "list", "create", "update", "patch", "delete")),
    Right("", "services", _OBJECT),
    Right("", "serviceaccounts", _OBJECT),
    Right("", "persistentvolumeclaims", ("get", "list", "patch", "delete")),
    Right("", "pods", ("get", "list", "watch", "patch", "delete")),
    Right("", "pods/status", ("patch",)),
    # A WebSocket begins with a GET; from Kubernetes 1.35 on it needs both verbs.
    Right("", "pods/exec", ("get", "create")),
    Right("", "pods/eviction", ("create",)),
    Right("apps", "deployments", ("get", "watch", *_OBJECT)),
    Right("apps", "daemonsets", ("get", "watch", *_OBJECT)),
    Right("apps", "statefulsets", ("get", "watch", *_OBJECT)),
    Right("apps", "replicasets", ("list",)),
    Right("networking.k8s.io", "networkpolicies", _OBJECT),
    Right("policy", "poddisruptionbudgets", _OBJECT),
    Right(_RBAC, "roles", _OBJECT),
    Right(_RBAC, "rolebindings", _OBJECT),
    Right(GROUP, "ovnclusters", ("get", "watch", "list")),
    Right(GROUP, "ovnclusters", ("create", "patch", "delete"), "own resource"),
    Right(GROUP, "ovnclusters/status", ("get", "patch")),
    Right(_CRD, "customresourcedefinitions", ("create", "patch"), "definitions", _DEFINITIONS, True),
    Right("", "nodes", ("list",), "node ports", cluster_wide=True),
    Right(
        *("", "namespaces", ("get",), "optional"),
        without="the namespace counts as existing, and an administrator has to make it",
    ),
    Right(
        *(_CRD, "customresourcedefinitions", ("get",), "optional", _DEFINITIONS, True),
        without="the definitions count as up to date, and an administrator has to apply them",
    ),
    Right(
        *(GROUP, "ovnclusters/finalizers", ("update",), "optional"),
        without="a cluster with the admission plugin OwnerReferencesPermissionEnforcement (OpenShift) refuses the objects",
    ),
    Right(
        *("", "nodes", ("list",), "optional", (), True),
        without="commands in pods on a dead node run into their time limit, and the precheck does not count nodes",
    ),
    Right(
        *("", "persistentvolumes", ("list",), "optional", (), True),
        without="volumes that an older control plane left are not noticed",
    ),
    Right(
        *("storage.k8s.io", "storageclasses", ("get", "list"), "optional", (), True),
        without="whether volumes can grow, and which storage class is the default, is only known from the API server's refusal",
    ),
)

_HYPERVISORS = (
    Right("", "configmaps", _OBJECT),
    Right("", "serviceaccounts", _OBJECT),
    Right("apps", "daemonsets", ("watch", *_OBJECT)),
    Right("apps", "deployments", _OBJECT),
    Right("", "pods", ("list", "watch", "patch")),
    Right("", "namespaces", ("get",)),
    Right("", "nodes", ("list",), cluster_wide=True),
    Right(GROUP, "ovnchassis", _OBJECT, cluster_wide=True),
    Right(GROUP, "ovnchassis/status", ("patch",), cluster_wide=True),
    Right(_CRD, "customresourcedefinitions", ("list",), "always", _CHASSIS_DEFINITION, True),
    Right(_CRD, "customresourcedefinitions", ("create", "patch"), "definitions", _CHASSIS_DEFINITION, True),
    Right(
        *("", "pods/exec", ("get", "create"), "optional"),
        without="the phases switch and finish of ovn_pki do not see whether the pods have a new certificate",
    ),
)

RIGHTS: dict[Kind, tuple[Right, ...]] = {"cluster": _CLUSTER + _BOTH, "hypervisors": _HYPERVISORS + _BOTH}


def node_certificate_rights(namespace: str) -> tuple[Right, ...]:
    """Return what a run needs besides in a hypervisor cluster whose nodes have certificates of their own.

    It signs for one signer alone. The role of the agents is its own, and grants nothing that the user does not have.
    """
    requests, group = "certificatesigningrequests", "certificates.k8s.io"
    names = (role_name(namespace),)
    return (
        Right(group, requests, ("get", "list", "create"), cluster_wide=True),
        Right(group, f"{requests}/approval", ("patch",), cluster_wide=True),
        Right(group, f"{requests}/status", ("patch",), cluster_wide=True),
        Right(group, "signers", ("approve", "sign"), names=(CHASSIS_SIGNER,), cluster_wide=True),
        Right(_RBAC, "clusterroles", ("get", "create", "patch", "delete"), names=names, cluster_wide=True),
        Right(_RBAC, "clusterrolebindings", ("get", "create", "patch", "delete"), names=names, cluster_wide=True),
        Right("", "configmaps", ("get",), names=(AUTHORITIES,), cluster_wide=True),  # ovn_pki reads before it writes
    )


def status_agent_rights(namespace: str) -> tuple[Right, ...]:
    """Return what a run needs besides in a hypervisor cluster to let agents write the status of their own OVNChassis, and an observer that of all."""
    policy = (status_rights_name(namespace),)
    names = (*policy, observer_rights_name(namespace))
    verbs = ("get", "create", "patch", "delete")
    without = "the status of an OVNChassis is that of the last run"
    policies = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
    return (
        Right(GROUP, "ovnchassis", ("list", "watch"), "optional", (), True, without),
        Right(GROUP, "ovnchassis/status", ("get", "patch"), "optional", (), True, without),
        *(Right(_ADMISSION, resource, verbs, "optional", policy, True, without) for resource in policies),
        *(
            Right(_RBAC, resource, verbs, "optional", names, True, without)
            for resource in ("clusterroles", "clusterrolebindings")
        ),
    )


# Done once for a cluster, by an administrator if need be.
PREPARATION: tuple[Need, ...] = ("namespace", "definitions")


def questions_of(right: Right, namespace: str) -> list[Access]:
    """Return the accesses that make up a right."""
    names = right.names
    if right.resource == "namespaces" and not right.cluster_wide:
        names = (namespace,)  # the API server treats a namespace as an object in itself
    place = "" if right.cluster_wide else namespace
    return [Access(right.group, right.resource, verb, name, place) for verb in right.verbs for name in names or ("",)]


def needed_rights(kind: Kind, needs: t.Container[str]) -> list[Right]:
    """Return the rights of a kind with one of these needs."""
    return [right for right in RIGHTS[kind] if right.need in needs]


def roles_of(rights: t.Sequence[Right], name: str, namespace: str) -> list[Object]:
    """Return the ClusterRole, if there is anything for it, and the Role with these rights."""
    everywhere = [right for right in rights if right.cluster_wide]
    within = [right for right in rights if not right.cluster_wide]
    cluster_roles = [_role("ClusterRole", {"name": name}, everywhere)] if everywhere else []
    return [*cluster_roles, _role("Role", {"name": name, "namespace": namespace}, within)]


def _role(kind: str, metadata: Object, rights: t.Iterable[Right]) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": [_rule(*key, verbs) for key, verbs in _by_resource(rights).items()],
    }


def _by_resource(rights: t.Iterable[Right]) -> dict[tuple[str, str, tuple[str, ...]], list[str]]:
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for right in rights:
        verbs = found.setdefault((right.group, right.resource, right.names), [])
        verbs += [verb for verb in right.verbs if verb not in verbs]
    return found


def _rule(group: str, resource: str, names: tuple[str, ...], verbs: list[str]) -> Object:
    rule: Object = {"apiGroups": [group], "resources": [resource]}
    return {**rule, **({"resourceNames": list(names)} if names else {}), "verbs": verbs}
