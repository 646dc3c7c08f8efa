# SPDX-License-Identifier: GPL-3.0-or-later
"""All objects of one control plane, except what outlives it or comes before it: Namespace, definitions, the OVNCluster itself, records, claims, lease."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._base.databases import DATABASES
from .access import accounts
from .config import config, scripts
from .context import ManifestContext
from .disruption import disruption_budgets
from .leader_proxy import leader_proxy
from .northd import northd_deployment
from .observer import observer_deployment
from .policies import network_policies
from .relay import relay_listeners
from .services import services
from .statefulset import stateful_set

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
