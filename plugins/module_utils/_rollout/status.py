# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The status of the OVNCluster as this run saw it last. From then on the observer in the cluster keeps it true.
"""

from __future__ import annotations

import json
import typing as t

from .._k8s import Cluster
from .._manifests.names import API_VERSION, DATABASES, Database, Object
from .._pods.status import cluster_status
from .database import DatabaseRollout
from .desired import Wanted
from .endpoints import Endpoints


def write_status(
    cluster: Cluster,
    wanted: Wanted,
    resource: Object | None,
    databases: t.Mapping[Database, DatabaseRollout],
    endpoints: Endpoints,
    time: str,
) -> Object | None:
    """Written only if it differs; the resource with its status."""
    if resource is None:
        return None
    for rollout in databases.values():
        if rollout.changed:
            rollout.observe()
    if any(rollout.changed for rollout in databases.values()):  # the observer has written, too, while we were busy
        resource = cluster.get(API_VERSION, "OVNCluster", wanted.name, wanted.namespace) or resource
    previous = resource.get("status") or {}
    status = cluster_status(
        generation=resource["metadata"]["generation"],
        previous=previous,
        verdicts={d: databases[d].verdict() for d in DATABASES},
        endpoints={d: endpoints.of(d) for d in DATABASES},
        chassis=None,
        now=time,
    )
    if json.dumps(status, sort_keys=True) == json.dumps(previous, sort_keys=True):
        return resource
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "OVNCluster",
        "metadata": {"name": wanted.name, "namespace": wanted.namespace},
        "status": status,
    }
    return cluster.apply_status(manifest)
