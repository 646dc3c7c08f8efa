# SPDX-License-Identifier: GPL-3.0-or-later
"""OVNChassis: one for each hypervisor, owned by its Node; fields that other clients set there are settings of the chassis. Pure."""

from __future__ import annotations

import datetime
import typing as t

from .._agent.heartbeat_sender import grace
from .._api.chassis_settings import Settings
from .._api.chassis_status import ChassisFacts
from .._api.names import API_VERSION, MACHINE, MANAGER, NAMESPACE, Object, chassis_labels
from .settings import Chassis
from .southbound import Registry

KIND = "OVNChassis"
_ANSWER = 2.0  # seconds from a heartbeat to the answer of most chassis, at most
MANAGED_BY, INSTANCE = "app.kubernetes.io/managed-by", "app.kubernetes.io/instance"


def is_ours(resource: Object, name: str, namespace: str) -> bool:
    """Return whether a run for the nodes of this OVNCluster made it. Other labels may change from one version of the collection to the next."""
    found = resource["metadata"].get("labels") or {}
    owner = found.get(MANAGED_BY), found.get(INSTANCE), found.get(NAMESPACE)
    return MACHINE not in found and owner == (MANAGER, name, namespace)


def nodes_of_others(resources: t.Mapping[str, Object], nodes: t.Iterable[str], name: str, namespace: str) -> list[str]:
    """Return a message for each node that is a hypervisor of another namespace: two Open vSwitch would use one datapath."""
    problems = []
    for node in nodes:
        found = (resources.get(node) or {"metadata": {}})["metadata"].get("labels") or {}
        if MACHINE in found:
            problems.append(
                f"Node {node} has the name of machine {found[MACHINE]}, whose OVNChassis is in this cluster. Rename the machine in its inventory, or run it "
                "with ovn_hypervisor_state=absent first."
            )
            continue
        other = found.get(NAMESPACE, namespace), found.get(INSTANCE, name)
        if found.get(MANAGED_BY) == MANAGER and other != (namespace, name):
            problems.append(
                f"Node {node} is a hypervisor of OVNCluster {other[1]} in namespace {other[0]} already. Choose other nodes with "
                "spec.controller.nodeSelector and spec.ovs.nodeSelector, or run with state=absent (ovn_hypervisor_state) for that one first."
            )
    return problems


def foreign_fields(resource: Object) -> set[str]:
    """Return the fields of the specification that another field manager has set."""
    fields: set[str] = set()
    for entry in resource["metadata"].get("managedFields") or []:
        if entry.get("manager") == MANAGER or entry.get("subresource"):
            continue
        spec = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        fields |= {key[2:] for key in spec if key.startswith("f:")}
    return fields


def declared_settings(resource: Object) -> Settings:
    """Return what other clients have set in an OVNChassis, as options of ovn_chassis."""
    fields, spec = foreign_fields(resource), resource.get("spec") or {}
    settings: Settings = {}
    for field, option in (("systemId", "system_id"), ("hostname", "hostname")):
        if field in fields and spec.get(field):
            settings[option] = spec[field]
    if "bridgeMappings" in fields:
        settings["bridge_mappings"] = [
            {
                "physical_network": mapping["physicalNetwork"],
                "bridge": mapping["bridge"],
                **({"ports": list(mapping["ports"])} if mapping.get("ports") else {}),
            }
            for mapping in spec.get("bridgeMappings") or []
        ]
    place = spec.get("encapsulation") or {}
    if "encapsulation" in fields and place.get("ip"):
        settings["encapsulation"] = {"type": [place.get("type") or "geneve"], "ip": [place["ip"]]}
    return settings


def chassis_manifest(
    chassis: Chassis,
    observed: Object | None,
    registry: Registry | None,
    *,
    name: str,
    namespace: str,
    expected: bool = False,
) -> Object | None:
    """Return the OVNChassis of one hypervisor; None while its tunnel address is not known. `expected`: return it then, too, without the address."""
    ip = address_of(chassis, observed, registry)
    if ip is None and not expected:
        return None
    spec = chassis_spec(chassis.hostname, chassis.system_id, chassis.bridge_mappings, chassis.types[0], ip)
    foreign = foreign_fields(observed) if observed else set()
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": chassis.node.name,
            "labels": chassis_labels(name, namespace),
            # Goes with the Node. A Node has no namespace, so neither has its dependent.
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": chassis.node.name, "uid": chassis.node.uid}
            ],
        },
        "spec": {key: value for key, value in spec.items() if key not in foreign},
    }


def address_of(chassis: Chassis, observed: Object | None, registry: Registry | None) -> str | None:
    """Return its tunnel address, as far as it is known; `observed` is its OVNChassis."""
    if chassis.ips:
        return chassis.ips[0]
    found = ((observed or {}).get("spec") or {}).get("encapsulation") or {}
    registered = registry.registered_address(chassis) if registry else None
    return registered or t.cast("str | None", found.get("ip"))


def chassis_spec(
    hostname: str,
    system_id: str,
    bridge_mappings: t.Iterable[t.Mapping[str, t.Any]],
    encapsulation: str,
    ip: str | None,
) -> Object:
    """Return the specification of an OVNChassis, of a node or a machine, without what is empty."""
    mappings = [_mapping(mapping) for mapping in bridge_mappings]
    return {
        "hostname": hostname,
        "systemId": system_id,
        **({"bridgeMappings": mappings} if mappings else {}),
        "encapsulation": {"type": encapsulation, **({"ip": ip} if ip else {})},
    }


def _mapping(mapping: t.Mapping[str, t.Any]) -> Object:
    ports = {"ports": list(mapping["ports"])} if mapping.get("ports") else {}
    return {"physicalNetwork": mapping["physical_network"], "bridge": mapping["bridge"], **ports}


def chassis_facts(
    chassis: Chassis,
    registry: Registry | None,
    problems: t.Mapping[str, str] | None,
    *,
    now: datetime.datetime,
    interval: float,
    has_agent: bool,
    on_machine: bool = False,
) -> ChassisFacts:
    """Return the facts of one chassis. `problems`: by node, what is wrong with its pods; None if they were not read.

    `interval`: seconds between two heartbeats. `has_agent`: its agent writes the status between runs.

    A chassis that answered the heartbeat before is alive while there is still time to answer the last one, which was sent before others answered it. An
    answer later than `now` says nothing: it is by the clock of the chassis, which is ahead.
    """
    pods = None if problems is None else problems.get(chassis.node.name, "")
    if registry is None:
        return ChassisFacts(None, None, None, pods, has_agent=has_agent, on_machine=on_machine)
    beat = registry.heartbeat(chassis.system_id)
    sent = registry.last_answered
    has_time = sent is None or (now - sent).total_seconds() + _ANSWER <= grace(interval)
    is_recent = beat is not None and 0 <= (now - beat).total_seconds() <= interval + grace(interval)
    alive = registry.is_alive(chassis.system_id) or (is_recent and has_time)
    registered = registry.registration_problem(chassis) is None
    return ChassisFacts(registered, alive, beat, pods, has_agent=has_agent, on_machine=on_machine)
