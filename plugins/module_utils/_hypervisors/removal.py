# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes what is left of removed hypervisors: their rows in the Southbound database and their OVNChassis."""

from __future__ import annotations

import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import CertificateProblem, InvalidInput
from .._chassis.southbound_rows import gateway_warning
from .._kubernetes.apply import delete
from .._kubernetes.client import Cluster
from .._kubernetes.pod_watch import await_no_pods
from .._kubernetes.wait_tracker import Progress
from .._ovsdb.tls_files import TlsFiles
from .certificates import pair_of_chassis
from .desired import DesiredHypervisors
from .observed_state import ObservedHypervisors
from .ownership import OwnershipEvidence, format_addresses
from .southbound import Registry, delete_chassis, read_registry
from .wait import our_pods

_REAPPEARS_WITHIN = 3.0  # an ovn-controller that lives needs less
_MOST_LISTED = 10


class ChassisRemoval:
    """`to_remove` maps nodes to system ids; `left` are those that could not be deleted entirely and have to stay recorded.

    `removed` are the chassis whose rows were deleted; what else was done goes into `progress`.
    """

    def __init__(
        self,
        cluster: Cluster,
        desired: DesiredHypervisors,
        observed: ObservedHypervisors,
        to_remove: t.Mapping[str, str],
        remaining: t.Collection[str],
        progress: Progress,
    ) -> None:
        """`remaining` are the system ids of the chassis that stay."""
        self.cluster, self.desired, self.observed, self.progress = cluster, desired, observed, progress
        self.to_remove, self.remaining = dict(to_remove), remaining
        self.left: dict[str, str] = dict(to_remove)
        self.busy: dict[str, str] = {}  # nodes whose ovn-controller still runs, with the reason
        # A node can claim the name and the address of another chassis, whose rows are not its own to delete.
        addresses = {} if desired.has_node_certificates else observed.addresses()
        self.ours = OwnershipEvidence(observed.owner, addresses)
        self.reappeared: set[str] = set()  # chassis that were there again
        self.undeleted: set[str] = set()  # chassis for which no certificate could be signed
        self.removed: list[str] = []

    def run(self, registry: Registry | None, deadline: Deadline, *, check_mode: bool) -> None:
        if not self.to_remove:
            return
        self.busy = busy = {} if check_mode else self._await_pods(deadline)
        gone = {node: name for node, name in self.to_remove.items() if node not in busy}
        self.left = {node: name for node, name in self.to_remove.items() if node in busy or registry is None}
        for node, message in sorted(busy.items())[:_MOST_LISTED]:
            self.progress.warnings.append(
                f'Chassis "{self.to_remove[node]}" of node {node} stays for now: {message}. The next run deletes it.'
            )
        if registry is None:
            self._warn_of_rows(sorted(set(gone.values()) - set(self.remaining)))
        else:
            self._remove_rows(gone, registry, check_mode)
        self._delete_resources({node for node in gone if gone[node] not in self.reappeared}, check_mode)

    def _remove_rows(self, gone: t.Mapping[str, str], registry: Registry, check_mode: bool) -> None:
        """Delete only rows that are proven to be ours; doubtful ones are added to `left`."""
        rows = self._our_rows(gone, registry)
        if rows and not check_mode:
            # Waiting for pods may have taken minutes.
            registry = self._read_registry()
            rows = self._our_rows(gone, registry)
        if rows and not check_mode:
            self._delete_rows(sorted(rows))
            rows -= self.undeleted
            # A pod that Kubernetes does not know any more may still run, on a node that its API server has lost.
            time.sleep(_REAPPEARS_WITHIN)
            self.reappeared = rows & self._read_registry().chassis.keys()
        for name in sorted(self.reappeared)[:_MOST_LISTED]:
            self.progress.warnings.append(
                f'Chassis "{name}" was deleted from the Southbound database and registered again: its ovn-controller still runs. Stop it; '
                "the next run deletes the row."
            )
        self.removed = sorted(rows - self.reappeared)
        self._keep_doubtful_rows(gone, registry)

    def _delete_rows(self, names: list[str]) -> None:
        """Delete the rows of these chassis. Where each has a certificate of its own, relays let nobody else delete them: a run has one signed for that."""
        signer = self.desired.signer
        if signer is None:
            self._delete(names, self.desired.tls)
            self.removed += names
            return
        for name in names:
            try:
                with pair_of_chassis(signer, name, self.desired.directory) as pair:
                    tls = pair._replace(ca_certificate=self.desired.tls.ca_certificate)
                    self._delete([name], tls)
            except CertificateProblem:  # who does not know that CA gives no role by its names
                self._delete([name], self.desired.tls)
                self.removed.append(name)
            except InvalidInput as e:
                self.undeleted.add(name)
                self.progress.warnings.append(
                    f'The row of chassis "{name}" stays in the Southbound database: {e} Run `ovn-sbctl chassis-del {name}` on a central host.'
                )
            else:
                self.removed.append(name)  # now: the next one may fail

    def _delete(self, names: list[str], tls: TlsFiles) -> None:
        """Delete the rows of these chassis, and warn of gateways that still name one of them."""
        gateways = delete_chassis(names, self.desired.asked, tls, Deadline(30))
        self.progress.warnings += [gateway_warning(name, found) for name, found in gateways.items()]

    def _read_registry(self) -> Registry:
        return read_registry(self.desired.asked, self.desired.tls, Deadline(30))

    def _our_rows(self, gone: t.Mapping[str, str], registry: Registry) -> set[str]:
        found = set()
        for node, name in gone.items():
            row = registry.chassis.get(name)
            # A Chassis_Private row without a Chassis row belongs to no running chassis.
            ours = self.ours.classify(node, row) == "ours" if row else name in registry.answers
            if ours and name not in self.remaining:
                found.add(name)
        return found

    def _keep_doubtful_rows(self, gone: t.Mapping[str, str], registry: Registry) -> None:
        for node, name in sorted(gone.items()):
            row = registry.chassis.get(name)
            # A system id that a remaining node has now is that node's.
            verdict = self.ours.classify(node, row) if row and name not in self.remaining else "ours"
            if name in self.reappeared | self.undeleted or verdict == "doubtful":
                self.left[node] = name
            if row and verdict != "ours":
                message = (
                    "it is of another Kubernetes cluster"
                    if verdict == "theirs"
                    else f"there is no proof that it was node {node}. If it is gone for good, run `ovn-sbctl chassis-del {name}`"
                )
                self.progress.warnings.append(
                    f'The row of chassis "{name}" (host {row.hostname or "(no name)"}, address {format_addresses(row)}) '
                    f"stays in the Southbound database: {message}."
                )

    def _warn_of_rows(self, names: list[str]) -> None:
        if names:
            self.progress.warnings.append(
                f"The Southbound database was not asked, so the rows of {len(names)} removed chassis may be left there ({', '.join(names[:_MOST_LISTED])}). "
                "Run `ovn-sbctl chassis-del NAME` for each, or, where the module is called without the role, give it southbound with certificates."
            )

    def _await_pods(self, deadline: Deadline) -> dict[str, str]:
        """Wait for the pods to end and return the nodes whose ovn-controller still runs, with the reason. It would register again at once."""
        # The pods of a Node that was deleted run on, until Kubernetes ends them after a minute.
        pods = await_no_pods(
            self.cluster,
            self.desired.namespace,
            self.to_remove,
            labels=our_pods(self.desired.name),
            deadline=deadline if self.desired.wait else Deadline(0),
        )
        return {pod["spec"].get("nodeName") or "": f"pod {pod['metadata']['name']} is still there" for pod in pods}

    def _delete_resources(self, gone: t.Container[str], check_mode: bool) -> None:
        for node, resource in sorted(self.observed.our_chassis.items()):
            if node not in gone:
                continue
            deleted = delete(self.cluster, resource, check_mode=check_mode)
            if deleted is not None:
                self.progress.done.append(deleted)
