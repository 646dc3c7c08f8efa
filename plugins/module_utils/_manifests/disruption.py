# SPDX-License-Identifier: GPL-3.0-or-later
"""How many pods a drain of nodes may take away at a time. A single pod gets no budget: it would block every drain."""

from __future__ import annotations

from .._api.names import Component, Object, selector
from .._base.databases import DATABASES
from .context import ManifestContext


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
