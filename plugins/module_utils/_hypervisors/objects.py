# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The objects of a hypervisor cluster, as a run declares them: which of them differ, and each as it shall be.
"""

from __future__ import annotations

import typing as t

from .._agent.archive import build_archive
from .._api.chassis_settings import Settings
from .._api.names import CONFIG_NAME, Object
from .._kubernetes.apply import ObjectChange, converge, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied
from .._manifests.hypervisor_pods import LAUNCHER, SCRIPTS, SETTINGS
from .._manifests.hypervisors import CONTROLLER, OVS, hypervisor_manifests, settings_manifest
from .desired import DesiredHypervisors
from .observed_state import ObservedHypervisors, add_address, chassis_definition
from .resources import KIND, address_of, chassis_manifest
from .settings import Chassis, settings_files
from .southbound import Registry
from .trigger_sync import trigger_config_sync

TOLD = 10
_TOLD_LATER = "told by the node when it registers"  # in the place of an address that check mode cannot know


class HypervisorObjects:
    """`done`, `removed` and `warnings` grow as it goes, so that a failure can tell what was done before."""

    def __init__(
        self, cluster: Cluster, desired: DesiredHypervisors, observed: ObservedHypervisors, *, check_mode: bool
    ) -> None:
        self.cluster, self.desired, self.observed, self.check_mode = cluster, desired, observed, check_mode
        self.done: list[ObjectChange] = []
        self.removed: list[str] = []
        self.warnings: list[str] = []
        self.default: Settings = {}
        self.chassis: list[Chassis] = []
        self.leaving: dict[str, str] = {}  # nodes that are no hypervisors any more, with their system ids
        self.registry: Registry | None = None
        self.resources: dict[str, Object] = dict(observed.chassis)
        self.archive = build_archive()

    @property
    def changed(self) -> bool:
        return bool(self.removed) or any(d.action != "unchanged" for d in self.done)

    def _pending(self) -> bool:
        """Whether anything differs from what is declared."""
        manifests = [chassis_definition(), *self._manifests(self._settings(self.leaving))]
        manifests += [manifest for one in self.chassis if (manifest := self._manifest_of(one)) is not None]
        return bool(self.leaving) or any(
            (there := self.observed.index.get(key_of(manifest))) is None or not is_applied(manifest, there)
            for manifest in manifests
        )

    def _converge(self, manifests: list[Object]) -> list[ObjectChange]:
        def on_change(one: ObjectChange) -> None:
            self.done.append(one)
            if one.after is not None and not self.check_mode:
                self.observed.index[key_of(one.after)] = one.after

        force = self.desired.force_conflicts
        return converge(
            self.cluster, manifests, self.observed.index, check_mode=self.check_mode, force=force, on_change=on_change
        )

    def _foundations(self) -> None:
        """The kind, and a namespace whose pods may use the network and folders of their node."""
        manifests = [chassis_definition()]
        namespace = self.desired.namespace
        if self.observed.settings is None and self.cluster.get("v1", "Namespace", namespace) is None:
            labels = {"pod-security.kubernetes.io/enforce": "privileged"}
            manifests.append(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
            )
        self._converge(manifests)

    def _settings(self, leaving: t.Mapping[str, str]) -> dict[str, str]:
        """The files of the ConfigMap. Whoever has gone stays recorded until it is gone everywhere."""
        addresses = self.observed.addresses()
        for one in self.chassis:
            if one.ips is None:
                ip = address_of(one, self.observed.chassis.get(one.node.name), self.registry)
                add_address(addresses, one.node.name, ip, later=_TOLD_LATER if self._will_tell(one) else None)
        return settings_files(self.default, self.chassis, leaving, owner=self.observed.owner, addresses=addresses)

    def _note(self, leaving: t.Mapping[str, str]) -> None:
        """What came to be known since the settings were written, or the next run would have to."""
        self._converge(
            [settings_manifest(self._settings(leaving), name=self.desired.name, namespace=self.desired.namespace)]
        )

    def _manifests(self, files: dict[str, str]) -> list[Object]:
        desired = self.desired
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
        )
        # A control plane in the same namespace publishes its endpoints itself.
        return [m for m in manifests if not (self.observed.foreign_config and m["metadata"]["name"] == CONFIG_NAME)]

    def _objects(self, leaving: t.Mapping[str, str]) -> None:
        done = self._converge(self._manifests(self._settings(leaving)))
        self._resources([one for one in self.chassis if one.ips is not None])
        self._tell_of_script(done)
        settings = next(d for d in done if d.name == SETTINGS)
        if settings.action == "changed" and self.desired.wait and not self.check_mode:
            trigger_config_sync(self.cluster, self.desired, self.chassis, settings)

    def _tell_of_script(self, done: t.Sequence[ObjectChange]) -> None:
        """Daemons run under the script that they were started with. A restart costs too much to come with every new collection."""
        scripts = next(d for d in done if d.name == SCRIPTS)
        before, after = (((side or {}).get("data") or {}).get(LAUNCHER) for side in (scripts.before, scripts.after))
        same = any(d.kind == "DaemonSet" and d.action == "unchanged" for d in done)
        if scripts.before is not None and before != after and same:
            self.warnings.append(
                "There is a new launcher script. Pods that run go on under the old one until they are restarted, for example by "
                f"kubectl -n {self.desired.namespace} rollout restart daemonset/{OVS} daemonset/{CONTROLLER}"
            )

    def _resources(self, chassis: t.Iterable[Chassis]) -> None:
        manifests, without = [], []
        for one in chassis:
            manifest = self._manifest_of(one)
            if manifest is not None:
                manifests.append(manifest)
            elif self._will_tell(one):
                predicted = self._manifest_of(one, expected=True)
                self.done.append(ObjectChange(KIND, one.node.name, "", "created", None, predicted))
            else:
                without.append(one.node.name)
        if without and self.registry is None:
            self.warnings.append(
                f"{len(without)} nodes have no OVNChassis, because only they themselves know where their tunnels end, and the Southbound database was not "
                f"asked: {', '.join(without[:TOLD])}."
            )
        for done in self._converge(manifests):
            if done.after is not None:
                self.resources[done.name] = done.after

    def _manifest_of(self, one: Chassis, *, expected: bool = False) -> Object | None:
        observed, desired = self.observed.chassis.get(one.node.name), self.desired
        return chassis_manifest(
            one, observed, self.registry, name=desired.name, namespace=desired.namespace, expected=expected
        )

    def _will_tell(self, one: Chassis) -> bool:
        """Whether a real run would wait until it knows the address."""
        return self.check_mode and self.desired.wait and self.registry is not None and one.node.ready
