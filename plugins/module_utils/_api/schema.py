# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The fields of `OVNCluster.spec` and `OVNChassis.spec`: types, limits, defaults and rules. One description for the API server (which checks what
`kubectl apply` brings) and for us (`validation.py` walks the same).
"""

from __future__ import annotations

from .._chassis.external_ids import DATAPATH_TYPES, ENCAPSULATIONS
from .._database.settings import TIMER_MAXIMUM, TIMER_MINIMUM
from .._kubernetes.quantity import PATTERN
from .fields import (
    DEVICE,
    HYPERVISOR,
    NETWORK,
    NETWORKS,
    POD_NETWORKS,
    PRIORITY_CLASS,
    SERVICE_NAME,
    Schema,
    bridge_mappings,
    image,
    listing,
    mapping,
    node_selector,
    number,
    record,
    resources,
    rule,
    text,
    tolerations,
)
from .names import MOST_MEMBERS
from .rules import (
    DIFFERENT_PORTS,
    INTERFACE_OR_CIDR,
    NO_SHRINK,
    ODD,
    ONE_PORT_EACH,
    PORTS_NEED_TYPE,
    SAME_TLS,
    TWO_SERVICES,
    UNDERLAY_NEEDS_NETDEV,
)


def _database(title: str) -> Schema:
    return record(
        f"The {title} database.",
        {
            "replicas": {
                "type": "integer",
                "description": "Members of the Raft cluster: 1, 3 or 5. Members are added one by one; a smaller number is refused by the run.",
                "default": 3,
                "minimum": 1,
                "maximum": MOST_MEMBERS,
                "x-kubernetes-validations": [rule("self in [1, 3, 5]", ODD)],
            },
            "storage": record(
                "One volume for each member. Volumes stay when members or the OVNCluster go.",
                {
                    "size": text(
                        "Size of each volume, for example 10Gi.",
                        default="10Gi",
                        pattern=PATTERN,
                        maxLength=32,
                        **{
                            "x-kubernetes-validations": [
                                rule("quantity(self).compareTo(quantity(oldSelf)) >= 0", NO_SHRINK)
                            ]
                        },
                    ),
                    "storageClass": text(
                        "Name of the storage class; the cluster's default if not given. Volumes that exist keep theirs: a run refuses to move them.",
                        minLength=1,
                        maxLength=253,
                    ),
                },
                given=True,
            ),
            "resources": resources("a member"),
            "electionTimer": number(
                "Time without a sign of the leader after which a member starts an election, in milliseconds.",
                TIMER_MINIMUM,
                TIMER_MAXIMUM,
                default=5000,
            ),
            "inactivityProbe": number(
                "Time without a sign of a client before it is probed, in milliseconds; 0 for never.",
                0,
                2**31 - 1,
                default=30000,
            ),
            "service": record(
                "How clients outside this Kubernetes cluster reach the members: each has a Service of its own.",
                {
                    "type": text(
                        "ClusterIP for not at all.", enum=["ClusterIP", "NodePort", "LoadBalancer"], default="ClusterIP"
                    ),
                    "annotations": mapping("Annotations of the members' Services, for example for a load balancer."),
                    "nodePorts": listing(
                        "Node port of each member; chosen by Kubernetes if not given.",
                        {"type": "integer", "minimum": 1, "maximum": 65535},
                        MOST_MEMBERS,
                        **{"x-kubernetes-list-type": "atomic"},
                    ),
                },
                rule(
                    "self.type != 'ClusterIP' || !has(self.nodePorts) || size(self.nodePorts) == 0",
                    PORTS_NEED_TYPE,
                    ".nodePorts",
                ),
                rule(
                    "!has(self.nodePorts) || self.nodePorts.all(p, self.nodePorts.exists_one(q, p == q))",
                    DIFFERENT_PORTS,
                    ".nodePorts",
                ),
                given=True,
            ),
            "nodeSelector": node_selector("may run members"),
            "tolerations": tolerations("the members"),
        },
        rule(
            "!has(self.service.nodePorts) || size(self.service.nodePorts) == 0 || size(self.service.nodePorts) == self.replicas",
            ONE_PORT_EACH,
            ".service.nodePorts",
        ),
        given=True,
    )


def _connection(title: str, name: str, port: int) -> Schema:
    service = record(
        "Service in front of all members.",
        {
            "name": text("Name of the Service.", default=name, pattern=SERVICE_NAME, maxLength=63),
            "port": number("Port of the Service.", 1, 65535, default=port),
        },
        given=True,
    )
    return record(f"How Neutron reaches the {title} database.", {"service": service}, given=True)


def _daemons(of: str, *rules: Schema, **properties: Schema) -> Schema:
    return record(
        f"{of} on the hypervisors.",
        {
            "nodeSelector": node_selector("are hypervisors", default={HYPERVISOR: ""}),
            "resources": resources(of),
            "tolerations": tolerations("the pods"),
            **properties,
        },
        *rules,
        given=True,
    )


CLUSTER_SPEC = record(
    "What the control plane and its hypervisors shall be.",
    {
        "ovnImage": image("the databases, northd and ovn-controller", "ghcr.io/c5c3/ovn", "24.03.4"),
        "ovsImage": image("Open vSwitch", "ghcr.io/c5c3/ovs", "3.4.1"),
        "northbound": _database("Northbound"),
        "southbound": _database("Southbound"),
        "northd": record(
            "northd, which turns the Northbound into the Southbound database. One is active, the others stand by.",
            {
                "replicas": number("Number of pods.", 1, 9, default=3),
                "threads": number("Threads of each northd.", 1, 256, default=1),
                "resources": resources("northd"),
            },
            given=True,
        ),
        "priorityClassName": text(
            "Priority class of the databases, northd and the observer; an empty text for none, where a quota keeps pods from it.",
            default="system-cluster-critical",
            pattern=PRIORITY_CLASS,
            maxLength=253,
        ),
        "controller": _daemons("ovn-controller"),
        "ovs": _daemons(
            "Open vSwitch",
            rule("!has(self.underlay) || self.datapathType == 'netdev'", UNDERLAY_NEEDS_NETDEV),
            datapathType=text(
                "Datapath in the kernel (system) or in user space (netdev).",
                enum=list(DATAPATH_TYPES),
                default="system",
            ),
            underlay=record(
                "Bridge that takes over the network device of the tunnels and its addresses. For the datapath netdev alone, which needs one.",
                {
                    "bridge": text("Name of the bridge.", pattern=DEVICE, maxLength=15),
                    "interface": text("Name of the network device.", pattern=DEVICE, maxLength=15),
                },
                required=["bridge", "interface"],
            ),
        ),
        "encapsulation": record(
            "Tunnels between the hypervisors. Without interface and cidr they end at the internal address of each node.",
            {
                "type": text("Protocol of the tunnels.", enum=list(ENCAPSULATIONS), default="geneve"),
                "interface": text(
                    "The tunnels end at the address of this network device.", pattern=DEVICE, maxLength=15
                ),
                "cidr": text("The tunnels end at the node's address in this network.", pattern=NETWORK, maxLength=49),
            },
            rule("!(has(self.interface) && has(self.cidr))", INTERFACE_OR_CIDR),
            given=True,
        ),
        "bridgeMappings": bridge_mappings("Physical networks that every hypervisor reaches."),
        "gateway": record(
            "Hypervisors that take traffic to and from physical networks for all.",
            {"nodeSelector": node_selector("are gateways; without any label no node is")},
        ),
        "neutronIntegration": record(
            "Services that Neutron and other clients in the same Kubernetes cluster use.",
            {
                "nbConnection": _connection("Northbound", "ovn-nb", 6641),
                "sbConnection": _connection("Southbound", "ovn-sb", 6642),
            },
            rule("self.nbConnection.service.name != self.sbConnection.service.name", TWO_SERVICES),
            given=True,
        ),
        "tls": record(
            "Encryption of all connections.",
            {
                "enabled": {
                    "type": "boolean",
                    "description": "Whether all connections use TLS.",
                    "default": True,
                    "x-kubernetes-validations": [rule("self == oldSelf", SAME_TLS)],
                },
                "certSecretRef": record(
                    "Secret with tls.crt, tls.key and ca.crt, as cert-manager writes it.",
                    {
                        "name": text(
                            "Name of the Secret; NAME-tls for the OVNCluster NAME if not given.",
                            minLength=1,
                            maxLength=253,
                        )
                    },
                ),
            },
            given=True,
        ),
        "network": record(
            "Addresses that are published in the ConfigMap ovn-config for other components.",
            {
                "netCidr": text(
                    "Networks of pods or instances, with the length per host behind another slash.",
                    pattern=POD_NETWORKS,
                    maxLength=256,
                ),
                "svcCidr": text("Networks of services.", pattern=NETWORKS, maxLength=256),
            },
        ),
    },
    rule(
        "!has(self.northbound.service.nodePorts) || !has(self.southbound.service.nodePorts) || "
        "self.northbound.service.nodePorts.all(p, !(p in self.southbound.service.nodePorts))",
        DIFFERENT_PORTS,
        ".southbound.service.nodePorts",
    ),
    given=True,
)

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
                        "the system id of a chassis cannot be changed: ovn-controller does not survive it",
                    )
                ]
            },
        ),
        "bridgeMappings": bridge_mappings("Physical networks that this hypervisor reaches."),
        "encapsulation": record(
            "Where the tunnels of this hypervisor end.",
            {
                "type": text("Protocol of the tunnels.", enum=list(ENCAPSULATIONS), default="geneve"),
                "ip": text("Address of the node.", pattern=r"^[0-9A-Fa-f:.]+$", maxLength=45),
            },
            required=["ip"],
        ),
    },
    required=["hostname", "systemId", "encapsulation"],
)
