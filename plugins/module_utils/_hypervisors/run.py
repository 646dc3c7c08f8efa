# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One run: plan, apply what differs, take away who has gone, wait, tell what is there.
"""

from __future__ import annotations

import datetime
import json
import typing as t

from .._deadline import Deadline
from .._errors import InvalidInput, TimedOut, Unreachable
from .._k8s import Cluster
from .._manifests.hypervisor_pods import LAUNCHER, SCRIPTS, SETTINGS
from .._manifests.hypervisors import CONTROLLER, OVS, hypervisor_manifests, settings_manifest
from .._manifests.names import API_VERSION, CONFIG_NAME, Object
from .._objects import Done, converge, key_of
from .._pods.archive import build_archive
from .._pods.chassis_settings import Settings
from .hurry import hurry
from .live import Live, chassis_definition, note
from .nodes import select_nodes
from .ownership import Ours, clashes, strays
from .pods import COMPONENTS, pod_troubles, rolled_out
from .removal import Removal, leaving_nodes
from .resources import KIND, address_of, chassis_manifest, chassis_status, declared_settings, held_by_others, seen_of
from .settings import Chassis, default_settings, plan_chassis, recorded_nodes, renames, settings_files
from .southbound import Registry, read_registry
from .wait import await_pods, await_registered, our_pods
from .wanted import Wanted

_TOLD = 10
_TOLD_LATER = "told by the node when it registers"  # in the place of an address that check mode cannot know


class Hypervisors:
    """`done`, `removed` and `warnings` grow as it goes, so that a failure can tell what was done before."""

    def __init__(self, cluster: Cluster, wanted: Wanted, live: Live, *, check_mode: bool) -> None:
        self.cluster, self.wanted, self.live, self.check_mode = cluster, wanted, live, check_mode
        self.deadline = Deadline(wanted.wait_timeout)
        self.done: list[Done] = []
        self.removed: list[str] = []
        self.warnings: list[str] = []
        self.default: Settings = {}
        self.chassis: list[Chassis] = []
        self.registry: Registry | None = None
        self.resources: dict[str, Object] = dict(live.chassis)

    @property
    def changed(self) -> bool:
        return bool(self.removed) or any(d.action != "unchanged" for d in self.done)

    def run(self) -> None:
        wanted, live = self.wanted, self.live
        recorded = recorded_nodes(live.settings)
        known = {*recorded, *live.our_chassis}
        nodes = select_nodes(live.nodes, wanted.spec, known=bool(known))
        names = {node.name for node in nodes}
        self.default = default_settings(wanted.spec, wanted.southbound)
        declared = {node: declared_settings(resource) for node, resource in live.chassis.items() if node in names}
        self.chassis = plan_chassis(nodes, wanted.spec, self.default, declared)
        self._refuse(renames(self.chassis, recorded))
        self._refuse(held_by_others(live.chassis, sorted(names), wanted.name, wanted.namespace))
        leaving = leaving_nodes(live, recorded, names)
        self._settings(leaving)  # what is wrong with it has to be told before anything is written
        self.registry = self._look()
        ours = Ours(live.owner, live.addresses())
        self._refuse(clashes(self.chassis, self.registry, ours, known, set(leaving.values())))
        staying = {one.system_id for one in self.chassis}
        leaving = {**strays(self.registry, ours, staying | set(leaving.values())), **leaving}
        self._foundations()
        if self.registry is not None:  # the first run makes what the owner is known by
            self.registry = self.registry._replace(owner=live.owner)
        self._objects(leaving)
        left = self._remove(leaving)
        if not self.check_mode and wanted.wait:
            self._wait()
        # The tunnel ends of the others are known only now.
        self._resources([one for one in self.chassis if one.ips is None])
        self._note(left)
        self._warn_of_nodes()
        if not self.check_mode:
            self._write_statuses()

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            more = f" (and {len(problems) - _TOLD} more problems)" if len(problems) > _TOLD else ""
            raise InvalidInput(f"{' '.join(problems[:_TOLD])}{more} Nothing was changed.", problems=problems)

    def _look(self) -> Registry | None:
        """Only if somebody gave us the means; a control node need not reach the Southbound database."""
        if not self.wanted.asked:
            return None
        try:
            return read_registry(self.wanted.asked, self.wanted.tls, Deadline(15))
        except (Unreachable, TimedOut) as e:
            self.warnings.append(f"{e} This run sees the hypervisors only through their pods.")
            return None

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _converge(self, manifests: list[Object]) -> list[Done]:
        """One by one, so that a failure tells everything that was made before it."""
        done: list[Done] = []
        force = self.wanted.force_conflicts
        try:
            for manifest in manifests:
                done += converge(self.cluster, [manifest], self.live.index, check_mode=self.check_mode, force=force)
        finally:
            self.done += done
            if not self.check_mode:
                self.live.index.update({key_of(d.after): d.after for d in done if d.after is not None})
        return done

    def _foundations(self) -> None:
        """The kind, and a namespace whose pods may use the network and folders of their node."""
        manifests = [chassis_definition()]
        namespace = self.wanted.namespace
        if self.live.settings is None and self.cluster.get("v1", "Namespace", namespace) is None:
            labels = {"pod-security.kubernetes.io/enforce": "privileged"}
            manifests.append(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
            )
        self._converge(manifests)

    def _settings(self, leaving: t.Mapping[str, str]) -> dict[str, str]:
        """The files of the ConfigMap. Whoever has gone stays recorded until it is gone everywhere."""
        addresses = self.live.addresses()
        for one in self.chassis:
            if one.ips is None:
                ip = address_of(one, self.live.chassis.get(one.node.name), self.registry)
                note(addresses, one.node.name, ip, later=_TOLD_LATER if self._will_tell(one) else None)
        return settings_files(self.default, self.chassis, leaving, owner=self.live.owner, addresses=addresses)

    def _note(self, leaving: t.Mapping[str, str]) -> None:
        """What came to be known since the settings were written, or the next run would have to."""
        self._converge(
            [settings_manifest(self._settings(leaving), name=self.wanted.name, namespace=self.wanted.namespace)]
        )

    def _manifests(self, files: dict[str, str]) -> list[Object]:
        wanted = self.wanted
        manifests = hypervisor_manifests(
            wanted.spec,
            name=wanted.name,
            namespace=wanted.namespace,
            southbound=wanted.southbound,
            northbound=wanted.northbound,
            tls_secret=wanted.tls_secret,
            api_server=wanted.api_server,
            settings=files,
            archive=build_archive(),
        )
        # A control plane in the same namespace publishes its endpoints itself.
        return [m for m in manifests if not (self.live.foreign_config and m["metadata"]["name"] == CONFIG_NAME)]

    def _objects(self, leaving: t.Mapping[str, str]) -> None:
        done = self._converge(self._manifests(self._settings(leaving)))
        self._resources([one for one in self.chassis if one.ips is not None])
        self._tell_of_script(done)
        settings = next(d for d in done if d.name == SETTINGS)
        if settings.action == "changed" and self.wanted.wait and not self.check_mode:
            hurry(self.cluster, self.wanted, self.chassis, settings)

    def _tell_of_script(self, done: t.Sequence[Done]) -> None:
        """Daemons run under the script that they were started with. A restart costs too much to come with every new collection."""
        scripts = next(d for d in done if d.name == SCRIPTS)
        before, after = (((side or {}).get("data") or {}).get(LAUNCHER) for side in (scripts.before, scripts.after))
        same = any(d.kind == "DaemonSet" and d.action == "unchanged" for d in done)
        if scripts.before is not None and before != after and same:
            self.warnings.append(
                "There is a new launcher script. Pods that run go on under the old one until they are restarted, for example by "
                f"kubectl -n {self.wanted.namespace} rollout restart daemonset/{OVS} daemonset/{CONTROLLER}"
            )

    def _resources(self, chassis: t.Iterable[Chassis]) -> None:
        manifests, without = [], []
        for one in chassis:
            manifest = self._manifest_of(one)
            if manifest is not None:
                manifests.append(manifest)
            elif self._will_tell(one):
                predicted = self._manifest_of(one, expected=True)
                self.done.append(Done(KIND, one.node.name, "", "created", None, predicted))
            else:
                without.append(one.node.name)
        if without and self.registry is None:
            self.warnings.append(
                f"{len(without)} nodes have no OVNChassis, because only they themselves know where their tunnels end, and the Southbound database was not "
                f"asked: {', '.join(without[:_TOLD])}."
            )
        for done in self._converge(manifests):
            if done.after is not None:
                self.resources[done.name] = done.after

    def _manifest_of(self, one: Chassis, *, expected: bool = False) -> Object | None:
        live, wanted = self.live.chassis.get(one.node.name), self.wanted
        return chassis_manifest(
            one, live, self.registry, name=wanted.name, namespace=wanted.namespace, expected=expected
        )

    def _will_tell(self, one: Chassis) -> bool:
        """Whether a real run would wait until it knows the address."""
        return self.check_mode and self.wanted.wait and self.registry is not None and one.node.ready

    def _remove(self, leaving: t.Mapping[str, str]) -> t.Mapping[str, str]:
        """Who has to stay recorded."""
        staying = {one.system_id for one in self.chassis}
        removal = Removal(self.cluster, self.wanted, self.live, leaving, staying)
        try:
            removal.run(self.registry, self.deadline, check_mode=self.check_mode)
        finally:
            self.done += removal.done
            self.removed, self.warnings = removal.removed, [*self.warnings, *removal.warnings]
        if removal.left != removal.leaving:
            self._note(removal.left)
        return removal.left

    # --- what came of it -------------------------------------------------------------------------------------------------

    def _daemon_sets(self) -> dict[str, Object]:
        """As last seen; what was changed since then is not known."""
        touched = {d.name for d in self.done if d.kind == "DaemonSet" and d.action != "unchanged"}
        found = {name: self.live.daemon_set(name) for name in COMPONENTS.values() if name not in touched}
        return {name: daemon_set for name, daemon_set in found.items() if daemon_set is not None}

    def _wait(self) -> None:
        await_pods(self.cluster, self.wanted, self._daemon_sets(), self.chassis, self.deadline)
        if self.registry is not None and any(one.node.ready for one in self.chassis):
            self.registry = await_registered(
                self.cluster, self.wanted, self.chassis, self.deadline, owner=self.live.owner
            )

    def _warn_of_nodes(self) -> None:
        down = [one.node.name for one in self.chassis if not one.node.ready]
        if down:
            more = f" and {len(down) - _TOLD} more" if len(down) > _TOLD else ""
            self.warnings.append(f"Nodes that are not ready were not waited for: {', '.join(down[:_TOLD])}{more}.")

    def _troubles(self) -> dict[str, str] | None:
        """By node; None if there are no pods to look at."""
        daemon_sets = self._daemon_sets()
        if self.wanted.wait and all(one.node.ready for one in self.chassis):
            return {}  # or we would not have come so far
        count = len(self.chassis)
        if len(daemon_sets) == len(COMPONENTS) and all(rolled_out(one, count) for one in daemon_sets.values()):
            return {}
        if not any((d.get("status") or {}).get("observedGeneration") for d in daemon_sets.values()):
            return None
        pods = self.cluster.list("v1", "Pod", self.wanted.namespace, labels=our_pods(self.wanted.name))
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
