# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges the quotas of the namespace: whether they leave room for what a run would create. Pure."""

from __future__ import annotations

import collections
import decimal
import typing as t

from .._api.names import Object
from .._base.errors import list_names
from .._kubernetes.compare import canonical_quantity, parse_quantity
from .._kubernetes.kinds import KNOWN_KINDS
from .finding import TITLES, Finding, Kind

Amounts = dict[str, decimal.Decimal]
Demand = t.Mapping[str, decimal.Decimal]

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_MOST = 5  # resources in one sentence


class NewPods(t.NamedTuple):
    """Pods of one template that a run would create."""

    number: int
    pod: Object  # the specification of the pod

    @property
    def priority_class(self) -> str:
        return str(self.pod.get("priorityClassName") or "")


def demand_of(pods: t.Iterable[NewPods], claims: t.Iterable[Object], objects: t.Iterable[Object]) -> Demand:
    """Return the amounts of each resource of a quota that the new pods, the specifications of claims and the new objects would use."""
    total: Amounts = collections.defaultdict(decimal.Decimal)
    for new in pods:
        total["pods"] += new.number
        total["count/pods"] += new.number
        for container in long_running(new.pod):
            for kind in ("requests", "limits"):
                for resource, quantity in ((container.get("resources") or {}).get(kind) or {}).items():
                    total[f"{kind}.{resource}"] += new.number * parse_quantity(quantity)
    for resource in _COMPUTE:
        total[resource] += total[f"requests.{resource}"]
    for claim in claims:
        _add_claim(total, claim)
    for one in objects:
        _add_object(total, one)
    return {resource: amount for resource, amount in total.items() if amount}


def long_running(pod: Object) -> list[Object]:
    """Return the containers whose resources add up: those of the pod, and its sidecars."""
    sidecars = [one for one in pod.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    return [*sidecars, *pod["containers"]]


def _add_claim(total: Amounts, claim: Object) -> None:
    size = parse_quantity(claim["resources"]["requests"]["storage"])
    total["requests.storage"] += size
    for name in ("persistentvolumeclaims", "count/persistentvolumeclaims"):
        total[name] += 1
    if storage_class := claim.get("storageClassName"):
        total[f"{storage_class}.storageclass.storage.k8s.io/requests.storage"] += size
        total[f"{storage_class}.storageclass.storage.k8s.io/persistentvolumeclaims"] += 1


def _add_object(total: Amounts, one: Object) -> None:
    kind = KNOWN_KINDS[one["apiVersion"], one["kind"]]
    group = one["apiVersion"].rpartition("/")[0].partition("/")[0]
    total[f"count/{kind.plural}{f'.{group}' if group else ''}"] += 1
    if not group:
        total[kind.plural] += 1
    if one["kind"] == "Service" and (exposed := one["spec"].get("type")) in ("NodePort", "LoadBalancer"):
        total["services.nodeports"] += len(one["spec"]["ports"])
        total["services.loadbalancers"] += exposed == "LoadBalancer"


def applies(quota: Object, priority_class: str) -> bool:
    """Return whether the quota counts our pods: one without a scope, or of their priority class. They have no deadline, and requests of their own."""
    spec = quota["spec"]
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or []]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(_in_scope(one, priority_class) for one in scopes)


def _in_scope(scope: t.Mapping[str, t.Any], priority_class: str) -> bool:
    if scope["scopeName"] != "PriorityClass":
        return bool(scope["scopeName"] in ("NotTerminating", "NotBestEffort"))
    values = scope.get("values") or []
    return {
        "In": priority_class in values,
        "NotIn": priority_class not in values,
        "Exists": bool(priority_class),
        "DoesNotExist": not priority_class,
    }[scope["operator"]]


def judge_quotas(
    kind: Kind,
    quotas: t.Iterable[Object],
    limit_ranges: t.Sequence[Object] | None,
    pods: t.Sequence[NewPods],
    claims: t.Sequence[Object],
    objects: t.Sequence[Object],
) -> list[Finding]:
    """`claims` are the specifications of new claims. `limit_ranges` None: they could not be read, so missing resources are not judged."""
    findings = []
    for quota in quotas:
        counted = [new for new in pods if applies(quota, new.priority_class)]
        scoped = quota["spec"].get("scopes") or quota["spec"].get("scopeSelector")
        demand = demand_of(counted, () if scoped else claims, () if scoped else objects)
        status = quota.get("status") or {}
        hard = {**(quota["spec"].get("hard") or {}), **(status.get("hard") or {})}
        short = list(_shortages(hard, status.get("used") or {}, demand))
        name = f"ResourceQuota {quota['metadata'].get('namespace', '')}/{quota['metadata']['name']}"
        if short:
            findings.append(
                Finding(
                    "quota_exceeded",
                    name,
                    f"It leaves too little for {TITLES[kind]}: {'; '.join(short[:_MOST])}.",
                    "Raise its limits, or declare less (replicas, resources, storage.size).",
                )
            )
        if limit_ranges is not None and (lacking := _undeclared(hard, counted, limit_ranges)):
            findings.append(
                Finding(
                    "quota_needs_resources",
                    name,
                    f"It limits {list_names(lacking)}, so each container has to declare that, and containers of {TITLES[kind]} do not.",
                    "Declare resources of all parts in the specification, or give the namespace a LimitRange with defaults.",
                )
            )
    return findings


def _shortages(
    hard: t.Mapping[str, str], used: t.Mapping[str, str], demand: t.Mapping[str, decimal.Decimal]
) -> t.Iterator[str]:
    """Yield a text for each resource of which the quota leaves less than is needed."""
    for resource, limit in sorted(hard.items()):
        left = parse_quantity(limit) - parse_quantity(used.get(resource, "0"))
        more = demand.get(resource, decimal.Decimal(0))
        if more and more > left:  # without new objects a quota that was lowered stops nothing
            yield f"{resource}: {_shown(more)} more needed, {_shown(max(left, decimal.Decimal(0)))} left"


def _undeclared(hard: t.Iterable[str], pods: t.Iterable[NewPods], limit_ranges: t.Iterable[Object]) -> list[str]:
    """Return the resources that the quota limits, and that a container neither declares nor gets by default."""
    defaults: dict[str, set[str]] = {"requests": set(), "limits": set()}
    for one in limit_ranges:
        for limit in one["spec"].get("limits") or []:
            if limit.get("type") == "Container":
                defaults["limits"] |= set(limit.get("default") or {})
                defaults["requests"] |= {*(limit.get("defaultRequest") or {}), *(limit.get("default") or {})}
    found = []
    for resource in sorted(hard):
        kind, _dot, name = resource.rpartition(".")
        kind = kind or "requests"
        if name not in ("cpu", "memory") or kind not in defaults or name in defaults[kind]:
            continue
        if any(
            not _declares(container, kind, name) for new in pods if new.number for container in long_running(new.pod)
        ):
            found.append(resource)
    return found


def _declares(container: Object, kind: str, resource: str) -> bool:
    """A request that is left out is the limit."""
    resources = container.get("resources") or {}
    kinds = ("requests", "limits") if kind == "requests" else ("limits",)
    return any(resource in (resources.get(one) or {}) for one in kinds)


def _shown(amount: decimal.Decimal) -> str:
    if amount % 2**20 == 0:
        return canonical_quantity(f"{amount / 2**20:f}Mi")
    return canonical_quantity(f"{amount:.3f}")
