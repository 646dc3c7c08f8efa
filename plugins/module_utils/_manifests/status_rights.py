# SPDX-License-Identifier: GPL-3.0-or-later
"""What lets the agent of a node write the status of the OVNChassis of that node, and of no other one; and the observer of the chassis that of all.

A Role cannot tell nodes apart, since all agents have one account. A policy of the API server can: the token of a pod names the node that it runs on.
"""

from __future__ import annotations

import typing as t

from .._api.names import GROUP, Component, Object, labels

_RBAC = "rbac.authorization.k8s.io"
RBAC = f"{_RBAC}/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
# In the order in which they are applied: the policy first, and last what lets the account write at all.
STATUS_RIGHTS = (
    (ADMISSION, "ValidatingAdmissionPolicy"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"),
    (RBAC, "ClusterRole"),
    (RBAC, "ClusterRoleBinding"),
)
ROLE_AND_BINDING = STATUS_RIGHTS[2:]
CHASSIS_OBSERVER = "ovn-chassis-observer"  # Deployment and ServiceAccount
CHASSIS_OBSERVER_COMPONENT: Component = "chassis-observer"
_NODE = "authentication.kubernetes.io/node-name"  # Kubernetes 1.30 or newer
_NO_NODE = (
    "the token of this agent names no node, so nothing is written with it. It has to be the token of its pod, and Kubernetes 1.30 and 1.31 need the "
    "feature gate ServiceAccountTokenPodNodeInfo, which is on by default"
)


def status_rights_name(namespace: str) -> str:
    """Return the name of all four: none of them has a namespace, and neither has an OVNChassis."""
    return f"c5c3-ovn-chassis-status-{namespace}"


def status_rights(account: str, namespace: str, name: str, component: Component) -> list[Object]:
    """Return the policy, the role and their bindings, in the order of STATUS_RIGHTS."""
    title = status_rights_name(namespace)
    user = f"system:serviceaccount:{namespace}:{account}"
    nodes = f"request.userInfo.?extra[?'{_NODE}'].orValue([])"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [GROUP],
                    "apiVersions": ["*"],
                    "operations": ["*"],
                    "resources": ["ovnchassis", "ovnchassis/*"],
                    "scope": "*",
                }
            ],
            "matchPolicy": "Equivalent",
        },
        "matchConditions": [{"name": "an-agent", "expression": f"request.userInfo.username == '{user}'"}],
        "validations": [
            {
                "expression": f"{nodes} == [request.name]",
                "messageExpression": f"{nodes}.size() == 0 ? '{_NO_NODE}' : "
                f"'the agent of node ' + {nodes}.join(' ') + ' writes the status of its own OVNChassis only, not of ' + request.name",
                "reason": "Forbidden",
            }
        ],
    }
    specs = [policy, {"policyName": title, "validationActions": ["Deny"]}]
    metadata = {"name": title, "labels": labels(name, component)}
    rule = {"apiGroups": [GROUP], "resources": ["ovnchassis/status"], "verbs": ["get", "patch"]}
    return [
        *(
            {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
            for (version, kind), spec in zip(STATUS_RIGHTS, specs)
        ),
        *cluster_role(metadata, [rule], account, namespace),
    ]


def observer_rights_name(namespace: str) -> str:
    """Return the name of the role of the observer and of its binding."""
    return f"c5c3-ovn-chassis-observer-{namespace}"


def observer_rights(namespace: str, name: str) -> list[Object]:
    """Return the role and the binding of the observer, in the order of ROLE_AND_BINDING."""
    metadata = {"name": observer_rights_name(namespace), "labels": labels(name, CHASSIS_OBSERVER_COMPONENT)}
    rules = [
        {"apiGroups": [GROUP], "resources": ["ovnchassis"], "verbs": ["list", "watch"]},
        {"apiGroups": [GROUP], "resources": ["ovnchassis/status"], "verbs": ["patch"]},
    ]
    return cluster_role(metadata, rules, CHASSIS_OBSERVER, namespace)


def cluster_role(metadata: Object, rules: t.Sequence[Object], account: str, namespace: str) -> list[Object]:
    """Return a ClusterRole and the ClusterRoleBinding that gives it to one account."""
    return [
        {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": metadata, "rules": [*rules]},
        {
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    ]
