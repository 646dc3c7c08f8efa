# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The members of one database in pods, as `_raft/status.py` asks them.
"""

from __future__ import annotations

import functools
import typing as t

from .._raft.status import Source
from .ask import ask_pods
from .contents import add_pod_contents

if t.TYPE_CHECKING:
    from .._databases import Database
    from .._kubernetes.client import Cluster


def source_of_pods(cluster: Cluster, namespace: str, name: str, database: Database) -> Source:
    """Return the source for the pods of the OVNCluster `name`."""
    return Source(
        functools.partial(ask_pods, cluster, namespace, name, database),
        functools.partial(add_pod_contents, cluster, namespace),
    )
