# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Hypervisors that have gone: their rows in the Southbound database and their OVNChassis.
"""

from __future__ import annotations

import time
import typing as t

from .._api.names import API_VERSION, Object
from .._deadline import Deadline
from .._kubernetes.apply import ObjectChange
from .._kubernetes.client import Cluster
from .desired import DesiredHypervisors
from .observed_state import ObservedHypervisors
from .ownership import OwnershipEvidence, format_addresses
from .resources import KIND
from .southbound import Registry, delete_chassis, read_registry
from .wait import our_pods

_PAUSE = 2.0
_COMES_BACK = 3.0  # an ovn-controller that lives needs less
_TOLD = 10


class ChassisRemoval:
    """`leaving` maps nodes to system ids; `left` are those that could not be taken away entirely and have to stay recorded."""

    def __init__(
        self,
        cluster: Cluster,
        desired: DesiredHypervisors,
        observed: ObservedHypervisors,
        leaving: t.Mapping[str, str],
        staying: t.Collection[str],
    ) -> None:
        self.cluster, self.desired, self.observed = cluster, desired, observed
        self.leaving, self.staying = dict(leaving), staying
        self.left: dict[str, str] = dict(leaving)
        self.busy: dict[str, str] = {}  # nodes whose ovn-controller still runs, with the reason
        self.ours = OwnershipEvidence(observed.owner, observed.addresses())
        self.back: set[str] = set()  # chassis that were there again
        self.removed: list[str] = []
        self.done: list[ObjectChange] = []
        self.warnings: list[str] = []

    def run(self, registry: Registry | None, deadline: Deadline, *, check_mode: bool) -> None:
        if not self.leaving:
            return
        self.busy = busy = {} if check_mode else self._await_end(deadline)
        gone = {node: name for node, name in self.leaving.items() if node not in busy}
        self.left = {node: name for node, name in self.leaving.items() if node in busy or registry is None}
        for node, words in sorted(busy.items())[:_TOLD]:
            self.warnings.append(
                f'Chassis "{self.leaving[node]}" of node {node} stays for now: {words}. The next run deletes it.'
            )
        if registry is None:
            self._warn(sorted(set(gone.values()) - set(self.staying)))
        else:
            self._remove_rows(gone, registry, check_mode)
        self._delete_resources({node for node in gone if gone[node] not in self.back}, check_mode)

    def _remove_rows(self, gone: t.Mapping[str, str], registry: Registry, check_mode: bool) -> None:
        """Only rows that are ours for sure; `left` grows by what is in doubt."""
        rows = self._rows(gone, registry)
        if rows and not check_mode:
            # Waiting for pods may have taken minutes.
            registry = self._look()
            rows = self._rows(gone, registry)
        if rows and not check_mode:
            delete_chassis(sorted(rows), self.desired.asked, self.desired.tls, Deadline(30))
            # A pod that Kubernetes does not know any more may still run, on a node that its API server has lost.
            time.sleep(_COMES_BACK)
            self.back = rows & self._look().chassis.keys()
        for name in sorted(self.back)[:_TOLD]:
            self.warnings.append(
                f'Chassis "{name}" was taken out of the Southbound database and came back: its ovn-controller still runs. Switch it off; '
                "the next run takes the row away."
            )
        self.removed = sorted(rows - self.back)
        self._judge(gone, registry)

    def _look(self) -> Registry:
        return read_registry(self.desired.asked, self.desired.tls, Deadline(30))

    def _rows(self, gone: t.Mapping[str, str], registry: Registry) -> set[str]:
        found = set()
        for node, name in gone.items():
            row = registry.chassis.get(name)
            # What is left without a chassis row belongs to nobody who lives.
            ours = self.ours.judge(node, row) == "ours" if row else name in registry.answers
            if ours and name not in self.staying:
                found.add(name)
        return found

    def _judge(self, gone: t.Mapping[str, str], registry: Registry) -> None:
        for node, name in sorted(gone.items()):
            row = registry.chassis.get(name)
            # A name that another node has taken over is that node's.
            verdict = self.ours.judge(node, row) if row and name not in self.staying else "ours"
            if name in self.back or verdict == "doubtful":
                self.left[node] = name
            if row and verdict != "ours":
                words = (
                    "it is of another Kubernetes cluster"
                    if verdict == "theirs"
                    else f"nothing tells that it was node {node}. If it is gone for good, run `ovn-sbctl chassis-del {name}`"
                )
                self.warnings.append(
                    f'The row of chassis "{name}" (host {row.hostname or "(no name)"}, address {format_addresses(row)}) '
                    f"stays in the Southbound database: {words}."
                )

    def _warn(self, names: list[str]) -> None:
        if names:
            self.warnings.append(
                f"The Southbound database was not asked, so the rows of {len(names)} removed chassis may be left there ({', '.join(names[:_TOLD])}). "
                "Give southbound, private_key, certificate and ca_certificate, or run `ovn-sbctl chassis-del NAME` for each."
            )

    def _await_end(self, deadline: Deadline) -> dict[str, str]:
        """Nodes whose ovn-controller still runs, with the reason. Its chassis would come back at once."""
        while True:
            pods = self.cluster.list("v1", "Pod", self.desired.namespace, labels=our_pods(self.desired.name))
            busy = {pod["spec"].get("nodeName", ""): f"pod {pod['metadata']['name']} is still there" for pod in pods}
            # The pods of a Node that was deleted run on, until Kubernetes ends them after a minute.
            busy = {node: words for node, words in busy.items() if node in self.leaving}
            if not busy or not self.desired.wait or deadline.left() <= _PAUSE:
                return busy
            time.sleep(_PAUSE)

    def _delete_resources(self, gone: t.Container[str], check_mode: bool) -> None:
        for node, resource in sorted(self.observed.our_chassis.items()):
            if node in gone and (check_mode or self._delete(resource)):
                self.done.append(_deleted(resource))

    def _delete(self, resource: Object) -> bool:
        metadata = resource["metadata"]
        return self.cluster.delete(API_VERSION, KIND, metadata["name"], uid=metadata["uid"])


def _deleted(resource: Object) -> ObjectChange:
    return ObjectChange(KIND, resource["metadata"]["name"], "", "deleted", resource, None)


def leaving_nodes(
    observed: ObservedHypervisors, recorded: t.Mapping[str, str], staying: t.Container[str]
) -> dict[str, str]:
    """Nodes that have a chassis of ours, but are no hypervisors any more or do not exist."""
    ours = {
        node: (resource.get("spec") or {}).get("systemId") or node for node, resource in observed.our_chassis.items()
    }
    return {node: name for node, name in {**ours, **recorded}.items() if node not in staying}
