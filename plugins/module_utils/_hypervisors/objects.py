# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a hypervisor cluster as a run applies them: the desired ones of a plan, and which of them differ."""

from __future__ import annotations

import datetime
import functools
import typing as t

from .._agent.archive import build_archive
from .._api.chassis_settings import DEFAULT
from .._api.names import CONFIG_NAME, POD_SECURITY, Object
from .._api.service_accounts import account_of, hypervisor_accounts
from .._base.errors import OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.access_review import Access, denied_accesses
from .._kubernetes.apply import Key, ObjectChange, converge, delete, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied, with_hash
from .._kubernetes.timestamps import format_timestamp
from .._kubernetes.wait_tracker import Progress
from .._manifests.ca_bundle import AUTHORITIES
from .._manifests.hypervisor_pods import LAUNCHER, SCRIPTS, SETTINGS
from .._manifests.hypervisors import CONTROLLER, OVS, hypervisor_manifests, settings_manifest
from .._manifests.image_contract import IMAGE_PULL
from .._manifests.status_rights import ADMISSION, CHASSIS_OBSERVER_COMPONENT, RBAC, observer_rights, status_rights
from .certificates import needs_authorities
from .desired import DesiredHypervisors
from .metadata_agents import left_objects
from .observed_state import RIGHTS, ObservedHypervisors, StatusRights, add_address, chassis_definition, component_of
from .plan import MOST_LISTED, HypervisorPlan
from .resources import KIND, address_of, chassis_manifest
from .settings import Chassis, settings_files
from .wait import our_pods

# Whether a run makes what lets agents write the status of their OVNChassis. It is known before pods are computed: without it they get no token.


class AgentRights:
    """The user of a run may lack the rights to make them. It goes on without, and a warning says so."""

    def __init__(self, cluster: Cluster, desired: DesiredHypervisors, progress: Progress) -> None:
        self.cluster, self.progress, self._force = cluster, progress, desired.force_conflicts
        self._namespace = desired.namespace
        agents = account_of(hypervisor_accounts(desired.spec), "controller")
        self._manifests = status_rights(agents, desired.namespace, desired.name, "controller")
        self._of_observer = observer_rights(desired.namespace, desired.name)
        self._refusal: str | None = None  # empty: none; None: not asked yet
        self._may_delete: bool | None = None  # the binding; None: not asked yet

    def of(self, observed: ObservedHypervisors) -> StatusRights:
        """Return what `observed` says, but not "managed" if the API server would refuse that. Nothing is written."""
        if observed.status_rights != "managed":
            return observed.status_rights
        manifests = [*self._manifests, *self._of_observer]
        pairs = [(one, observed.index.get(key_of(one))) for one in manifests]
        if all(found and is_applied(one, found) for one, found in pairs):
            return "managed"
        if self._refusal is None:
            self._refusal = self._ask(pairs)
        if not self._refusal:
            return "managed"
        there = [found for _one, found in pairs[: len(self._manifests)]]
        rights: StatusRights = "kept" if all(there) and self._is_bound(there[-1]) else "none"
        result = (
            "What lets agents write the status of OVNChassis stays as an earlier run has made it"
            if rights == "kept"
            else "Agents do not keep the status of OVNChassis true between runs"
        )
        self.progress.warn(f"{result}: {self._refusal} An administrator can run once instead.")
        return rights

    def _is_bound(self, binding: Object | None) -> bool:
        """Return whether this binding names the account of the agents. An earlier installation may have had another one."""
        return binding is not None and bool(binding.get("subjects") == self._manifests[-1]["subjects"])

    def unguarded_binding(self, observed: ObservedHypervisors) -> Object | None:
        """Return the ClusterRoleBinding if it is to be deleted, since without the policy it lets each agent write the status of all; None otherwise.

        A run that may write all of it brings the policy back instead. One that may not delete the binding warns.
        """
        role, binding = (observed.index.get(key_of(one)) for one in self._manifests if one["apiVersion"] == RBAC)
        missing = missing_guards(self._manifests, observed.index)
        if role is None or binding is None or not missing or self.of(observed) == "managed":
            return None
        name = binding["metadata"]["name"]
        cause = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        writes = "the agent of each node write the status of every OVNChassis, not only that of its own node"
        if self._may_delete is None:
            self._may_delete = self._ask_deletion(name)
        if self._may_delete:
            self.progress.warn(f"ClusterRoleBinding {name} is deleted: {cause}, and it would let {writes}.")
            return binding
        self.progress.warn(
            f"ClusterRoleBinding {name} lets {writes}: {cause}. This run can neither bring that back nor delete the binding. "
            f"An administrator ends it with kubectl delete clusterrolebinding {name}"
        )
        return None

    def _ask_deletion(self, name: str) -> bool:
        """Return whether the user may delete the binding."""
        access = Access("rbac.authorization.k8s.io", "clusterrolebindings", "delete", name, "")
        try:
            return not denied_accesses(self.cluster, [access], self._namespace)
        except Refused as e:
            if e.details.get("http_status") != 403:
                raise
            return False

    def _ask(self, pairs: t.Iterable[tuple[Object, Object | None]]) -> str:
        """Return why the user may not apply one that is missing or differs.

        Dry runs, as no review of access tells that nobody may grant what they do not have.
        """
        for manifest, found in pairs:
            if found and is_applied(manifest, found):
                continue
            try:
                self.cluster.apply(with_hash(manifest), dry_run=True, force=self._force)
            except OvnError as e:
                # Anything else is found when it is applied: a binding, for example, needs its role.
                if e.details.get("http_status") == 403:
                    return str(e)
        return ""


def missing_guards(manifests: t.Sequence[Object], index: t.Mapping[Key, Object]) -> list[str]:
    """Return kind and name of what is missing of the policy and its binding, which keep each agent to the OVNChassis of its own node."""
    guards = [one for one in manifests if one["apiVersion"] == ADMISSION]
    return [f"{one['kind']} {one['metadata']['name']}" for one in guards if key_of(one) not in index]


# Makes new settings reach the agents at once: a kubelet syncs ConfigMaps once a minute, and whenever a pod of its node changes.


def trigger_config_sync(
    cluster: Cluster, desired: DesiredHypervisors, chassis: t.Iterable[Chassis], settings: ObjectChange
) -> None:
    """Annotate the pods of the agents whose settings have changed."""
    before, after = ((side or {}).get("data") or {} for side in (settings.before, settings.after))
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    stamp = format_timestamp(datetime.datetime.now(datetime.timezone.utc))
    patch = {"metadata": {"annotations": {"ovn.c5c3.io/settings": stamp}}}
    labels = f"{our_pods(desired.name)},app.kubernetes.io/component=controller"
    if not changed & {DEFAULT, *(one.node.name for one in chassis)}:
        return
    for pod in cluster.list("v1", "Pod", desired.namespace, labels=labels):
        if DEFAULT in changed or pod["spec"].get("nodeName") in changed:
            try:
                cluster.patch("v1", "Pod", pod["metadata"]["name"], desired.namespace, patch)
            except (TimedOut, Unreachable):  # one limit of time is enough for what is only faster this way
                return
            except OvnError:  # the pod may just have gone
                continue


_KNOWN_LATER = "known when the node registers"  # in the place of an address that check mode cannot know


class HypervisorObjects:
    """`resources` are the OVNChassis of the last plan by node, as they were read or applied last."""

    def __init__(self, cluster: Cluster, desired: DesiredHypervisors, progress: Progress, *, check_mode: bool) -> None:
        self.cluster, self.desired, self.progress, self.check_mode = cluster, desired, progress, check_mode
        self.resources: dict[str, Object] = {}
        self._agent_rights = AgentRights(cluster, desired, progress)

    @functools.cached_property
    def archive(self) -> bytes:
        """The code of the agents: built once in a run, and only when it is needed."""
        return build_archive()

    def has_differences(self, plan: HypervisorPlan) -> bool:
        """Return whether any object differs from the desired one, or a chassis has to be removed."""
        manifests = [chassis_definition(), *self._manifests(plan, self.settings(plan, plan.to_remove))]
        manifests += [manifest for one in plan.chassis if (manifest := self._manifest_of(plan, one)) is not None]
        if plan.to_remove or self._obsolete(plan.observed):
            return True
        return any(
            (there := plan.observed.index.get(key_of(manifest))) is None or not is_applied(manifest, there)
            for manifest in manifests
        )

    def daemon_sets(self, plan: HypervisorPlan) -> list[Object]:
        """Return the desired DaemonSets. They do not depend on the settings."""
        return [manifest for manifest in self._manifests(plan, {}) if manifest["kind"] == "DaemonSet"]

    def delete_image_pull(self, observed: ObservedHypervisors) -> None:
        """Delete what a run that was killed has left while nodes pulled images."""
        self._delete(observed, _image_pull(observed))

    def apply_foundations(self, observed: ObservedHypervisors) -> None:
        """Apply the definition, and a namespace whose pods may use the network and folders of their node."""
        manifests = [chassis_definition()]
        namespace = self.desired.namespace
        if observed.settings is None and self.cluster.get("v1", "Namespace", namespace) is None:
            labels = {POD_SECURITY: "privileged"}
            manifests.append(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
            )
        self._converge(observed, manifests)

    def apply(self, plan: HypervisorPlan) -> None:
        """Apply all objects whose content is known before the nodes have registered."""
        self.resources = dict(plan.observed.chassis)
        obsolete = self._obsolete(plan.observed)
        # The rights go before the pods change, and the ConfigMap when nothing names it any more: a run that was killed in between finds the rest.
        self._delete(plan.observed, [one for one in obsolete if one["kind"] in RIGHTS])
        done = self._converge(plan.observed, self._manifests(plan, self.settings(plan, plan.to_remove)))
        self._delete(plan.observed, [one for one in obsolete if one["kind"] not in RIGHTS])
        self.apply_resources(plan, plan.addressed)
        self._warn_of_new_launcher(done)
        settings = next(d for d in done if d.name == SETTINGS)
        if settings.action == "changed" and self.desired.wait and not self.check_mode:
            trigger_config_sync(self.cluster, self.desired, plan.chassis, settings)

    def apply_resources(self, plan: HypervisorPlan, chassis: t.Iterable[Chassis]) -> None:
        """Apply the OVNChassis of these chassis, as far as their tunnel addresses are known."""
        manifests, without = [], []
        for one in chassis:
            manifest = self._manifest_of(plan, one)
            if manifest is not None:
                manifests.append(manifest)
            elif self._address_known_later(plan, one):
                predicted = self._manifest_of(plan, one, expected=True)
                self.progress.done.append(ObjectChange(KIND, one.node.name, "", "created", None, predicted))
            else:
                without.append(one.node.name)
        if without and plan.registry is None:
            self.progress.warnings.append(
                f"{len(without)} nodes have no OVNChassis, because only they themselves know where their tunnels end, and the Southbound database was not "
                f"asked: {', '.join(without[:MOST_LISTED])}."
            )
        for done in self._converge(plan.observed, manifests):
            if done.after is not None:
                self.resources[done.name] = done.after

    def write_settings(self, plan: HypervisorPlan, to_remove: t.Mapping[str, str]) -> None:
        """Write the settings again with what became known since, so that the next run has no change to make."""
        files = self.settings(plan, to_remove)
        manifest = settings_manifest(files, name=self.desired.name, namespace=self.desired.namespace)
        self._converge(plan.observed, [manifest])

    def settings(self, plan: HypervisorPlan, to_remove: t.Mapping[str, str]) -> dict[str, str]:
        """Return the files of the ConfigMap. A removed node stays recorded until everything of it is deleted."""
        addresses = plan.observed.addresses()
        for one in plan.self_addressed:
            ip = address_of(one, plan.observed.chassis.get(one.node.name), plan.registry)
            later = _KNOWN_LATER if self._address_known_later(plan, one) else None
            add_address(addresses, one.node.name, ip, later=later)
        return settings_files(
            plan.default,
            plan.chassis,
            to_remove,
            owner=plan.observed.owner,
            addresses=addresses,
            confirmed=plan.certified.names if plan.certified else None,
            heartbeat_interval=self.desired.spec.heartbeat_interval if self.has_agents(plan.observed) else None,
        )

    def has_agents(self, observed: ObservedHypervisors) -> bool:
        """Return whether the agents write the status of OVNChassis between runs."""
        return self._agent_rights.of(observed) != "none"

    def _converge(self, observed: ObservedHypervisors, manifests: list[Object]) -> list[ObjectChange]:
        def on_change(one: ObjectChange) -> None:
            self.progress.done.append(one)
            if one.after is not None and not self.check_mode:
                observed.index[key_of(one.after)] = one.after

        force = self.desired.force_conflicts
        return converge(
            self.cluster, manifests, observed.index, check_mode=self.check_mode, force=force, on_change=on_change
        )

    def _obsolete(self, observed: ObservedHypervisors) -> list[Object]:
        """Return what is left of what is not declared any more, or of a run that was killed while nodes pulled images, and unlimited rights of agents."""
        unguarded = self._agent_rights.unguarded_binding(observed)
        rights = [] if self.desired.has_node_certificates else observed.certificate_rights
        authorities = observed.index.get(("v1", "ConfigMap", self.desired.namespace, AUTHORITIES))
        if needs_authorities(self.desired):
            authorities = None
        left = [one for one in (unguarded, authorities) if one is not None]
        if not self.has_agents(observed):
            left += [
                one
                for one in observed.index.values()
                if component_of(one) == CHASSIS_OBSERVER_COMPONENT and one["kind"] not in RIGHTS
            ]
        return [*rights, *left, *left_objects(self.desired.spec, observed), *_image_pull(observed)]

    def _delete(self, observed: ObservedHypervisors, objects: t.Iterable[Object]) -> None:
        for one in objects:
            deleted = delete(self.cluster, one, check_mode=self.check_mode)
            if not self.check_mode:
                observed.index.pop(key_of(one), None)
            if deleted is not None:
                self.progress.done.append(deleted)

    def _manifests(self, plan: HypervisorPlan, files: dict[str, str]) -> list[Object]:
        desired, rights = self.desired, self._agent_rights.of(plan.observed)
        manifests = hypervisor_manifests(
            desired.spec,
            name=desired.name,
            namespace=desired.namespace,
            southbound=desired.southbound,
            northbound=desired.northbound,
            tls_secret=desired.tls_secret,
            api_server=desired.api_server,
            settings=files,
            archive=self.archive,
            writes_status=rights != "none",
            has_status_rights=rights == "managed",
            authorities=desired.authorities,
            issuer=desired.issuer,
            metadata_secret_version=desired.metadata_secret_version,
        )
        # A control plane in the same namespace publishes its endpoints itself.
        return [m for m in manifests if not (plan.observed.foreign_config and m["metadata"]["name"] == CONFIG_NAME)]

    def _manifest_of(self, plan: HypervisorPlan, one: Chassis, *, expected: bool = False) -> Object | None:
        return chassis_manifest(
            one,
            plan.observed.chassis.get(one.node.name),
            plan.registry,
            name=self.desired.name,
            namespace=self.desired.namespace,
            expected=expected,
        )

    def _address_known_later(self, plan: HypervisorPlan, one: Chassis) -> bool:
        """Return whether a run without check mode would wait until it knows the address."""
        return self.check_mode and self.desired.wait and plan.registry is not None and one.node.ready

    def _warn_of_new_launcher(self, done: t.Sequence[ObjectChange]) -> None:
        """Daemons run under the script that they were started with. A restart is too costly to do it with each new version of the collection."""
        scripts = next(d for d in done if d.name == SCRIPTS)
        before, after = (((side or {}).get("data") or {}).get(LAUNCHER) for side in (scripts.before, scripts.after))
        same = any(d.kind == "DaemonSet" and d.action == "unchanged" for d in done)
        if scripts.before is not None and before != after and same:
            self.progress.warnings.append(
                "There is a new launcher script. Pods that run go on under the old one until they are restarted, for example by "
                f"kubectl -n {self.desired.namespace} rollout restart daemonset/{OVS} daemonset/{CONTROLLER}"
            )


def _image_pull(observed: ObservedHypervisors) -> list[Object]:
    daemon_set = observed.daemon_set(IMAGE_PULL)
    return [] if daemon_set is None else [daemon_set]
