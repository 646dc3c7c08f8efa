# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired objects of one run. The archive of the agents, which is in one of them, is built once in a run, and only when it is needed."""

from __future__ import annotations

import functools
import typing as t

from .._agent.archive import build_archive
from .._api.names import Object
from .._base.databases import Database
from .._daemons.raft_launcher import SCRIPT
from .._manifests.central import central_manifests
from .desired import DesiredCluster


class ClusterManifests:
    """Builds the objects of the specification. The OVNCluster, the namespace and the definitions are not among them."""

    def __init__(self, desired: DesiredCluster) -> None:
        self.desired = desired

    @functools.cached_property
    def _archive(self) -> bytes:
        return build_archive()

    def build(
        self, replicas: t.Mapping[Database, int], owner: Object | None, relay_probe: int | None = None
    ) -> list[Object]:
        """Return new manifests with these numbers of pods; `owner` is the OVNCluster, None if there is none yet."""
        return central_manifests(
            self.desired.spec,
            name=self.desired.name,
            namespace=self.desired.namespace,
            cluster_domain=self.desired.cluster_domain,
            owner=owner,
            launcher=SCRIPT,
            archive=self._archive,
            replicas={str(d): count for d, count in replicas.items()},
            relay_probe=relay_probe,
        )
