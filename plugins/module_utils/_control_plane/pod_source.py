# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of one database in pods, as `_raft/status.py` asks them."""

from __future__ import annotations

import functools
import typing as t

from .._raft.status import Source
from .ask_pods import ask_pods
from .pod_contents import add_pod_contents

if t.TYPE_CHECKING:
    from .._base.databases import Database
    from .._kubernetes.client import Cluster


def source_of_pods(cluster: Cluster, namespace: str, name: str, database: Database) -> Source:
    """Return the source for the pods of the OVNCluster `name`."""
    return Source(
        functools.partial(ask_pods, cluster, namespace, name, database),
        functools.partial(add_pod_contents, cluster, namespace),
    )
