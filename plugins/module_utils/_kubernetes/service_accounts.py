# SPDX-License-Identifier: GPL-3.0-or-later
"""ServiceAccounts that somebody else makes. Without one the API server refuses each of its pods, and a workload never gets any."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused

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
