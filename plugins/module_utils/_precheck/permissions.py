# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges which rights are missing. Pure."""

from __future__ import annotations

import typing as t

from .._kubernetes.access_review import Access
from .finding import Finding
from .rights import Right, questions_of


def judge_permissions(
    rights: t.Iterable[Right], denied: t.Container[Access], namespace: str, user: str
) -> list[Finding]:
    """Return a finding for each resource with a needed verb that was denied."""
    missing: dict[tuple[str, str, bool], dict[str, list[str]]] = {}
    for right in rights:
        if right.need == "optional":
            continue
        for one in questions_of(right, namespace):
            if one in denied:
                verbs = missing.setdefault((right.group, right.resource, right.cluster_wide), {})
                names = verbs.setdefault(one.verb, [])
                if right.names:
                    names.append(one.name)
    return [_finding(*key, verbs, namespace, user) for key, verbs in missing.items()]


def _finding(
    group: str, resource: str, cluster_wide: bool, verbs: t.Mapping[str, list[str]], namespace: str, user: str
) -> Finding:
    listed = ", ".join(verbs)
    names = sorted({name for found in verbs.values() for name in found})
    of = f" named {' and '.join(names)}" if names else ""
    where = "the whole cluster" if cluster_wide else f"namespace {namespace}"
    role = "ClusterRole (by a ClusterRoleBinding)" if cluster_wide else f"Role in namespace {namespace}"
    api_group = f"API group {group}" if group else "the core API group"
    return Finding(
        "permission_missing",
        f"{title(group, resource)}{of} in {where}",
        f"User {user} may not: {listed}.",
        f"Give this user a {role} with {listed} on {resource} of {api_group}. docs/kubernetes-rights.md has all rights.",
    )


def title(group: str, resource: str) -> str:
    """Return a resource as kubectl names it, for example statefulsets.apps or pods/exec."""
    name, slash, subresource = resource.partition("/")
    return f"{name}.{group}{slash}{subresource}" if group else resource


def lost_rights(rights: t.Iterable[Right], denied: t.Container[Access], namespace: str) -> list[dict[str, t.Any]]:
    """Return the optional rights that were denied, each with what a run goes on without."""
    found = []
    for right in rights:
        verbs = list(dict.fromkeys(one.verb for one in questions_of(right, namespace) if one in denied))
        if right.need == "optional" and verbs:
            found.append({"resource": title(right.group, right.resource), "verbs": verbs, "without": right.without})
    return found
