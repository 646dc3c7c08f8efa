# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time: two with different specifications would overwrite each other's objects, as the same field manager."""

from __future__ import annotations

import datetime

from .._api.names import labels
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, holder_identity
from .desired import DesiredHypervisors

# One for the namespace, as its DaemonSets and ConfigMaps are. The Lease of a control plane there always ends with -run.
LEASE = "ovn-hypervisors"


def run_lease(cluster: Cluster, desired: DesiredHypervisors) -> RunLease:
    holder = holder_identity(datetime.datetime.now(datetime.timezone.utc))
    return RunLease(
        cluster,
        LEASE,
        desired.namespace,
        labels(desired.name),
        holder,
        break_lock=desired.break_lock,
        subject="the hypervisors of this namespace",
    )
