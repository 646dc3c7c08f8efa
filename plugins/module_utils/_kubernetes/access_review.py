# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user of a connection may do, asked with few requests: one for a user who may do everything, one for the namespace, one for each right in the
cluster.
"""

from __future__ import annotations

import concurrent.futures
import typing as t

from .._base.errors import Refused

# ServiceAccounts that somebody else makes. Without one the API server refuses each of its pods, and a workload never gets any.

if t.TYPE_CHECKING:
    from .client import Cluster


def missing_accounts(cluster: Cluster, namespace: str, names: t.Iterable[str]) -> set[str]:
    """Return the names without a ServiceAccount. Listed, as who rolls out need not have the right to get them."""
    return {name for name in set(names) if not _exists(cluster, namespace, name)}


def missing_account_problem(cluster: Cluster, namespace: str, given: t.Mapping[str, str]) -> str:
    """Return which accounts do not exist, and what to do; empty if all do. `given`: field of the specification to the name in it."""
    missing = missing_accounts(cluster, namespace, given.values())
    fields = [f"{namespace}/{name} ({field})" for field, name in given.items() if name in missing]
    if not fields:
        return ""
    several = len(fields) > 1
    return (
        f"{'ServiceAccounts' if several else 'ServiceAccount'} {' and '.join(fields)} {'do' if several else 'does'} not exist, so the API server would refuse "
        f"the pods. Create {'them' if several else 'it'}, or remove {'these fields' if several else 'the field'}: then a run makes accounts of its own."
    )


def refuse_accounts(problem: str) -> None:
    """Raise `Refused` with this problem, unless it is empty."""
    if problem:
        raise Refused(f"{problem} Nothing was changed.")


def _exists(cluster: Cluster, namespace: str, name: str) -> bool:
    listed = cluster.list("v1", "ServiceAccount", namespace, fields=f"metadata.name={name}")
    return any(one["metadata"]["name"] == name for one in listed)


if t.TYPE_CHECKING:
    from .client import Cluster

_PATH = "/apis/authorization.k8s.io/v1"
_AT_ONCE = 4


class Access(t.NamedTuple):
    """One access that is asked about. An empty namespace means the whole cluster, an empty name all objects."""

    group: str
    resource: str
    verb: str
    name: str
    namespace: str


_EVERYTHING = Access("*", "*", "*", "", "")


def allows(rules: t.Iterable[t.Mapping[str, t.Any]], question: Access) -> bool:
    """Return whether one of the rules, as in a Role, allows the access."""
    return any(
        _matches(rule.get("verbs"), question.verb)
        and _matches(rule.get("apiGroups"), question.group)
        and _matches_resource(rule.get("resources"), question.resource)
        and (not rule.get("resourceNames") or question.name in rule["resourceNames"])
        for rule in rules
    )


def _matches(values: t.Collection[str] | None, value: str) -> bool:
    return value in (values or ()) or "*" in (values or ())


def _matches_resource(values: t.Collection[str] | None, resource: str) -> bool:
    _name, slash, subresource = resource.partition("/")
    return _matches(values, resource) or bool(slash and f"*/{subresource}" in (values or ()))


def denied_accesses(cluster: Cluster, questions: t.Iterable[Access], namespace: str) -> list[Access]:
    """Return the accesses that this user does not have, in the order of the questions."""
    asked = list(dict.fromkeys(questions))
    if _is_allowed(cluster, _EVERYTHING):
        return []
    rules, complete = _rules(cluster, namespace)
    answers: dict[Access, bool] = {}
    for one in asked:
        allowed = bool(one.namespace) and allows(rules, one)
        if one.namespace and (allowed or complete):
            answers[one] = allowed
    # For the whole cluster the rules prove nothing: a RoleBinding may be behind them.
    rest = [one for one in asked if one not in answers]
    with concurrent.futures.ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        answers.update(zip(rest, pool.map(lambda one: _is_allowed(cluster, one), rest)))
    return [one for one in asked if not answers[one]]


def _is_allowed(cluster: Cluster, question: Access) -> bool:
    """Return the answer to a SelfSubjectAccessReview."""
    resource, _slash, subresource = question.resource.partition("/")
    attributes = {
        "group": question.group,
        "resource": resource,
        "subresource": subresource,
        "verb": question.verb,
        "name": question.name,
        "namespace": question.namespace,
    }
    review = _review(
        cluster, "SelfSubjectAccessReview", {"resourceAttributes": {k: v for k, v in attributes.items() if v}}
    )
    return bool((review.get("status") or {}).get("allowed"))


def _rules(cluster: Cluster, namespace: str) -> tuple[list[dict[str, t.Any]], bool]:
    """Return the rules of a SelfSubjectRulesReview, and whether they are complete: some authorizers cannot list what they allow."""
    status = _review(cluster, "SelfSubjectRulesReview", {"namespace": namespace}).get("status") or {}
    return list(status.get("resourceRules") or []), not status.get("incomplete")


def user_name(cluster: Cluster) -> str:
    """Return the name that the API server knows this user by; empty if it does not say so."""
    try:
        status = _review(cluster, "SelfSubjectReview", {}, "/apis/authentication.k8s.io/v1").get("status") or {}
    except Refused:
        return ""
    return str((status.get("userInfo") or {}).get("username") or "")


def _review(cluster: Cluster, kind: str, spec: dict[str, t.Any], path: str = _PATH) -> dict[str, t.Any]:
    body = {"apiVersion": path.removeprefix("/apis/"), "kind": kind, **({"spec": spec} if spec else {})}
    answer: dict[str, t.Any] = cluster.connection.send("post", f"{path}/{kind.lower()}s", f"create a {kind}", body=body)
    return answer
