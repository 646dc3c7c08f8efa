# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the operator's part of the status of one OVNCluster."""

from __future__ import annotations

import datetime
import logging
import threading
import typing as t

from .._api.names import API_VERSION, Object
from .._api.operator_status import HYPERVISOR_CLUSTERS, TargetOutcome, operator_status
from .._base.errors import Conflict, OvnError
from .._kubernetes.client import Cluster
from .._kubernetes.timestamps import format_timestamp

_LOG = logging.getLogger("c5c3.ovn.operator")
_ATTEMPTS = 5  # observers and runs write the same object


class StatusWriter:
    """Knows the last outcome of each place. What is in the status from an earlier process counts until there is a newer one."""

    def __init__(self, cluster: Cluster, resource: Object) -> None:
        metadata = resource["metadata"]
        self._cluster, self._name, self._namespace, self._uid = (
            cluster,
            metadata["name"],
            metadata["namespace"],
            metadata["uid"],
        )
        self._lock = threading.Lock()
        self._control_plane: TargetOutcome | None = None
        self._generation = 0
        self._clusters = {
            one["name"]: TargetOutcome(one["ready"], one.get("reason") or "", one.get("message") or "")
            for one in (resource.get("status") or {}).get(HYPERVISOR_CLUSTERS) or ()
        }

    def record_control_plane(self, outcome: TargetOutcome, generation: int, places: t.Collection[str]) -> None:
        """Write what became of the control plane. `places` are the names of all hypervisor clusters of that generation."""
        with self._lock:
            self._control_plane, self._generation = outcome, generation
            self._clusters = {name: one for name, one in self._clusters.items() if name in places}
            self._write()

    def record_cluster(self, name: str, outcome: TargetOutcome) -> None:
        """Write what became of a hypervisor cluster."""
        with self._lock:
            self._clusters[name] = outcome
            self._write()

    def _write(self) -> None:
        if self._control_plane is None:
            return  # its run is the next to end
        try:
            for _attempt in range(_ATTEMPTS):
                if self._write_once(self._control_plane):
                    return
        except OvnError as e:
            _LOG.warning("The status of OVNCluster %s/%s was not written: %s", self._namespace, self._name, e)

    def _write_once(self, control_plane: TargetOutcome) -> bool:
        """Return False if somebody else has written it meanwhile."""
        resource = self._cluster.get(API_VERSION, "OVNCluster", self._name, self._namespace)
        if resource is None or resource["metadata"]["uid"] != self._uid:
            return True
        previous = resource.get("status") or {}
        now = format_timestamp(datetime.datetime.now(datetime.timezone.utc))
        status = operator_status(previous, control_plane, self._clusters, generation=self._generation, now=now)
        if status == previous:
            return True
        metadata = {
            "name": self._name,
            "namespace": self._namespace,
            "resourceVersion": resource["metadata"]["resourceVersion"],
        }
        try:
            self._cluster.apply_status(
                {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": metadata, "status": status}
            )
        except Conflict:
            return False
        return True
