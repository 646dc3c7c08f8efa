# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Whether a run makes what lets agents write the status of their OVNChassis. It is known before pods are computed: without it they get no token.
"""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._errors import OvnError
from .._kubernetes.apply import key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied, with_hash
from .._kubernetes.progress import Progress
from .._manifests.hypervisors import CONTROLLER
from .._manifests.status_rights import status_rights
from .desired import DesiredHypervisors
from .observed_state import ObservedHypervisors, StatusRights


class AgentRights:
    """The user of a run may lack the rights to make them. It goes on without, and a warning says so."""

    def __init__(self, cluster: Cluster, desired: DesiredHypervisors, progress: Progress) -> None:
        self.cluster, self.progress, self._force = cluster, progress, desired.force_conflicts
        self._manifests = status_rights(CONTROLLER, desired.namespace, desired.name, "controller")
        self._refusal: str | None = None  # empty: none; None: not asked yet

    def of(self, observed: ObservedHypervisors) -> StatusRights:
        """Return what `observed` says, but not "managed" if the API server would refuse that. Nothing is written."""
        if observed.status_rights != "managed":
            return observed.status_rights
        there = [observed.index.get(key_of(one)) for one in self._manifests]
        if all(found and is_applied(one, found) for one, found in zip(self._manifests, there)):
            return "managed"
        if self._refusal is None:
            self._refusal = self._ask(there)
        if not self._refusal:
            return "managed"
        rights: StatusRights = "kept" if all(there) else "none"
        result = (
            "What lets agents write the status of OVNChassis stays as an earlier run has made it"
            if rights == "kept"
            else "Agents do not keep the status of OVNChassis true between runs"
        )
        self.progress.warn(f"{result}: {self._refusal} An administrator can run once instead.")
        return rights

    def _ask(self, there: t.Sequence[Object | None]) -> str:
        """Return why the user may not apply one that is missing or differs.

        Dry runs, as no review of access tells that nobody may grant what they do not have.
        """
        for manifest, found in zip(self._manifests, there):
            if found and is_applied(manifest, found):
                continue
            try:
                self.cluster.apply(with_hash(manifest), dry_run=True, force=self._force)
            except OvnError as e:
                # Anything else is found when it is applied: a binding, for example, needs its role.
                if e.details.get("http_status") == 403:
                    return str(e)
        return ""
