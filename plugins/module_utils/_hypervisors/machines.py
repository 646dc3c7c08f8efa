# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

OVNChassis of machines: without a Node that owns them, with a label that names the machine.
"""

from __future__ import annotations

import re
import typing as t

from .._api.crds import check_revision
from .._api.names import API_VERSION, Object, labels
from .._api.observer_settings import HEARTBEAT_SECONDS
from .._errors import InvalidInput, Refused
from .._kubernetes.apply import ObjectChange, converge, delete, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied
from .._kubernetes.progress import Progress
from .nodes import Node
from .observed_state import CRD, chassis_definition
from .resources import KIND, MACHINE
from .settings import Chassis
from .southbound import Registry
from .status import write_statuses

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")  # of an object, and as the value of a label


class Machine(t.NamedTuple):
    """One machine as declared. `ip` is its first tunnel address; `hostname` is empty where only the machine itself knows it."""

    name: str
    system_id: str
    hostname: str
    types: tuple[str, ...]
    ips: tuple[str, ...]
    bridge_mappings: tuple[t.Mapping[str, t.Any], ...]
    present: bool


def machines_from(given: t.Iterable[t.Mapping[str, t.Any]]) -> list[Machine]:
    """Return the option `chassis`, checked; `InvalidInput` names the machine that cannot have an object."""
    machines = []
    for one in given:
        name, present = one["name"], one["state"] == "present"
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"Machine {name} cannot have an OVNChassis: the name of an object has lower-case letters, digits, dots and hyphens, at most 63 of them. Rename "
                "it in the inventory, or take ovn_hypervisor_kubeconfig from it. Nothing was changed."
            )
        if present and not one["encapsulation_ip"]:
            raise InvalidInput(
                f"Machine {name} has no encapsulation_ip, which its OVNChassis needs. Nothing was changed."
            )
        types, ips, mappings = one["encapsulation_type"], one["encapsulation_ip"], one["bridge_mappings"] or []
        hostname, system_id = one["hostname"] or "", one["system_id"] or name
        machines.append(Machine(name, system_id, hostname, tuple(types), tuple(ips or ()), tuple(mappings), present))
    twice = sorted({one.name for one in machines if sum(other.name == one.name for other in machines) > 1})
    if twice:
        raise InvalidInput(f"chassis names {', '.join(twice)} more than once. Nothing was changed.")
    return machines


def is_of_machine(resource: Object) -> bool:
    return MACHINE in (resource["metadata"].get("labels") or {})


def conflicts(machines: t.Iterable[Machine], resources: t.Mapping[str, Object], name: str) -> list[str]:
    """Return a message for each machine whose OVNChassis is there already, and is that of a Node or of another OVNCluster `name`."""
    problems = []
    for one in machines:
        resource = resources.get(one.name)
        if resource is None:
            continue
        instance = (resource["metadata"].get("labels") or {}).get("app.kubernetes.io/instance", "")
        if not is_of_machine(resource):
            if one.present:
                problems.append(
                    f"OVNChassis {one.name} is not that of a machine, but of a Node or of another client. Rename the machine."
                )
        elif instance != name:
            problems.append(
                f'OVNChassis {one.name} belongs to the machine {one.name} of OVNCluster "{instance}". Rename one of them.'
            )
    return problems


def manifest_of(machine: Machine, hostname: str, name: str) -> Object:
    """Return the OVNChassis, with the specification as that of a node."""
    mappings = [
        {
            "physicalNetwork": one["physical_network"],
            "bridge": one["bridge"],
            **({"ports": list(one["ports"])} if one.get("ports") else {}),
        }
        for one in machine.bridge_mappings
    ]
    spec: Object = {
        "hostname": hostname,
        "systemId": machine.system_id,
        **({"bridgeMappings": mappings} if mappings else {}),
        "encapsulation": {"type": machine.types[0], "ip": machine.ips[0]},
    }
    metadata = {"name": machine.name, "labels": {**labels(name), MACHINE: machine.name}}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def hostname_of(machine: Machine, resource: Object | None, registry: Registry | None) -> str:
    """Return what is declared, else what was recorded or registered: the name in an OVNChassis cannot be changed."""
    recorded = ((resource or {}).get("spec") or {}).get("hostname")
    row = registry.chassis.get(machine.system_id) if registry else None
    return str(machine.hostname or recorded or (row.hostname if row else "") or machine.name)


class MachineResources:
    """One run over the OVNChassis of machines in one cluster. `name` is that of the OVNCluster."""

    def __init__(
        self,
        cluster: Cluster,
        machines: t.Sequence[Machine],
        registry: Registry | None,
        name: str,
        *,
        check_mode: bool,
        force: bool,
    ) -> None:
        self.cluster, self.machines, self.registry, self.name = cluster, machines, registry, name
        self.check_mode, self.force = check_mode, force
        self.progress = Progress()

    def run(self) -> None:
        """Apply and delete what differs, then write each status that differs."""
        definition = chassis_definition()
        wanted = definition["metadata"]["name"]
        listed = self.cluster.list(CRD, "CustomResourceDefinition", fields=f"metadata.name={wanted}")
        there = next((one for one in listed if one["metadata"]["name"] == wanted), None)
        check_revision(there)
        resources = {one["metadata"]["name"]: one for one in self.cluster.list(API_VERSION, KIND)} if there else {}
        problems = conflicts(self.machines, resources, self.name)
        if problems:
            raise Refused(f"{' '.join(problems)} Nothing was changed.", problems=problems)
        present = [one for one in self.machines if one.present]
        if present and (there is None or not is_applied(definition, there)):
            self._converge([definition], {key_of(definition): there} if there else {})
        manifests = [
            manifest_of(one, hostname_of(one, resources.get(one.name), self.registry), self.name) for one in present
        ]
        if self.check_mode and there is None:  # the API server does not know the kind yet
            self.progress.done += [
                ObjectChange(KIND, one["metadata"]["name"], "", "created", None, one) for one in manifests
            ]
            return
        for done in self._converge(manifests, {key_of(one): one for one in resources.values()}):
            if done.after is not None:
                resources[done.name] = done.after
        self._delete(resources)
        if not self.check_mode:
            self._write_statuses(present, resources)

    def _converge(self, manifests: list[Object], observed: t.Mapping[t.Any, Object]) -> list[ObjectChange]:
        return converge(
            *(self.cluster, manifests, observed),
            check_mode=self.check_mode,
            force=self.force,
            on_change=self.progress.done.append,
        )

    def _delete(self, resources: t.Mapping[str, Object]) -> None:
        for one in self.machines:
            resource = resources.get(one.name)
            if one.present or resource is None or not is_of_machine(resource):
                continue
            deleted = delete(self.cluster, resource, check_mode=self.check_mode)
            if deleted is not None:
                self.progress.done.append(deleted)

    def _write_statuses(self, present: t.Iterable[Machine], resources: t.Mapping[str, Object]) -> None:
        if self.registry is None:
            return
        chassis = [
            Chassis(
                Node(one.name, "", {}, {}, one.ips, True),
                one.system_id,
                str(resources[one.name]["spec"]["hostname"]),
                one.types,
                one.ips,
                (),
                {},
            )
            for one in present
        ]
        write_statuses(
            self.cluster, chassis, self.registry, resources, None, HEARTBEAT_SECONDS, has_agents=False, on_machines=True
        )
