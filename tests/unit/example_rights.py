"""The Roles of examples/rights, as the tables of rights say them, and the rights of who only looks or pings."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import GROUP, Object
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import (
    PREPARATION,
    RIGHTS,
    Right,
    node_certificate_rights,
    roles_of,
    status_agent_rights,
)

Purpose = t.Literal["view", "ping"]


def machine_chassis_rights() -> tuple[Right, ...]:
    """Return what a run needs in a cluster that shows machines as OVNChassis. The Secret is read for the status alone."""
    without = "the status of an OVNChassis of a machine is not written"
    return (
        Right(GROUP, "ovnchassis", ("list", "create", "patch", "delete"), cluster_wide=True),
        Right(GROUP, "ovnchassis/status", ("patch",), cluster_wide=True),
        Right("apiextensions.k8s.io", "customresourcedefinitions", ("list",), "always", (f"ovnchassis.{GROUP}",), True),
        Right("", "secrets", ("get",), "optional", ("ovn-tls",), without=without),
    )


_VIEW_CLUSTER = (
    Right(GROUP, "ovnclusters", ("get",), names=("ovn",)),
    Right("", "configmaps", ("get",), names=("ovn-northbound-record", "ovn-southbound-record")),
    Right("", "pods", ("list",)),
    Right("", "pods/exec", ("get", "create")),
    Right("", "services", ("list",)),
    Right("", "secrets", ("get",), "secret", ("ovn-tls",)),
    Right("", "nodes", ("list",), "node ports", cluster_wide=True),
    Right("", "events", ("list",), "optional", without="the report does not say what Kubernetes reports of a pod"),
)
_VIEW_HYPERVISORS = (
    Right(GROUP, "ovnchassis", ("list",), cluster_wide=True),
    Right("", "secrets", ("get",), "secret", ("ovn-tls",)),
)
_PING_CLUSTER = (
    Right("", "pods", ("list",)),
    Right("", "pods/exec", ("get", "create")),
)
_PING_HYPERVISORS = (
    Right(GROUP, "ovnchassis", ("list",), cluster_wide=True),
    Right("", "serviceaccounts", ("create",)),  # a request that creates has no name that a Role could compare
    Right("", "serviceaccounts", ("get", "patch", "delete"), names=("c5c3-ping",)),
    Right("", "pods", ("get", "list", "create", "patch", "delete")),
    Right("", "pods/exec", ("get", "create")),
)

# With the names that the objects have by default. "view" is for the playbooks status, verify and show, "ping" for ping.
LIMITED_RIGHTS: dict[tuple[Purpose, Kind], tuple[Right, ...]] = {
    ("view", "cluster"): _VIEW_CLUSTER,
    ("view", "hypervisors"): _VIEW_HYPERVISORS,
    ("ping", "cluster"): _PING_CLUSTER,
    ("ping", "hypervisors"): _PING_HYPERVISORS,
}


def roles(kind: Kind, name: str, namespace: str, *, own_resource: bool = True) -> list[Object]:
    """Return the ClusterRole and the Role for all runs, without the right to make the namespace and the definitions.

    `own_resource`: runs apply the OVNCluster; without, they take it as another client keeps it.
    """
    left_out = PREPARATION if own_resource else (*PREPARATION, "own resource")
    return roles_of([right for right in RIGHTS[kind] if right.need not in left_out], name, namespace)


def limited_roles(purpose: Purpose, kind: Kind, name: str, namespace: str) -> list[Object]:
    """Return the Roles of who runs only the playbooks of this purpose: a ClusterRole, if there is anything for it, and a Role."""
    return roles_of(LIMITED_RIGHTS[purpose, kind], name, namespace)


def node_certificate_role(name: str, namespace: str) -> Object:
    """Return the ClusterRole of a run that signs for nodes."""
    return roles_of(node_certificate_rights(namespace), name, "")[0]


def status_agent_role(name: str, namespace: str) -> Object:
    """Return the ClusterRole of a run that lets agents write the status of their OVNChassis."""
    return roles_of(status_agent_rights(namespace), name, "")[0]


def machine_chassis_roles(name: str, namespace: str) -> list[Object]:
    """Return the ClusterRole and the Role of a run that makes the OVNChassis of machines."""
    return roles_of(machine_chassis_rights(), name, namespace)


def preparation_role(kind: Kind, name: str) -> Object:
    """Return the ClusterRole of a run that makes the namespace and the definitions."""
    return roles_of([right for right in RIGHTS[kind] if right.need in PREPARATION], name, "")[0]
