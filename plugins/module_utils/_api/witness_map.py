# SPDX-License-Identifier: GPL-3.0-or-later
"""The ConfigMap NAME-DATABASE-witness: how new the files of all members are (R25), for pods that start. Observer and runs write it at the same time,
so each write names the version that it replaces.
"""

from __future__ import annotations

import typing as t

from .._base.errors import Conflict
from .._raft.cluster_witness import KEY, ClusterWitness, parse_cluster_witness, render_cluster_witness

Object = t.Any  # a Kubernetes object as JSON has it
Change = t.Callable[[ClusterWitness], ClusterWitness]
IsDue = t.Callable[[ClusterWitness, ClusterWitness], bool]

_ATTEMPTS = 5


def differs(stored: ClusterWitness, changed: ClusterWitness) -> bool:
    """Return whether anything is new."""
    return stored != changed


class WitnessMap:
    """`get` and `patch` return the ConfigMap, None if there is none; `patch` raises `Conflict` if it was written meanwhile.

    `stored` is the ConfigMap as it was read or written last.
    """

    def __init__(
        self,
        get: t.Callable[[], Object],
        patch: t.Callable[[Object], Object],
        stored: Object = None,
    ) -> None:
        self._get, self._patch = get, patch
        self.stored = stored

    @property
    def text(self) -> str:
        """Return the content as it was read or written last."""
        return ((self.stored or {}).get("data") or {}).get(KEY) or ""

    def read_text(self) -> str:
        """Return the content as it is now."""
        self.stored = self._get()
        return self.text

    def update(self, change: Change, is_due: IsDue = differs) -> bool:
        """Write the changed content if `is_due`; return whether it was written. A conflict is retried with the fresh content."""
        for attempt in range(1, _ATTEMPTS + 1):
            if self.stored is None:
                self.stored = self._get()
            if self.stored is None:
                return False
            known = parse_cluster_witness(self.text)
            changed = change(known)
            if not is_due(known, changed):
                return False
            version = {"resourceVersion": self.stored["metadata"]["resourceVersion"]}
            try:
                self.stored = self._patch({"metadata": version, "data": {KEY: render_cluster_witness(changed)}})
            except Conflict:
                self.stored = None
                if attempt == _ATTEMPTS:
                    raise
            else:
                return self.stored is not None
        return False
