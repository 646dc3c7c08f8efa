# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One run: plan, take the Lease if anything differs, apply that, take away who has gone, wait, tell what is there.
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
from .objects import TOLD, HypervisorObjects
from .observed_state import ObservedHypervisors, read_state
from .ownership import OwnershipEvidence, clashes, orphaned_chassis
from .pods import COMPONENTS, pod_troubles, rolled_out
from .removal import ChassisRemoval, leaving_nodes
from .resources import KIND, chassis_status, declared_settings, held_by_others, seen_of
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
        self._silent = False  # nobody of the Southbound database has answered

    def run(self) -> None:
        self._plan()
        try:
            self._lock("bring the hypervisors to the declared state")
            left = self._act()
            if not self.check_mode and self.desired.wait:
                self._wait()
                # What nodes have told meanwhile may be the first difference; another run may have acted on it, or on more.
                if self._lock("note what the nodes have told"):
                    left = self._act()
                    self._wait()
            # The tunnel ends of the others are known only now.
            self._resources([one for one in self.chassis if one.ips is None])
            self._note(left)
            self._warn_of_nodes()
            if not self.check_mode:
                self._write_statuses()
        finally:
            self.lease.release()

    def _plan(self) -> None:
        """What is declared for what is there, or why not. Nothing is written."""
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
        self._refuse(held_by_others(observed.chassis, sorted(names), desired.name, desired.namespace))
        leaving = leaving_nodes(observed, recorded, names)
        self._settings(leaving)  # what is wrong with it has to be told before anything is written
        self.registry = self._look()
        ours = OwnershipEvidence(observed.owner, observed.addresses())
        self._refuse(clashes(self.chassis, self.registry, ours, known, set(leaving.values())))
        staying = {one.system_id for one in self.chassis}
        self.leaving = {**orphaned_chassis(self.registry, ours, staying | set(leaving.values())), **leaving}

    def _lock(self, step: str) -> bool:
        """Before the first change. Whether the Lease is new: then everything was planned again, for another run may have ended a moment ago."""
        if self.check_mode or (self.lease.held is None and not self._pending()):
            return False
        if self.lease.held is None:
            self._foundations()  # it lies in the namespace
        if not self.lease.acquire_or_renew(step):
            return False
        self.observed = read_state(self.cluster, self.desired.name, self.desired.namespace)
        self._plan()
        return True

    def _act(self) -> t.Mapping[str, str]:
        """Who has to stay recorded."""
        self._foundations()
        self._objects(self.leaving)
        return self._remove(self.leaving)

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            more = f" (and {len(problems) - TOLD} more problems)" if len(problems) > TOLD else ""
            nothing = "" if self.changed else " Nothing was changed."
            raise InvalidInput(f"{' '.join(problems[:TOLD])}{more}{nothing}", problems=problems)

    def _look(self) -> Registry | None:
        """Only if somebody gave us the means; a control node need not reach the Southbound database."""
        if not self.desired.asked or self._silent:
            return None
        try:
            registry = read_registry(self.desired.asked, self.desired.tls, Deadline(15))
        except (Unreachable, TimedOut) as e:
            self._silent = True
            self.warnings.append(f"{e} This run sees the hypervisors only through their pods.")
            return None
        return registry._replace(owner=self.observed.owner)

    def _remove(self, leaving: t.Mapping[str, str]) -> t.Mapping[str, str]:
        """Who has to stay recorded."""
        if leaving and not self.check_mode:
            self.lease.acquire_or_renew("delete the chassis that are gone")  # what runs differ about most
        staying = {one.system_id for one in self.chassis}
        removal = ChassisRemoval(self.cluster, self.desired, self.observed, leaving, staying)
        try:
            removal.run(self.registry, self.deadline, check_mode=self.check_mode)
        finally:
            self.done += removal.done
            self.removed += removal.removed
            self.warnings += removal.warnings
        if removal.left != removal.leaving:
            self._note(removal.left)
        return removal.left

    # --- what came of it -------------------------------------------------------------------------------------------------

    def _daemon_sets(self) -> dict[str, Object]:
        """As last seen; what was changed since then is not known."""
        touched = {d.name for d in self.done if d.kind == "DaemonSet" and d.action != "unchanged"}
        found = {name: self.observed.daemon_set(name) for name in COMPONENTS.values() if name not in touched}
        return {name: daemon_set for name, daemon_set in found.items() if daemon_set is not None}

    def _wait(self) -> None:
        await_pods(self.cluster, self.desired, self._daemon_sets(), self.chassis, self.deadline)
        if self.registry is not None and any(one.node.ready for one in self.chassis):
            self.registry = await_registered(
                self.cluster, self.desired, self.chassis, self.deadline, owner=self.observed.owner
            )

    def _warn_of_nodes(self) -> None:
        down = [one.node.name for one in self.chassis if not one.node.ready]
        if down:
            more = f" and {len(down) - TOLD} more" if len(down) > TOLD else ""
            self.warnings.append(f"Nodes that are not ready were not waited for: {', '.join(down[:TOLD])}{more}.")

    def _troubles(self) -> dict[str, str] | None:
        """By node; None if there are no pods to look at."""
        daemon_sets = self._daemon_sets()
        if self.desired.wait and all(one.node.ready for one in self.chassis):
            return {}  # or we would not have come so far
        count = len(self.chassis)
        if len(daemon_sets) == len(COMPONENTS) and all(rolled_out(one, count) for one in daemon_sets.values()):
            return {}
        if not any((d.get("status") or {}).get("observedGeneration") for d in daemon_sets.values()):
            return None
        pods = self.cluster.list("v1", "Pod", self.desired.namespace, labels=our_pods(self.desired.name))
        return pod_troubles(pods, [one.node for one in self.chassis])

    def _write_statuses(self) -> None:
        """One request for each that differs."""
        troubles = self._troubles()
        now = datetime.datetime.now(datetime.timezone.utc)
        if troubles is None and self.registry is None:
            return
        for one in self.chassis:
            resource = self.resources.get(one.node.name)
            if resource is None:
                continue
            previous = resource.get("status") or {}
            seen = seen_of(one, self.registry, troubles)
            status = chassis_status(previous, seen, generation=resource["metadata"].get("generation", 1), now=now)
            if json.dumps(status, sort_keys=True) != json.dumps(previous, sort_keys=True):
                metadata = {"name": one.node.name}
                self.cluster.apply_status(
                    {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "status": status}
                )

    def as_list(self) -> list[dict[str, t.Any]]:
        """What the module returns of each chassis."""
        return [
            {
                "node": one.node.name,
                "system_id": one.system_id,
                "hostname": one.hostname,
                "encapsulation": {"type": list(one.types), "ip": list(one.ips or self._known(one))},
                "registered": None if self.registry is None else self.registry.registered(one) is None,
            }
            for one in self.chassis
        ]

    def _known(self, one: Chassis) -> list[str]:
        ip = ((self.resources.get(one.node.name) or {}).get("spec", {}).get("encapsulation") or {}).get("ip")
        return [ip] if ip else []
