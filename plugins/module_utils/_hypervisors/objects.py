# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The objects of a hypervisor cluster as a run applies them: which of them differ, and the desired ones.
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

MOST_LISTED = 10
_KNOWN_LATER = "known when the node registers"  # in the place of an address that check mode cannot know


class HypervisorObjects:
    """`done`, `removed` and `warnings` grow as a run goes on, so that a failure can report what was done before."""

    def __init__(
        self, cluster: Cluster, desired: DesiredHypervisors, observed: ObservedHypervisors, *, check_mode: bool
    ) -> None:
        self.cluster, self.desired, self.observed, self.check_mode = cluster, desired, observed, check_mode
        self.done: list[ObjectChange] = []
        self.removed: list[str] = []
        self.warnings: list[str] = []
        self.default: Settings = {}
        self.chassis: list[Chassis] = []
        self.to_remove: dict[str, str] = {}  # nodes that are no hypervisors any more, with their system ids
        self.registry: Registry | None = None
        self.resources: dict[str, Object] = dict(observed.chassis)
        self.archive = build_archive()

    @property
    def changed(self) -> bool:
        return bool(self.removed) or any(d.action != "unchanged" for d in self.done)

    def _has_differences(self) -> bool:
        """Return whether any object differs from the desired one, or a chassis has to be removed."""
        manifests = [chassis_definition(), *self._manifests(self._settings(self.to_remove))]
        manifests += [manifest for one in self.chassis if (manifest := self._manifest_of(one)) is not None]
        return bool(self.to_remove) or any(
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

    def _apply_foundations(self) -> None:
        """Apply the definition, and a namespace whose pods may use the network and folders of their node."""
        manifests = [chassis_definition()]
        namespace = self.desired.namespace
        if self.observed.settings is None and self.cluster.get("v1", "Namespace", namespace) is None:
            labels = {"pod-security.kubernetes.io/enforce": "privileged"}
            manifests.append(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
            )
        self._converge(manifests)

    def _settings(self, to_remove: t.Mapping[str, str]) -> dict[str, str]:
        """Return the files of the ConfigMap. A removed node stays recorded until everything of it is deleted."""
        addresses = self.observed.addresses()
        for one in self.chassis:
            if one.ips is None:
                ip = address_of(one, self.observed.chassis.get(one.node.name), self.registry)
                add_address(
                    addresses, one.node.name, ip, later=_KNOWN_LATER if self._address_known_later(one) else None
                )
        return settings_files(self.default, self.chassis, to_remove, owner=self.observed.owner, addresses=addresses)

    def _write_settings(self, to_remove: t.Mapping[str, str]) -> None:
        """Write the settings again with what became known since, so that the next run has no change to make."""
        self._converge(
            [settings_manifest(self._settings(to_remove), name=self.desired.name, namespace=self.desired.namespace)]
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

    def _apply_objects(self, to_remove: t.Mapping[str, str]) -> None:
        done = self._converge(self._manifests(self._settings(to_remove)))
        self._apply_resources([one for one in self.chassis if one.ips is not None])
        self._warn_of_new_launcher(done)
        settings = next(d for d in done if d.name == SETTINGS)
        if settings.action == "changed" and self.desired.wait and not self.check_mode:
            trigger_config_sync(self.cluster, self.desired, self.chassis, settings)

    def _warn_of_new_launcher(self, done: t.Sequence[ObjectChange]) -> None:
        """Daemons run under the script that they were started with. A restart is too costly to do it with each new version of the collection."""
        scripts = next(d for d in done if d.name == SCRIPTS)
        before, after = (((side or {}).get("data") or {}).get(LAUNCHER) for side in (scripts.before, scripts.after))
        same = any(d.kind == "DaemonSet" and d.action == "unchanged" for d in done)
        if scripts.before is not None and before != after and same:
            self.warnings.append(
                "There is a new launcher script. Pods that run go on under the old one until they are restarted, for example by "
                f"kubectl -n {self.desired.namespace} rollout restart daemonset/{OVS} daemonset/{CONTROLLER}"
            )

    def _apply_resources(self, chassis: t.Iterable[Chassis]) -> None:
        manifests, without = [], []
        for one in chassis:
            manifest = self._manifest_of(one)
            if manifest is not None:
                manifests.append(manifest)
            elif self._address_known_later(one):
                predicted = self._manifest_of(one, expected=True)
                self.done.append(ObjectChange(KIND, one.node.name, "", "created", None, predicted))
            else:
                without.append(one.node.name)
        if without and self.registry is None:
            self.warnings.append(
                f"{len(without)} nodes have no OVNChassis, because only they themselves know where their tunnels end, and the Southbound database was not "
                f"asked: {', '.join(without[:MOST_LISTED])}."
            )
        for done in self._converge(manifests):
            if done.after is not None:
                self.resources[done.name] = done.after

    def _manifest_of(self, one: Chassis, *, expected: bool = False) -> Object | None:
        observed, desired = self.observed.chassis.get(one.node.name), self.desired
        return chassis_manifest(
            one, observed, self.registry, name=desired.name, namespace=desired.namespace, expected=expected
        )

    def _address_known_later(self, one: Chassis) -> bool:
        """Return whether a run without check mode would wait until it knows the address."""
        return self.check_mode and self.desired.wait and self.registry is not None and one.node.ready
