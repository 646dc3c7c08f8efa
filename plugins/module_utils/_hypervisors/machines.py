# SPDX-License-Identifier: GPL-3.0-or-later
"""OVNChassis of machines: without a Node that owns them, with a label that names the machine."""

from __future__ import annotations

import re
import typing as t

from .._api.crds import check_revision
from .._api.names import API_VERSION, MACHINE, NAMESPACE, Object, chassis_labels
from .._api.observer_settings import HEARTBEAT_SECONDS
from .._base.errors import InvalidInput, Refused
from .._base.ip_addresses import canonical_host
from .._kubernetes.apply import ObjectChange, converge, delete, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied
from .._kubernetes.wait_tracker import Progress
from .nodes import Node
from .observed_state import CRD, chassis_definition, write_statuses
from .resources import KIND, chassis_spec
from .settings import Chassis
from .southbound import Registry

# Which machines can have an OVNChassis with their name. Pure, and without libraries of Kubernetes: the inventory is checked with it, too.

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST = 63  # as the value of a label


def name_problem(name: str) -> str:
    """Return why a machine of this name cannot have an OVNChassis, empty if it can."""
    if _NAME.fullmatch(name) and len(name) <= _LONGEST:
        return ""
    return (
        f"Machine {name} cannot have an OVNChassis: the name of an object has lower-case letters, digits, hyphens and single dots, begins and ends with a "
        f"letter or digit, and has at most {_LONGEST} characters. Rename it in the inventory, or remove ovn_hypervisor_resource "
        "from it."
    )


class Machine(t.NamedTuple):
    """One machine as declared. `hostname` is empty where only the machine itself knows it."""

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
        if present and (problem := name_problem(name)):
            raise InvalidInput(f"{problem} No OVNChassis was changed.")
        if present and not one["encapsulation_ip"]:
            raise InvalidInput(
                f"Machine {name} has no encapsulation_ip, which its OVNChassis needs. No OVNChassis was changed."
            )
        types, mappings = one["encapsulation_type"], one["bridge_mappings"] or []
        ips = tuple(canonical_host(ip) for ip in one["encapsulation_ip"] or ())
        hostname, system_id = one["hostname"] or "", one["system_id"] or name
        machines.append(Machine(name, system_id, hostname, tuple(types), ips, tuple(mappings), present))
    twice = sorted({one.name for one in machines if sum(other.name == one.name for other in machines) > 1})
    if twice:
        raise InvalidInput(f"chassis names {', '.join(twice)} more than once. No OVNChassis was changed.")
    return machines


def is_of_machine(resource: Object) -> bool:
    return MACHINE in (resource["metadata"].get("labels") or {})


def conflicts(
    machines: t.Iterable[Machine],
    resources: t.Mapping[str, Object],
    registry: Registry | None,
    name: str,
    namespace: str,
) -> list[str]:
    """Return a message for each machine whose OVNChassis is there already, and is another's, or has a name that cannot be changed.

    Another's is that of a Node, of another OVNCluster (`name`, `namespace`), or of another chassis with the same name in another inventory.
    """
    found = (
        _conflict(one, resources[one.name], registry, (name, namespace)) for one in machines if one.name in resources
    )
    return [problem for problem in found if problem]


def _conflict(one: Machine, resource: Object, registry: Registry | None, cluster: tuple[str, str]) -> str:
    """Return why this OVNChassis cannot be that of the machine, empty if it can; `cluster`: name and namespace of the OVNCluster."""
    if not is_of_machine(resource):
        problem = (
            f"OVNChassis {one.name} is not that of a machine, but of a Node or of another client. Rename the machine."
        )
        return problem if one.present else ""
    found, spec = resource["metadata"].get("labels") or {}, resource.get("spec") or {}
    instance, place = found.get("app.kubernetes.io/instance", ""), found.get(NAMESPACE, "")
    if (instance, place) != cluster:
        name, namespace = cluster
        return (
            f'OVNChassis {one.name} belongs to the machine {one.name} of OVNCluster "{instance}" in namespace "{place}", not of {namespace}/{name}. Rename '
            "one of the machines."
        )
    if spec.get("systemId") != one.system_id:
        return (
            f'OVNChassis {one.name} is that of the chassis "{spec.get("systemId")}", and the machine {one.name} is "{one.system_id}". If it is another '
            "machine, rename one of them. If its system id has changed, run with the former one (ovn_system_id) and ovn_hypervisor_state=absent, then "
            "with the new one and present."
        )
    if one.present and spec.get("hostname") != (hostname := hostname_of(one, resource, registry)):
        return (
            f'OVNChassis {one.name} has the host name "{spec.get("hostname")}", and the machine {one.name} has "{hostname}": the name in an OVNChassis '
            "cannot be changed. Run with ovn_hypervisor_state=absent for the machine, then with present."
        )
    return ""


def manifest_of(machine: Machine, hostname: str, name: str, namespace: str) -> Object:
    """Return the OVNChassis, with the specification as that of a node."""
    spec = chassis_spec(hostname, machine.system_id, machine.bridge_mappings, machine.types[0], machine.ips[0])
    metadata = {"name": machine.name, "labels": {**chassis_labels(name, namespace), MACHINE: machine.name}}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def hostname_of(machine: Machine, resource: Object | None, registry: Registry | None) -> str:
    """Return what the machine itself says, else what is registered or recorded; empty if nobody knows."""
    recorded = ((resource or {}).get("spec") or {}).get("hostname")
    row = registry.chassis.get(machine.system_id) if registry else None
    return str(machine.hostname or (row.hostname if row else "") or recorded or "")


class MachineResources:
    """One run over the OVNChassis of machines in one cluster. `name` and `namespace` are those of the OVNCluster.

    `unreachable` says why there is no `registry`; `heartbeat_interval` is in seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        machines: t.Sequence[Machine],
        registry: Registry | None,
        name: str,
        namespace: str,
        *,
        check_mode: bool,
        force: bool,
        unreachable: str = "",
        heartbeat_interval: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.cluster, self.machines, self.registry, self.name, self.namespace = (
            cluster,
            machines,
            registry,
            name,
            namespace,
        )
        self.check_mode, self.force = check_mode, force
        self.unreachable, self.heartbeat_interval = unreachable, heartbeat_interval
        self.progress = Progress()

    def run(self) -> None:
        """Apply and delete what differs, then write each status that differs."""
        definition = chassis_definition()
        kind = definition["metadata"]["name"]
        listed = self.cluster.list(CRD, "CustomResourceDefinition", fields=f"metadata.name={kind}")
        observed = next((one for one in listed if one["metadata"]["name"] == kind), None)
        check_revision(observed)
        resources = {one["metadata"]["name"]: one for one in self.cluster.list(API_VERSION, KIND)} if observed else {}
        problems = conflicts(self.machines, resources, self.registry, self.name, self.namespace)
        if problems:
            raise Refused(f"{' '.join(problems)} No OVNChassis was changed.", problems=problems)
        present = [one for one in self.machines if one.present]
        manifests = [
            manifest_of(one, self._hostname(one, resources.get(one.name)), self.name, self.namespace) for one in present
        ]
        if present and (observed is None or not is_applied(definition, observed)):
            self._converge([definition], {key_of(definition): observed} if observed else {})
        if self.check_mode and observed is None:  # the API server does not know the kind yet
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

    def _hostname(self, machine: Machine, resource: Object | None) -> str:
        """Return its host name. A wrong one could not be corrected. Check mode may come before the machine can say it, and predicts the object alone."""
        found = hostname_of(machine, resource, self.registry)
        if not found and not self.check_mode:
            raise Refused(
                f"The host name of machine {machine.name} is not known: the call does not give it (hostname, ovn_hypervisor_hostname), and the Southbound "
                "database does not have it. Give it, or run again when the machine is registered. No OVNChassis was changed."
            )
        return found or machine.name

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
            *(self.cluster, chassis, self.registry, resources, None, self.heartbeat_interval),
            has_agents=False,
            on_machines=True,
            unreachable=self.unreachable,
        )
