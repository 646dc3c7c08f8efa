# SPDX-License-Identifier: GPL-3.0-or-later
"""All objects of one control plane, except what outlives it or comes before it: Namespace, definitions, the OVNCluster itself, records, claims, lease."""

from __future__ import annotations

import typing as t

from .._api.names import GROUP, Component, Object, northd_name, observer_name, record_name, selector, witness_name
from .._api.service_accounts import account_of, accounts_to_make, central_accounts
from .._base.databases import DATABASES
from .config import ManifestContext, config, scripts
from .leader_proxy import leader_proxy
from .observer import observer_deployment
from .policies import network_policies
from .relay import northd_deployment, relay_listeners
from .services import services
from .statefulset import stateful_set

# Accounts of the pods, and what they may do. The databases may do nothing.


def accounts(context: ManifestContext) -> list[Object]:
    """Return the ServiceAccounts that are ours, and the Roles of all pods, bound to the accounts that these have."""
    result = [
        context.manifest("v1", "ServiceAccount", one.own, one.component, automountServiceAccountToken=False)
        for one in accounts_to_make(central_accounts(context.spec))
    ]
    result += _role(context, northd_name(context.name), "northd", [_rule("", "pods", "get"), _LABELS])
    records = [record_name(context.name, database) for database in DATABASES]
    witnesses = [witness_name(context.name, database) for database in DATABASES]
    result += _role(
        context,
        observer_name(context.name),
        "observer",
        [
            _rule("", "pods", "get", "list", "watch"),
            _LABELS,
            _rule("", "configmaps", "get", names=records),
            _rule("", "configmaps", "get", "patch", names=witnesses),
            _rule("apps", "statefulsets", "get", "list", "watch"),
            _rule("apps", "deployments", "get", "list", "watch"),
            _rule(GROUP, "ovnclusters", "get", "list", "watch"),
            _rule(GROUP, "ovnclusters/status", "get", "patch", names=[context.name]),
        ],
    )
    return result


def _role(context: ManifestContext, name: str, component: Component, rules: list[Object]) -> list[Object]:
    api = "rbac.authorization.k8s.io"
    account = account_of(central_accounts(context.spec), component)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": context.namespace}
    return [
        context.manifest(f"{api}/v1", "Role", name, component, rules=rules),
        context.manifest(
            f"{api}/v1",
            "RoleBinding",
            name,
            component,
            roleRef={"apiGroup": api, "kind": "Role", "name": name},
            subjects=[subject],
        ),
    ]


def _rule(group: str, resource: str, *verbs: str, names: t.Sequence[str] = ()) -> Object:
    rule: Object = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    return {**rule, "resourceNames": list(names)} if names else rule


# Labels of pods can be patched through their status, too, where the API server ignores any change of the specification: whoever has
# the token can start no image of their own in these pods.
_LABELS = _rule("", "pods/status", "patch")


# How many pods a drain of nodes may take away at a time. A single pod gets no budget: it would block every drain.


def disruption_budgets(context: ManifestContext) -> list[Object]:
    pods: dict[Component, int] = {database: context.members(database) for database in DATABASES}
    pods["northd"] = context.spec.northd.replicas
    return [_budget(context, component) for component, count in pods.items() if count > 1]


def _budget(context: ManifestContext, component: Component) -> Object:
    """Return a budget of one pod at a time, also with five members: a margin stays."""
    return context.manifest(
        "policy/v1",
        "PodDisruptionBudget",
        f"{context.name}-{component}",
        component,
        spec={"maxUnavailable": 1, "selector": {"matchLabels": selector(context.name, component)}},
    )


if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


def central_manifests(
    spec: ClusterSpec,
    *,
    name: str,
    namespace: str,
    cluster_domain: str,
    owner: Object | None,
    launcher: str,
    archive: bytes,
    replicas: t.Mapping[str, int],
    relay_probe: int | None = None,
) -> list[Object]:
    """Return the objects in the order in which they are applied: what pods need comes before the pods.

    `owner` is the OVNCluster as the API server gives it back, None in a first check run. `replicas` says how many pods of each database there shall be
    now: a cluster begins with one and grows and shrinks step by step. `relay_probe`: inactivity probe of relays, if it is not the declared one.
    """
    context = ManifestContext(spec, name, namespace, cluster_domain, owner, replicas)
    manifests = [
        *accounts(context),
        scripts(context, launcher, archive),
        config(context),
        *relay_listeners(context, relay_probe),
    ]
    manifests += network_policies(context)
    for database in DATABASES:
        manifests += services(context, database)
    manifests += disruption_budgets(context)
    manifests += [stateful_set(context, database) for database in DATABASES]
    return [*manifests, northd_deployment(context), observer_deployment(context), *leader_proxy(context, archive)]
