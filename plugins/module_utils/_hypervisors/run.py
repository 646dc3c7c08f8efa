# SPDX-License-Identifier: GPL-3.0-or-later
"""One run: plan, acquire the Lease if anything differs, have the nodes pull new images, apply the difference, delete removed chassis, wait,
write the status.
"""

from __future__ import annotations

import contextlib
import datetime
import typing as t

from .._api.names import Object, labels
from .._api.service_accounts import accounts_in_use, given_accounts
from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError, TimedOut, Unreachable
from .._kubernetes.access_review import denied_accesses, missing_account_problem
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, holder_identity
from .._kubernetes.version import check_tokens, check_version
from .._kubernetes.wait_tracker import Progress
from .._manifests.hypervisors import CONTROLLER, OVS
from .._manifests.image_contract import images_to_pull
from .desired import DesiredHypervisors
from .image_pull import pull_images, split_into_waves
from .metadata_agents import AGENTS, chassis_with_agent, warnings_of
from .node_signing import NodeSigning
from .objects import HypervisorObjects
from .observed_state import ObservedHypervisors, read_pod_problems, read_state, write_statuses
from .plan import MOST_LISTED, HypervisorPlan, plan_hypervisors, refuse, with_confirmed_names, with_registry
from .pods import components_of
from .removal import ChassisRemoval
from .settings import Chassis
from .southbound import Registry, read_registry
from .switch_to_own import SIGNING_ACCESSES, is_switch, network_warnings, switch_problems, without_granted
from .wait import await_pods, await_registered

# One run at a time: two with different specifications would overwrite each other's objects, as the same field manager.

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


class Hypervisors:
    """One run, in the order that is safe. `removed` are the chassis that it has deleted from the Southbound database."""

    def __init__(
        self, cluster: Cluster, desired: DesiredHypervisors, observed: ObservedHypervisors, *, check_mode: bool
    ) -> None:
        self.cluster, self.desired, self.check_mode = cluster, desired, check_mode
        self.progress, self.removed = Progress(), list[str]()
        self.objects = HypervisorObjects(cluster, desired, self.progress, check_mode=check_mode)
        self.signing = NodeSigning(cluster, desired, self.progress, check_mode=check_mode)
        self.lease = run_lease(cluster, desired)
        self.plan: HypervisorPlan | None = None  # once the run has ended
        self._observed = observed
        self._unresponsive = False  # no server of the Southbound database has responded

    @property
    def changed(self) -> bool:
        return bool(self.removed) or self.progress.changed

    def run(self) -> None:
        if self._observed.definition is None:
            check_version(self.cluster)
        if self.desired.has_node_certificates:
            check_tokens(self.cluster)
            self.signing.check_authority()
        try:
            plan = self._plan(self._observed)
        except InvalidInput as e:
            raise self._after_renewals(e) from e
        try:
            plan = self._acquire_lease(plan, "bring the hypervisors to the declared state") or plan
            plan = self._pull_images(plan)
            left = self._apply(plan)
            if self.desired.has_node_certificates:
                self.signing.sign(plan)
            if not self.check_mode and self.desired.wait:
                plan = self._await_hypervisors(plan)
                # What nodes have registered meanwhile may be the first difference; another run may have acted on it, or on more.
                fresh = self._acquire_lease(plan, "record what the nodes have registered")
                if fresh is not None:
                    left = self._apply(fresh)
                    plan = self._await_hypervisors(fresh)
            # The tunnel addresses of the others are known only now.
            self.objects.apply_resources(plan, plan.self_addressed)
            self.objects.write_settings(plan, left)
            self._warn_of_nodes(plan)
            if not self.check_mode:
                self._write_statuses(plan, awaited=self.desired.wait)
            self.signing.check()
            if not self.check_mode and self.desired.wait:
                self._await_metadata_agents(plan)
        finally:
            self.signing.report()
            self.lease.release()
        self.plan = plan

    def _plan(self, observed: ObservedHypervisors) -> HypervisorPlan:
        """Return the plan, or raise `InvalidInput` with all problems. Nothing is written."""
        plan = plan_hypervisors(self.desired, observed, changed=self.changed)
        given = given_accounts(accounts_in_use(self.desired.spec))
        missing = missing_account_problem(self.cluster, self.desired.namespace, given)
        refuse([missing] if missing else [], self.changed)
        self.objects.settings(plan, plan.to_remove)  # an error in them has to be raised before anything is written
        plan = with_registry(plan, self._read_registry(observed.owner), changed=self.changed)
        if not self.desired.has_node_certificates:
            return plan
        unchecked = self.signing.check_relays() if plan.registry is not None else ""
        plan = with_confirmed_names(plan, self.desired.other_chassis)
        if is_switch(self.desired, observed):
            denied = denied_accesses(self.cluster, SIGNING_ACCESSES, self.desired.namespace)
            refuse(switch_problems(self.desired, plan, unchecked, without_granted(denied)), self.changed)
        elif unchecked:
            self.progress.warn(unchecked)
        return plan

    def _read_and_plan(self) -> HypervisorPlan:
        certificates = self.desired.has_node_certificates
        return self._plan(
            read_state(self.cluster, self.desired.name, self.desired.namespace, node_certificates=certificates)
        )

    def _plan_beside(self) -> HypervisorPlan:
        """Return a plan for the thread that signs. That the Southbound database did not answer in that moment is nothing for the rest of the run."""
        unresponsive = self._unresponsive
        try:
            return self._read_and_plan()
        finally:
            self._unresponsive = unresponsive

    def _after_renewals(self, error: InvalidInput) -> InvalidInput:
        """Return the error that ends the run before it has a plan, after the certificates of nodes that are as they were before."""
        if not self.desired.has_node_certificates:
            return error
        try:
            renewed = self.signing.renew(self._observed, self._read_registry(self._observed.owner))
        except OvnError as e:
            return InvalidInput(f"{error} Certificates that wait were not renewed either: {e}", **error.details)
        finally:
            self.signing.report()
        if not renewed:
            return error
        text, would = str(error).removesuffix(" Nothing was changed."), "would be" if self.check_mode else "were"
        return InvalidInput(
            f"{text} Nothing was changed; only requests for certificates, of nodes that are as they were, {would} dealt with ({renewed}).",
            **error.details,
        )

    def _acquire_lease(self, plan: HypervisorPlan, step: str) -> HypervisorPlan | None:
        """Acquire the Lease before the first change. If it is new, everything is planned again, as another run may have ended: return that plan."""
        if self.check_mode or (self.lease.held is None and not self.objects.has_differences(plan)):
            return None
        if self.lease.held is None:
            self.objects.apply_foundations(plan.observed)  # the Lease is in the namespace
        if not self.lease.acquire_or_renew(step):
            return None
        return self._read_and_plan()

    def _pull_images(self, plan: HypervisorPlan) -> HypervisorPlan:
        """Have the nodes pull new images, and return the plan that is true then: that may take hours. Without new images it stays."""
        observed = [
            one for name in (OVS, CONTROLLER, *AGENTS.values()) if (one := plan.observed.daemon_set(name)) is not None
        ]
        if not self.desired.wait or not observed:
            return plan
        images = images_to_pull(self.objects.daemon_sets(plan), observed)
        waves = split_into_waves(one.node for one in plan.chassis)
        if not images or not waves:
            return plan
        self.progress.steps.append(f"pull {' and '.join(images)} on the nodes")
        if self.check_mode:
            return plan
        self.objects.delete_image_pull(plan.observed)
        with self._signing(plan):
            pull_images(self.cluster, self.desired, self.lease, waves, images, self.progress)
        self.lease.acquire_or_renew("update the pods")
        return self._read_and_plan()

    def _apply(self, plan: HypervisorPlan) -> t.Mapping[str, str]:
        """Apply the objects and return the removed nodes that have to stay recorded, with their system ids."""
        self.objects.apply_foundations(plan.observed)
        self.objects.apply(plan)
        return self._remove_chassis(plan)

    def _read_registry(self, owner: str) -> Registry | None:
        """Return the chassis of the Southbound database; None if the options give no access: a control node need not reach it."""
        if not self.desired.asked or self._unresponsive:
            return None
        try:
            registry = read_registry(self.desired.asked, self.desired.tls, Deadline(15))
        except (Unreachable, TimedOut) as e:
            self._unresponsive = True
            self.progress.warn(f"{e} This run observes the hypervisors only through their pods.")
            return None
        return registry._replace(owner=owner)

    def _remove_chassis(self, plan: HypervisorPlan) -> t.Mapping[str, str]:
        """Delete what is left of removed nodes and return those that have to stay recorded, with their system ids."""
        if plan.to_remove and not self.check_mode:
            # Two runs would differ in this above all.
            self.lease.acquire_or_renew("delete the chassis of removed nodes")
        removal = ChassisRemoval(
            self.cluster, self.desired, plan.observed, plan.to_remove, plan.system_ids, self.progress
        )
        try:
            removal.run(plan.registry, Deadline(self.desired.wait_timeout), check_mode=self.check_mode)
        finally:
            self.removed += removal.removed
        if removal.left != removal.to_remove:
            self.objects.write_settings(plan, removal.left)
        return removal.left

    def _write_statuses(self, plan: HypervisorPlan, *, awaited: bool) -> None:
        """Write them by what is true now: the plan may be hours old."""
        problems = read_pod_problems(
            *(self.cluster, self.desired, self._daemon_sets(plan), plan.chassis),
            awaited=awaited,
            not_awaited=self._not_awaited(plan),
        )
        registry, interval = self._read_registry_again(plan), self.desired.spec.heartbeat_interval
        agents = self.objects.has_agents(plan.observed)
        write_statuses(
            self.cluster, plan.chassis, registry, self.objects.resources, problems, interval, has_agents=agents
        )

    def _read_registry_again(self, plan: HypervisorPlan) -> Registry | None:
        try:
            return self._read_registry(plan.observed.owner) if plan.registry else None
        except OvnError as e:
            self.progress.warn(f"{e} The status of OVNChassis is judged without the Southbound database.")
            return None

    def _write_statuses_after_timeout(self, plan: HypervisorPlan) -> None:
        """Write them, so that what keeps a node from its work is seen there after this run, too. The reason why the run ends is another one."""
        try:
            self._write_statuses(plan, awaited=False)
        except OvnError as e:
            self.progress.warn(f"The status of OVNChassis is that of before: {e}")

    def _daemon_sets(self, plan: HypervisorPlan) -> dict[str, Object]:
        """Return the DaemonSets as they were read, without those that this run has changed since."""
        kept = [
            name
            for name in components_of(self.desired.spec.ovs.mode).values()
            if not self.progress.has_changed("DaemonSet", name)
        ]
        return {name: found for name in kept if (found := plan.observed.daemon_set(name)) is not None}

    def _await_hypervisors(self, plan: HypervisorPlan) -> HypervisorPlan:
        """Return the plan with what the Southbound database knows when all hypervisors work."""
        try:
            with self._signing(plan):
                await_pods(self.cluster, self.desired, self._daemon_sets(plan), plan.chassis, self._not_awaited(plan))
        except TimedOut:
            self._write_statuses_after_timeout(plan)
            raise
        if plan.registry is None or not any(one.node.ready for one in plan.chassis):
            return plan
        waited = [one for one in plan.chassis if one.node.name not in self._not_awaited(plan)]
        registry = await_registered(self.cluster, self.desired, waited, owner=plan.observed.owner)
        return plan._replace(registry=registry)

    def _await_metadata_agents(self, plan: HypervisorPlan) -> None:
        """Wait for them at last: nothing else needs them."""
        chassis = chassis_with_agent(self.desired.spec, plan.chassis)
        if chassis:
            await_pods(self.cluster, self.desired, {}, chassis, self._not_awaited(plan), AGENTS)

    def _not_awaited(self, plan: HypervisorPlan) -> frozenset[str]:
        """Return the nodes for which nobody can wait: somebody has to confirm their names first. The other nodes go on."""
        return plan.uncertified if self.desired.signer is not None else frozenset()

    @contextlib.contextmanager
    def _signing(self, plan: HypervisorPlan) -> t.Iterator[None]:
        """Sign while the run waits, and tell in its error what kept pods from their certificates."""
        if not self.desired.has_node_certificates:
            yield
            return
        try:
            with self.signing.running(plan, self._plan_beside):
                yield
        except TimedOut as e:
            raise TimedOut(" ".join([str(e), *self.signing.problems()]), **e.details) from e

    def _warn_of_nodes(self, plan: HypervisorPlan) -> None:
        spec, chassis = self.desired.spec, plan.chassis
        for found in (warnings_of(spec, chassis), network_warnings(spec, plan.default, chassis)):
            for warning in found[:MOST_LISTED]:
                self.progress.warn(warning)
        down = [one.node.name for one in plan.chassis if not one.node.ready]
        if down:
            more = f" and {len(down) - MOST_LISTED} more" if len(down) > MOST_LISTED else ""
            self.progress.warn(f"Nodes that are not ready were not waited for: {', '.join(down[:MOST_LISTED])}{more}.")

    def chassis(self) -> list[dict[str, t.Any]]:
        """Return the value `chassis` of the module, empty before the run has ended."""
        if self.plan is None:
            return []
        registry = self.plan.registry
        return [
            {
                "node": one.node.name,
                "system_id": one.system_id,
                "hostname": one.hostname,
                "encapsulation": {"type": list(one.types), "ip": list(one.ips or self._known_address(one))},
                "registered": None if registry is None else registry.registration_problem(one) is None,
            }
            for one in self.plan.chassis
        ]

    def _known_address(self, one: Chassis) -> list[str]:
        resource = self.objects.resources.get(one.node.name) or {}
        ip = (resource.get("spec", {}).get("encapsulation") or {}).get("ip")
        return [ip] if ip else []
