# SPDX-License-Identifier: GPL-3.0-or-later
"""`OVNCluster.spec`: each field with its schema (types, limits, default), which the API server checks as we do, and under the name that our code reads."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.databases import DATABASES, PORTS, TITLES, Database
from . import pod_fields
from .daemon_specs import LeaderProxy, NorthdSpec, ObserverSpec, RelaySpec, leader_proxy
from .database_spec import DatabaseSpec, database_part
from .declaration import (
    NAME,
    NETWORK,
    NETWORKS,
    POD_NETWORKS,
    SERVICE_NAME,
    Metadata,
    declare,
    listing,
    number,
    optional_part,
    part,
    read,
    rule,
    schema_of,
    text,
)
from .hypervisor_clusters import HypervisorCluster, hypervisor_clusters
from .hypervisor_spec import BridgeMapping, Controller, Encapsulation, Gateway, OpenVSwitch, bridge_mappings
from .metadata_agent_spec import MetadataAgent, metadata_agent
from .names import CLIENT_CA_KEY, CLIENT_SERVICES, MOST_MEMBERS
from .observer_settings import HEARTBEAT_SECONDS
from .pod_fields import Image
from .rules import (
    AGENT_ON_HYPERVISORS,
    CIDRS_NEED_LOCAL,
    DIFFERENT_PORTS,
    INTERFACE_OR_CIDR,
    NETWORKS_OF_BOTH,
    ONE_CLIENT_BUNDLE,
    ONE_PORT_EACH,
    OPERATOR_BUNDLES,
    PLAINTEXT,
    PORTS_NEED_NETWORKS,
    PROXY_NEEDS_CLIENTS,
    TWO_FAMILIES,
    TWO_SERVICES,
    UNDERLAY_NEEDS_NETDEV,
    UNDERLAY_NEEDS_OURS,
    check_rules,
)
from .schema_validator import complete
from .tls_spec import Tls


@dataclass(frozen=True)
class OvnImage(Image):
    repository: str = field(metadata=pod_fields.repository("ghcr.io/c5c3/ovn"))
    tag: str = field(metadata=pod_fields.tag("24.03.4"))


@dataclass(frozen=True)
class OvsImage(Image):
    repository: str = field(metadata=pod_fields.repository("ghcr.io/c5c3/ovs"))
    tag: str = field(metadata=pod_fields.tag("3.4.1"))


@dataclass(frozen=True)
class AgentImage(Image):
    """Any image with Python."""

    repository: str = field(metadata=declare(text("Registry and name.", minLength=1, maxLength=255), required=True))
    tag: str = field(metadata=pod_fields.tag("latest"))


@dataclass(frozen=True)
class ClientService:
    name: str
    port: int


def _service_name(default: str) -> Metadata:
    return declare(text("Name of the Service.", default=default, pattern=SERVICE_NAME, maxLength=63))


def _service_port(database: Database) -> Metadata:
    return declare(number("Port of the Service.", 1, 65535, default=PORTS[database].client))


@dataclass(frozen=True)
class NorthboundService(ClientService):
    name: str = field(metadata=_service_name(CLIENT_SERVICES["northbound"]))
    port: int = field(metadata=_service_port("northbound"))


@dataclass(frozen=True)
class SouthboundService(ClientService):
    name: str = field(metadata=_service_name(CLIENT_SERVICES["southbound"]))
    port: int = field(metadata=_service_port("southbound"))


_SERVICE = "Service in front of all members."


@dataclass(frozen=True)
class NorthboundConnection:
    service: NorthboundService = field(metadata=part(NorthboundService, _SERVICE, given=True))


@dataclass(frozen=True)
class SouthboundConnection:
    service: SouthboundService = field(
        metadata=part(SouthboundService, f"{_SERVICE} It leads to their port without a role (16642).", given=True)
    )
    allowed_cidrs: tuple[str, ...] = field(
        metadata=declare(
            listing(
                "Networks whose clients may connect to the port without a role (16642), beside the pods of the control plane; none if not given. Name that of "
                "Neutron. If members are exposed, this port is then exposed, too.",
                {"type": "string", "pattern": NETWORK, "maxLength": 49},
                **{"x-kubernetes-list-type": "set"},
            )
        )
    )
    allowed_namespaces: tuple[str, ...] = field(
        metadata=declare(
            listing(
                "Namespaces of this Kubernetes cluster whose pods may connect to that port, too, and to the Northbound where northbound.service.allowedCidrs "
                "names networks.",
                {"type": "string", "pattern": NAME, "maxLength": 63},
                **{"x-kubernetes-list-type": "set"},
            )
        )
    )
    node_ports: tuple[int, ...] = field(
        metadata=declare(
            listing(
                "Node port of each member for the port without a role, if it is exposed; chosen by Kubernetes if not given.",
                {"type": "integer", "minimum": 1, "maximum": 65535},
                MOST_MEMBERS,
                **{"x-kubernetes-list-type": "atomic"},
            )
        )
    )


@dataclass(frozen=True)
class NeutronIntegration:
    nb_connection: NorthboundConnection = field(
        metadata=part(NorthboundConnection, f"How Neutron reaches the {TITLES['northbound']} database.", given=True)
    )
    sb_connection: SouthboundConnection = field(
        metadata=part(SouthboundConnection, f"How Neutron reaches the {TITLES['southbound']} database.", given=True)
    )

    def service(self, database: Database) -> ClientService:
        return self.nb_connection.service if database == "northbound" else self.sb_connection.service


@dataclass(frozen=True)
class Network:
    """Address families of the Services, and networks for `ovn-config`."""

    ip_family_policy: str | None = field(
        metadata=declare(
            text(
                "Whether Services have addresses of one family or of both; the cluster decides if not given.",
                enum=["SingleStack", "PreferDualStack", "RequireDualStack"],
            )
        )
    )
    ip_families: tuple[str, ...] = field(
        metadata=declare(
            listing(
                "Families of the addresses of Services, the primary one first. That of a Service that exists cannot be changed.",
                {"type": "string", "enum": ["IPv4", "IPv6"]},
                2,
                **{"x-kubernetes-list-type": "set"},
            )
        )
    )

    net_cidr: str | None = field(
        metadata=declare(
            text(
                "Networks of pods or instances, with the length per host behind another slash.",
                pattern=POD_NETWORKS,
                maxLength=256,
            )
        )
    )
    svc_cidr: str | None = field(metadata=declare(text("Networks of services.", pattern=NETWORKS, maxLength=256)))


@dataclass(frozen=True)
class ClusterSpec:
    """`name` and `namespace` are those of the OVNCluster."""

    name: str
    namespace: str
    ovn_image: OvnImage = field(
        metadata=part(OvnImage, "Image with the databases, northd and ovn-controller.", given=True)
    )
    ovs_image: OvsImage = field(metadata=part(OvsImage, "Image with Open vSwitch.", given=True))
    agent_image: AgentImage | None = field(
        metadata=optional_part(
            AgentImage,
            "Image with Python 3.9 or newer for the observer, the leader proxy and the agents beside northd and ovn-controller; ovnImage if not given. "
            "With it, ovnImage needs no Python.",
        )
    )
    northbound: DatabaseSpec = field(metadata=database_part("northbound"))
    southbound: DatabaseSpec = field(metadata=database_part("southbound"))
    relay: RelaySpec = field(
        metadata=part(
            RelaySpec,
            "The relay in each Southbound pod, where chassis connect (port 6642). Without TLS there is none, and members serve chassis themselves.",
            given=True,
        )
    )
    northd: NorthdSpec = field(
        metadata=part(
            NorthdSpec,
            "northd, which turns the Northbound into the Southbound database. One is active, the others stand by.",
            given=True,
        )
    )
    observer: ObserverSpec = field(
        metadata=part(
            ObserverSpec, "The observer, which keeps status and labels of the leaders up to date.", given=True
        )
    )
    image_pull_secrets: tuple[pod_fields.StringMap, ...] = field(metadata=pod_fields.image_pull_secrets())
    priority_class_name: str = field(
        metadata=pod_fields.priority_class("the databases, northd and the observer", "system-cluster-critical")
    )
    heartbeat_interval: int = field(
        metadata=declare(
            number(
                "Seconds between two heartbeats that the observer sends, so that the status shows chassis that no longer answer; 0 for none. "
                "Each one costs every chassis a transaction in the Southbound database.",
                0,
                3600,
                default=HEARTBEAT_SECONDS,
            )
        )
    )
    metrics_port: int = field(
        metadata=declare(
            number(
                "Port of the observer's pod where it serves its metrics to Prometheus, without TLS; 0: it serves none.",
                0,
                65535,
                default=0,
            )
        )
    )
    controller: Controller = field(metadata=part(Controller, "ovn-controller on the hypervisors.", given=True))
    ovs: OpenVSwitch = field(
        metadata=part(
            OpenVSwitch,
            "Open vSwitch on the hypervisors.",
            rule("!has(self.underlay) || self.datapathType == 'netdev'", UNDERLAY_NEEDS_NETDEV),
            rule("!has(self.underlay) || self.mode == 'managed'", UNDERLAY_NEEDS_OURS),
            given=True,
        )
    )
    encapsulation: Encapsulation = field(
        metadata=part(
            Encapsulation,
            "Tunnels between the hypervisors. Without interface and cidr they end at the internal address of each node.",
            rule("!(has(self.interface) && has(self.cidr))", INTERFACE_OR_CIDR),
            given=True,
        )
    )
    bridge_mappings: tuple[BridgeMapping, ...] = field(
        metadata=bridge_mappings("Physical networks that every hypervisor reaches.")
    )
    gateway: Gateway = field(
        metadata=part(Gateway, "Hypervisors that take traffic to and from physical networks for all.")
    )
    metadata_agent: MetadataAgent = field(metadata=metadata_agent())
    hypervisor_clusters: tuple[HypervisorCluster, ...] = field(metadata=hypervisor_clusters())
    neutron_integration: NeutronIntegration = field(
        metadata=part(
            NeutronIntegration,
            "Services that Neutron and other clients in the same Kubernetes cluster use.",
            rule("self.nbConnection.service.name != self.sbConnection.service.name", TWO_SERVICES),
            given=True,
        )
    )
    leader_proxy: LeaderProxy = field(metadata=leader_proxy())
    tls: Tls = field(
        metadata=part(
            Tls,
            "Encryption of all connections.",
            rule(
                "!has(self.southboundClientCaKey) || !has(self.southboundClientCaConfigMapRef)",
                ONE_CLIENT_BUNDLE,
                ".southboundClientCaKey",
            ),
            rule(
                "!self.enabled || self.certificates == 'given' || (has(self.southboundClientCaKey) && "
                f"self.southboundClientCaKey == '{CLIENT_CA_KEY}' && !has(self.caConfigMapRef))",
                OPERATOR_BUNDLES,
                ".southboundClientCaKey",
            ),
            given=True,
        )
    )
    network: Network = field(
        metadata=part(
            Network,
            "Address families of the Services, and addresses that are published in the ConfigMap ovn-config for other components.",
            rule(
                "!has(self.ipFamilies) || size(self.ipFamilies) < 2 || (has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack')",
                TWO_FAMILIES,
                ".ipFamilies",
            ),
        )
    )

    @property
    def python_image(self) -> Image:
        """Return the image of the containers that run the archive."""
        return self.agent_image or self.ovn_image

    def database(self, database: Database) -> DatabaseSpec:
        return self.northbound if database == "northbound" else self.southbound

    @property
    def has_node_certificates(self) -> bool:
        """Return whether each node of a hypervisor cluster has a certificate of its own."""
        return self.tls.enabled and self.tls.node_certificates == "own"

    @property
    def exposes_unrestricted(self) -> bool:
        """Return whether clients outside this Kubernetes cluster reach the port of the Southbound without a role."""
        return self.southbound.service.exposed and bool(self.neutron_integration.sb_connection.allowed_cidrs)

    @property
    def has_unrestricted_services(self) -> bool:
        """Return whether the Services of the members have the port without a role. One that is exposed for chassis alone would open it to everybody outside."""
        return not self.southbound.service.exposed or self.exposes_unrestricted

    @property
    def tls_secret(self) -> str:
        """Return the name of the Secret with the certificate."""
        return self.tls.cert_secret_ref.name or f"{self.name}-tls"


_NAMES_NETWORKS = "has(self.neutronIntegration.sbConnection.allowedCidrs) && size(self.neutronIntegration.sbConnection.allowedCidrs) > 0"
_NAMES_NAMESPACES = "has(self.neutronIntegration.sbConnection.allowedNamespaces) && size(self.neutronIntegration.sbConnection.allowedNamespaces) > 0"
_NAMES_PORTS = (
    "has(self.neutronIntegration.sbConnection.nodePorts) && size(self.neutronIntegration.sbConnection.nodePorts) > 0"
)

CLUSTER_SPEC = schema_of(
    ClusterSpec,
    "Desired state of the control plane and its hypervisors.",
    rule(
        "!has(self.northbound.service.nodePorts) || !has(self.southbound.service.nodePorts) || "
        "self.northbound.service.nodePorts.all(p, !(p in self.southbound.service.nodePorts))",
        DIFFERENT_PORTS,
        ".southbound.service.nodePorts",
    ),
    rule(
        "!has(self.neutronIntegration.sbConnection.allowedCidrs) || size(self.neutronIntegration.sbConnection.allowedCidrs) == 0 || "
        "self.southbound.service.type == 'ClusterIP' || self.southbound.service.externalTrafficPolicy == 'Local'",
        CIDRS_NEED_LOCAL,
        ".neutronIntegration.sbConnection.allowedCidrs",
    ),
    rule(
        f"!({_NAMES_NETWORKS}) || self.southbound.service.type != 'LoadBalancer' || "
        "(has(self.southbound.service.allowedCidrs) && size(self.southbound.service.allowedCidrs) > 0)",
        NETWORKS_OF_BOTH,
        ".neutronIntegration.sbConnection.allowedCidrs",
    ),
    rule(
        f"!({_NAMES_PORTS}) || (self.southbound.service.type != 'ClusterIP' && {_NAMES_NETWORKS})",
        PORTS_NEED_NETWORKS,
        ".neutronIntegration.sbConnection.nodePorts",
    ),
    rule(
        f"!({_NAMES_PORTS}) || size(self.neutronIntegration.sbConnection.nodePorts) == self.southbound.replicas",
        ONE_PORT_EACH,
        ".neutronIntegration.sbConnection.nodePorts",
    ),
    rule(
        f"!({_NAMES_PORTS}) || self.neutronIntegration.sbConnection.nodePorts.all(p, "
        "self.neutronIntegration.sbConnection.nodePorts.exists_one(q, p == q)"
        " && !(has(self.northbound.service.nodePorts) && p in self.northbound.service.nodePorts)"
        " && !(has(self.southbound.service.nodePorts) && p in self.southbound.service.nodePorts))",
        DIFFERENT_PORTS,
        ".neutronIntegration.sbConnection.nodePorts",
    ),
    rule(
        f"!self.leaderProxy.enabled || ({_NAMES_NETWORKS}) || ({_NAMES_NAMESPACES})",
        PROXY_NEEDS_CLIENTS,
        ".leaderProxy.enabled",
    ),
    rule(
        "!has(self.metadataAgent.nodeSelector) || self.metadataAgent.nodeSelector.all(k, "
        "!(k in self.controller.nodeSelector) || self.controller.nodeSelector[k] == self.metadataAgent.nodeSelector[k])",
        AGENT_ON_HYPERVISORS,
        ".metadataAgent.nodeSelector",
    ),
    *(
        rule(
            f"self.tls.enabled || self.{database}.service.type == 'ClusterIP' || self.{database}.service.allowPlaintext",
            PLAINTEXT,
            f".{database}.service.type",
        )
        for database in DATABASES
    ),
    given=True,
)


def parse_spec(spec: t.Mapping[str, t.Any], *, name: str, namespace: str) -> ClusterSpec:
    """Return the specification of the OVNCluster `name`, with all defaults. `InvalidInput` names the field that can never work, why, and what to do."""
    # Pods of a StatefulSet carry its name and a hash in a label of at most 63 characters.
    _checked_name("name", name, SERVICE_NAME, 40)
    _checked_name("namespace", namespace, NAME, 63)
    full = complete(CLUSTER_SPEC, dict(spec), "spec")
    check_rules(name, full)
    return read(ClusterSpec, full, "spec", name=name, namespace=namespace)


def _checked_name(what: str, value: str, pattern: str, longest: int) -> None:
    complete(
        {"type": "string", "pattern": pattern, "maxLength": longest, "description": "Use a-z, 0-9 and -."}, value, what
    )
