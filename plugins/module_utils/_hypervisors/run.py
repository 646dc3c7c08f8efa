# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One run: plan, acquire the Lease if anything differs, apply the difference, delete removed chassis, wait, write the status.
"""

from __future__ import annotations

import datetime
import json
import typing as t

from .._api.names import API_VERSION, Object
from .._deadline import Deadline
from .._errors import InvalidInput, TimedOut, Unreachable
from .._kubernetes.client import Cluster
from .desired import DesiredHypervisors
from .lease import run_lease
from .nodes import select_nodes
from .objects import MOST_LISTED, HypervisorObjects
from .observed_state import ObservedHypervisors, read_state
from .ownership import OwnershipEvidence, clashes, orphaned_chassis
from .pods import COMPONENTS, pod_problems, rolled_out
from .removal import ChassisRemoval, nodes_to_remove
from .resources import KIND, chassis_facts, chassis_status, declared_settings, nodes_of_others
from .settings import Chassis, default_settings, plan_chassis, recorded_nodes, renames
from .southbound import Registry, read_registry
from .wait import await_pods, await_registered, our_pods


class Hypervisors(HypervisorObjects):
    """One run, in the order that is safe."""

    def __init__(
        self, cluster: Cluster, desired: DesiredHypervisors, observed: ObservedHypervisors, *, check_mode: bool
    ) -> None:
        super().__init__(cluster, desired, observed, check_mode=check_mode)
        self.deadline = Deadline(desired.wait_timeout)
        self.lease = run_lease(cluster, desired)
        self._unresponsive = False  # no server of the Southbound database has responded

    def run(self) -> None:
        self._plan()
        try:
            self._acquire_lease("bring the hypervisors to the declared state")
            left = self._apply()
            if not self.check_mode and self.desired.wait:
                self._await_hypervisors()
                # What nodes have registered meanwhile may be the first difference; another run may have acted on it, or on more.
                if self._acquire_lease("record what the nodes have registered"):
                    left = self._apply()
                    self._await_hypervisors()
            # The tunnel addresses of the others are known only now.
            self._apply_resources([one for one in self.chassis if one.ips is None])
            self._write_settings(left)
            self._warn_of_nodes()
            if not self.check_mode:
                self._write_statuses()
        finally:
            self.lease.release()

    def _plan(self) -> None:
        """Compute the desired chassis and those to remove, or raise `InvalidInput` with all problems. Nothing is written."""
        desired, observed = self.desired, self.observed
        self.resources = dict(observed.chassis)
        recorded = recorded_nodes(observed.settings)
        known = {*recorded, *observed.our_chassis}
        nodes = select_nodes(observed.nodes, desired.spec, known=bool(known))
        names = {node.name for node in nodes}
        self.default = default_settings(desired.spec, desired.southbound)
        declared = {node: declared_settings(resource) for node, resource in observed.chassis.items() if node in names}
        self.chassis = plan_chassis(nodes, desired.spec, self.default, declared)
        self._refuse(renames(self.chassis, recorded))
        self._refuse(nodes_of_others(observed.chassis, sorted(names), desired.name, desired.namespace))
        to_remove = nodes_to_remove(observed, recorded, names)
        self._settings(to_remove)  # an error in them has to be raised before anything is written
        self.registry = self._read_registry()
        ours = OwnershipEvidence(observed.owner, observed.addresses())
        self._refuse(clashes(self.chassis, self.registry, ours, known, set(to_remove.values())))
        remaining = {one.system_id for one in self.chassis}
        self.to_remove = {**orphaned_chassis(self.registry, ours, remaining | set(to_remove.values())), **to_remove}

    def _acquire_lease(self, step: str) -> bool:
        """Acquire the Lease before the first change and return whether it is new: then everything was planned again, as another run may have ended."""
        if self.check_mode or (self.lease.held is None and not self._has_differences()):
            return False
        if self.lease.held is None:
            self._apply_foundations()  # the Lease is in the namespace
        if not self.lease.acquire_or_renew(step):
            return False
        self.observed = read_state(self.cluster, self.desired.name, self.desired.namespace)
        self._plan()
        return True

    def _apply(self) -> t.Mapping[str, str]:
        """Apply the objects and return the removed nodes that have to stay recorded, with their system ids."""
        self._apply_foundations()
        self._apply_objects(self.to_remove)
        return self._remove_chassis(self.to_remove)

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            more = f" (and {len(problems) - MOST_LISTED} more problems)" if len(problems) > MOST_LISTED else ""
            nothing = "" if self.changed else " Nothing was changed."
            raise InvalidInput(f"{' '.join(problems[:MOST_LISTED])}{more}{nothing}", problems=problems)

    def _read_registry(self) -> Registry | None:
        """Return the chassis of the Southbound database; None if the options give no access: a control node need not reach it."""
        if not self.desired.asked or self._unresponsive:
            return None
        try:
            registry = read_registry(self.desired.asked, self.desired.tls, Deadline(15))
        except (Unreachable, TimedOut) as e:
            self._unresponsive = True
            self.warnings.append(f"{e} This run observes the hypervisors only through their pods.")
            return None
        return registry._replace(owner=self.observed.owner)

    def _remove_chassis(self, to_remove: t.Mapping[str, str]) -> t.Mapping[str, str]:
        """Delete what is left of removed nodes and return those that have to stay recorded, with their system ids."""
        if to_remove and not self.check_mode:
            self.lease.acquire_or_renew(
                "delete the chassis of removed nodes"
            )  # two runs would differ in this above all
        remaining = {one.system_id for one in self.chassis}
        removal = ChassisRemoval(self.cluster, self.desired, self.observed, to_remove, remaining)
        try:
            removal.run(self.registry, self.deadline, check_mode=self.check_mode)
        finally:
            self.done += removal.done
            self.removed += removal.removed
            self.warnings += removal.warnings
        if removal.left != removal.to_remove:
            self._write_settings(removal.left)
        return removal.left

    # --- what came of it -------------------------------------------------------------------------------------------------

    def _daemon_sets(self) -> dict[str, Object]:
        """Return the DaemonSets as they were read, without those that this run has changed since."""
        touched = {d.name for d in self.done if d.kind == "DaemonSet" and d.action != "unchanged"}
        found = {name: self.observed.daemon_set(name) for name in COMPONENTS.values() if name not in touched}
        return {name: daemon_set for name, daemon_set in found.items() if daemon_set is not None}

    def _await_hypervisors(self) -> None:
        await_pods(self.cluster, self.desired, self._daemon_sets(), self.chassis, self.deadline)
        if self.registry is not None and any(one.node.ready for one in self.chassis):
            self.registry = await_registered(
                self.cluster, self.desired, self.chassis, self.deadline, owner=self.observed.owner
            )

    def _warn_of_nodes(self) -> None:
        down = [one.node.name for one in self.chassis if not one.node.ready]
        if down:
            more = f" and {len(down) - MOST_LISTED} more" if len(down) > MOST_LISTED else ""
            self.warnings.append(
                f"Nodes that are not ready were not waited for: {', '.join(down[:MOST_LISTED])}{more}."
            )

    def _pod_problems(self) -> dict[str, str] | None:
        """Return what is wrong with the pods, by node; None if there are no pods yet."""
        daemon_sets = self._daemon_sets()
        if self.desired.wait and all(one.node.ready for one in self.chassis):
            return {}  # or we would not have come so far
        count = len(self.chassis)
        if len(daemon_sets) == len(COMPONENTS) and all(rolled_out(one, count) for one in daemon_sets.values()):
            return {}
        if not any((d.get("status") or {}).get("observedGeneration") for d in daemon_sets.values()):
            return None
        pods = self.cluster.list("v1", "Pod", self.desired.namespace, labels=our_pods(self.desired.name))
        return pod_problems(pods, [one.node for one in self.chassis])

    def _write_statuses(self) -> None:
        """Write each status that differs."""
        problems = self._pod_problems()
        now = datetime.datetime.now(datetime.timezone.utc)
        if problems is None and self.registry is None:
            return
        for one in self.chassis:
            resource = self.resources.get(one.node.name)
            if resource is None:
                continue
            previous = resource.get("status") or {}
            facts = chassis_facts(one, self.registry, problems)
            status = chassis_status(previous, facts, generation=resource["metadata"].get("generation", 1), now=now)
            if json.dumps(status, sort_keys=True) != json.dumps(previous, sort_keys=True):
                metadata = {"name": one.node.name}
                self.cluster.apply_status(
                    {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "status": status}
                )

    def as_list(self) -> list[dict[str, t.Any]]:
        """Return the value `chassis` of the module."""
        return [
            {
                "node": one.node.name,
                "system_id": one.system_id,
                "hostname": one.hostname,
                "encapsulation": {"type": list(one.types), "ip": list(one.ips or self._known(one))},
                "registered": None if self.registry is None else self.registry.registration_problem(one) is None,
            }
            for one in self.chassis
        ]

    def _known(self, one: Chassis) -> list[str]:
        ip = ((self.resources.get(one.node.name) or {}).get("spec", {}).get("encapsulation") or {}).get("ip")
        return [ip] if ip else []
