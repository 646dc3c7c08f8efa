# SPDX-License-Identifier: GPL-3.0-or-later
"""What `OVNCluster.spec` says of the hypervisors, and the fields of `OVNChassis.spec`."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._chassis.external_ids import DATAPATH_TYPES, ENCAPSULATIONS
from . import pod_fields
from .declaration import (
    DEVICE,
    HYPERVISOR,
    NETWORK,
    PHYSICAL_NETWORK,
    Metadata,
    Schema,
    declare,
    list_reader,
    listing,
    optional_part,
    part,
    record,
    rule,
    schema_of,
    text,
)
from .pod_fields import Resources, StringMap

SWITCH_MODES = ("managed", "host")


@dataclass(frozen=True)
class DaemonSetPods:
    node_selector: StringMap = field(metadata=pod_fields.node_selector("are hypervisors", default={HYPERVISOR: ""}))
    resources: Resources
    # As other agents of a node: nodes are chosen by their label, and an evicted one would cut off its guests.
    tolerations: tuple[StringMap, ...] = field(
        metadata=pod_fields.tolerations("the pods", default=[{"operator": "Exists"}])
    )
    priority_class_name: str = field(metadata=pod_fields.priority_class("the pods", "system-node-critical"))
    # One node at a time: a version that does not work stops the update at the first one.
    max_unavailable: str = field(
        metadata=declare(
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "pattern": r"^([1-9][0-9]{0,4}|[1-9][0-9]?%|100%)$",
                "description": "How many nodes an update restarts at a time, as a number or as a percentage of them.",
                "default": "1",
            }
        )
    )


@dataclass(frozen=True)
class ControllerResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("50m", "64Mi"))


@dataclass(frozen=True)
class OpenVSwitchResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("50m", "64Mi"))


@dataclass(frozen=True)
class Controller(DaemonSetPods):
    """A field with the name of an option of ovn_chassis becomes a setting of all nodes."""

    resources: ControllerResources = field(metadata=pod_fields.resources(ControllerResources, "ovn-controller"))
    service_account_name: str | None = field(
        metadata=pod_fields.service_account(
            "the pods of ovn-controller",
            "ovn-controller",
            "Whatever admits these privileged pods has to let it in. ClusterRoles of ours are bound to it: the agent writes the status of its OVNChassis, "
            "and asks for the certificate of its node.",
        )
    )


@dataclass(frozen=True)
class Underlay:
    bridge: str = field(metadata=declare(text("Name of the bridge.", pattern=DEVICE, maxLength=15), required=True))
    interface: str = field(
        metadata=declare(text("Name of the network device.", pattern=DEVICE, maxLength=15), required=True)
    )


@dataclass(frozen=True)
class OvsdbServer:
    """The container beside ovs-vswitchd. It has fields of its own, so that nothing written for one of the two counts for both."""

    resources: OpenVSwitchResources = field(metadata=pod_fields.resources(OpenVSwitchResources, "ovsdb-server"))


@dataclass(frozen=True)
class OpenVSwitch(DaemonSetPods):
    """A field with the name of an option of ovn_chassis becomes a setting of all nodes."""

    resources: OpenVSwitchResources = field(
        metadata=pod_fields.resources(
            OpenVSwitchResources, "ovs-vswitchd", "Those of ovsdb-server beside it are in ovsdbServer."
        )
    )
    ovsdb_server: OvsdbServer = field(
        metadata=part(OvsdbServer, "The database of Open vSwitch on each node, in the pod of ovs-vswitchd.", given=True)
    )
    service_account_name: str | None = field(
        metadata=pod_fields.service_account(
            "the pods of Open vSwitch",
            "ovs",
            "It needs no rights at the API server, but whatever admits these privileged pods has to let it in.",
        )
    )
    datapath_type: t.Literal["system", "netdev"] = field(
        metadata=declare(
            text(
                "Datapath in the kernel (system) or in user space (netdev).",
                enum=list(DATAPATH_TYPES),
                default="system",
            )
        )
    )
    mode: t.Literal["managed", "host"] = field(
        metadata=declare(
            text(
                "Whose Open vSwitch the nodes use: one in pods of ours (managed), which does not start on a node that has another one, or the one that "
                "runs on the node with its sockets in /run/openvswitch, for example that of a network plugin (host). Of that one only keys of ours in "
                "external_ids change, and nothing restarts.",
                enum=list(SWITCH_MODES),
                default="managed",
            )
        )
    )
    underlay: Underlay | None = field(
        metadata=optional_part(
            Underlay,
            "Bridge that takes over the network device of the tunnels and its addresses. For the datapath netdev alone, which needs one.",
        )
    )


def _encapsulation_type() -> Schema:
    return text("Protocol of the tunnels.", enum=list(ENCAPSULATIONS), default="geneve")


@dataclass(frozen=True)
class Encapsulation:
    """Neither `interface` nor `cidr`: the internal address of each node."""

    type: t.Literal["geneve", "vxlan"] = field(metadata=declare(_encapsulation_type()))
    interface: str | None = field(
        metadata=declare(text("The tunnels end at the address of this network device.", pattern=DEVICE, maxLength=15))
    )
    cidr: str | None = field(
        metadata=declare(text("The tunnels end at the node's address in this network.", pattern=NETWORK, maxLength=49))
    )


@dataclass(frozen=True)
class BridgeMapping:
    physical_network: str = field(
        metadata=declare(
            text("Name of the network, as in Neutron.", pattern=PHYSICAL_NETWORK, maxLength=255), required=True
        )
    )
    bridge: str = field(
        metadata=declare(
            text("Bridge of Open vSwitch; created if it does not exist.", pattern=DEVICE, maxLength=15), required=True
        )
    )
    ports: tuple[str, ...] = field(
        metadata=declare(
            listing(
                "Network devices of the node that become ports of the bridge.",
                {"type": "string", "pattern": DEVICE, "maxLength": 15},
                **{"x-kubernetes-list-type": "set"},
            )
        )
    )


def bridge_mappings(description: str) -> Metadata:
    return declare(_bridge_mappings(description), list_reader(BridgeMapping))


def _bridge_mappings(description: str) -> Schema:
    return listing(
        description,
        schema_of(BridgeMapping, "One physical network."),
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["physicalNetwork"]},
    )


@dataclass(frozen=True)
class Gateway:
    """An empty selector: no gateways."""

    node_selector: StringMap = field(metadata=pod_fields.node_selector("are gateways; without any label no node is"))


CHASSIS_SPEC = record(
    "One chassis: what its Node, the OVNCluster and this resource make of it.",
    {
        "hostname": text(
            "Name of the host.",
            minLength=1,
            maxLength=253,
            **{"x-kubernetes-validations": [rule("self == oldSelf", "the host name of a chassis cannot be changed")]},
        ),
        "systemId": text(
            "Name of the chassis in the Southbound database.",
            pattern=r"^[^\s,@]+$",
            maxLength=253,
            **{
                "x-kubernetes-validations": [
                    rule(
                        "self == oldSelf",
                        "the system id of a chassis cannot be changed: ovn-controller would lose its chassis row",
                    )
                ]
            },
        ),
        "bridgeMappings": _bridge_mappings("Physical networks that this hypervisor reaches."),
        "encapsulation": record(
            "Where the tunnels of this hypervisor end.",
            {
                "type": _encapsulation_type(),
                "ip": text("Address of the node.", pattern=r"^[0-9A-Fa-f:.]+$", maxLength=45),
            },
            required=["ip"],
        ),
    },
    required=["hostname", "systemId", "encapsulation"],
)
