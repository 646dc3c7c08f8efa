# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts of the pods, and what they may do. The databases may do nothing."""

from __future__ import annotations

import typing as t

from .._api.names import GROUP, Component, Object, northd_name, observer_name, record_name, witness_name
from .._api.service_accounts import account_of, accounts_to_make, central_accounts
from .._base.databases import DATABASES
from .context import ManifestContext


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
