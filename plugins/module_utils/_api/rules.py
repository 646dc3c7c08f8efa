# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about several fields of a specification. The API server keeps them by the expressions of the schema, with the same messages; we check them before
anything is sent, and those that it cannot know as well.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from .._base.databases import DATABASES
from .._base.errors import InvalidInput
from .._neutron.metadata_agent import extensions_problem, is_ours
from .names import CLIENT_CA_KEY, MOST_MEMBERS, database_name, leader_proxy_name, member_name
from .validation_messages import format_value

ODD = "a Raft cluster has 1, 3 or 5 members: 2 or 4 tolerate no more failures than one member less"
NO_SHRINK = "a volume can grow, but never shrink"
SAME_TLS = "the address of a member contains tcp or ssl, so it cannot be changed for an existing cluster"
ONE_PORT_EACH = "nodePorts names one port for each member, so there are as many as replicas"
ONE_NAME_EACH = "hostnames has one name for each member, in their order, so there are as many as replicas"
NAMES_NEED_TYPE = (
    "hostnames need a service of type NodePort or LoadBalancer: inside of the cluster members have names of their own"
)
DIFFERENT_NAMES = "behind load balancers all members have the same port, so each needs a name of its own"
LOCAL_NEEDS_DIFFERENT_NAMES = "with externalTrafficPolicy Local only the node of a member answers for it, so each needs its own name, which leads to that node"
NOT_THE_DEFAULT_ACCOUNT = (
    "every pod of the namespace that names no account has the account default, and would have the rights of ours"
)
PORTS_NEED_TYPE = "nodePorts need a service of type NodePort or LoadBalancer"
INTERFACE_OR_CIDR = "interface and cidr exclude each other: both say which address of a node is used"
TWO_SERVICES = "the Services of the Northbound and the Southbound database need different names"
TWO_FAMILIES = "two ipFamilies need the ipFamilyPolicy PreferDualStack or RequireDualStack"
ONE_CLIENT_BUNDLE = (
    "southboundClientCaKey and southboundClientCaConfigMapRef exclude each other: both say whom the Southbound lets in"
)
OPERATOR_BUNDLES = "with certificates operator the CAs of chassis are in the Secret (southboundClientCaKey client-ca.crt), and no CAs are in ConfigMaps"
DIFFERENT_PORTS = "a node port can only be used once"
CIDRS_NEED_LOCAL = "allowedCidrs compares the address of the client, which an exposed Service only keeps with externalTrafficPolicy Local"
NETWORKS_OF_BOTH = "a load balancer has both ports of a member, so without networks for chassis everybody would reach the port without a role, too"
PORTS_NEED_NETWORKS = "the port without a role is exposed if members are, and to named networks alone"
PLAINTEXT = "without TLS everybody who reaches an exposed port reads and writes the database"
UNDERLAY_NEEDS_NETDEV = (
    "only a datapath in user space (netdev) needs an underlay: the kernel reaches the tunnels' device by itself"
)
UNDERLAY_NEEDS_OURS = "the Open vSwitch of the node (mode host) gets no bridge that takes over a network device"
AGENT_NEEDS_IMAGE = (
    "there is no image of Neutron here, so an enabled metadata agent needs a repository, and a tag or a digest"
)
AGENT_NEEDS_NOVA = "an enabled metadata agent needs novaMetadata.host and sharedSecretRef: guests are answered by Nova, which believes who knows that secret"
AGENT_ON_HYPERVISORS = "a metadata agent needs the ovn-controller of its node, so a label cannot have another value than in controller.nodeSelector"
PROXY_NEEDS_CLIENTS = "the leader proxy lets in whom the port of the Southbound without a role lets in, so allowedNamespaces or allowedCidrs names its clients"
PROXY_NEEDS_NODES = (
    "each node that runs the leader proxy gets the private key of the members, so nodeSelector names the nodes"
)

_Spec = dict[str, t.Any]
_INI_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def check_rules(name: str, spec: _Spec) -> None:
    """Refuse a specification that has all defaults and types, but contradicts itself."""
    for database in DATABASES:
        _check_database(spec[database], f"spec.{database}")
        _check_hostnames(spec[database], f"spec.{database}")
        _check_exposure(spec[database]["service"], f"spec.{database}.service", tls=spec["tls"]["enabled"])
    for part in ("northbound", "southbound", "northd", "observer", "controller", "ovs"):
        _check_account(spec[part], f"spec.{part}")
    exposures = [*(spec[database]["service"] for database in DATABASES), spec["neutronIntegration"]["sbConnection"]]
    ports = [p for exposure in exposures for p in exposure.get("nodePorts", ())]
    for port in ports:
        if ports.count(port) > 1:
            raise InvalidInput(
                f"spec: node port {port} is named {ports.count(port)} times: {DIFFERENT_PORTS}. Choose another one."
            )
    _check_encapsulation(spec["encapsulation"])
    _check_underlay(spec["ovs"])
    _check_bridges(spec.get("bridgeMappings", []))
    _check_metadata_agent(spec["metadataAgent"], spec["controller"]["nodeSelector"])
    _check_services(name, spec["neutronIntegration"])
    _check_southbound_clients(spec["neutronIntegration"]["sbConnection"], spec["southbound"])
    _check_leader_proxy(spec["leaderProxy"], spec["neutronIntegration"]["sbConnection"])
    _check_networks(spec.get("network", {}))
    if {"southboundClientCaKey", "southboundClientCaConfigMapRef"} <= spec["tls"].keys():
        raise InvalidInput(f"spec.tls: {ONE_CLIENT_BUNDLE}. Remove one of them.")
    _check_certificates(spec["tls"])


def _check_certificates(tls: _Spec) -> None:
    if not tls["enabled"] or tls["certificates"] != "operator":
        return
    if tls.get("southboundClientCaKey") != CLIENT_CA_KEY or "caConfigMapRef" in tls:
        raise InvalidInput(
            f"spec.tls: {OPERATOR_BUNDLES}. Set spec.tls.southboundClientCaKey to {CLIENT_CA_KEY}, and remove caConfigMapRef."
        )


def _check_database(value: _Spec, path: str) -> None:
    if value["replicas"] % 2 == 0:
        raise InvalidInput(f"{path}.replicas is {value['replicas']}: {ODD}. Set it to 1, 3 or 5.")
    service = value["service"]
    ports = service.get("nodePorts") or []
    if ports and service["type"] == "ClusterIP":
        raise InvalidInput(
            f"{path}.service.nodePorts is set: {PORTS_NEED_TYPE}. Set {path}.service.type, or remove the ports."
        )
    if ports and len(ports) != value["replicas"]:
        raise InvalidInput(
            f"{path}.service.nodePorts has {len(ports)} ports, {path}.replicas is {value['replicas']}: {ONE_PORT_EACH}."
            " Name one port for each member."
        )


def _check_hostnames(value: _Spec, path: str) -> None:
    service = value["service"]
    names = service.get("hostnames") or []
    if not names:
        return
    if service["type"] == "ClusterIP":
        raise InvalidInput(
            f"{path}.service.hostnames is set: {NAMES_NEED_TYPE}. Set {path}.service.type, or remove the names."
        )
    if len(names) != value["replicas"]:
        raise InvalidInput(
            f"{path}.service.hostnames has {len(names)} names, {path}.replicas is {value['replicas']}: {ONE_NAME_EACH}. Name each member."
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is None:
        return
    twice = f"{path}.service.hostnames has {format_value(repeated)} {names.count(repeated)} times"
    if service["type"] == "LoadBalancer":
        raise InvalidInput(f"{twice}: {DIFFERENT_NAMES}. Choose another one.")
    if service["externalTrafficPolicy"] == "Local":
        raise InvalidInput(f"{twice}: {LOCAL_NEEDS_DIFFERENT_NAMES}. Choose another one.")


def _check_account(value: _Spec, path: str) -> None:
    if value.get("serviceAccountName") == "default":
        raise InvalidInput(
            f"{path}.serviceAccountName is default: {NOT_THE_DEFAULT_ACCOUNT}. Name another account, or remove the field: then a run makes one."
        )


def _check_exposure(service: _Spec, path: str, *, tls: bool) -> None:
    exposed, networks = service["type"] != "ClusterIP", service.get("allowedCidrs") or []
    if exposed and not tls and not service["allowPlaintext"]:
        raise InvalidInput(
            f"{path}.type is {service['type']}, and spec.tls.enabled is false: {PLAINTEXT}. Switch TLS on, set {path}.type to ClusterIP, or accept it "
            f"with {path}.allowPlaintext: true."
        )
    if exposed and networks and service["externalTrafficPolicy"] != "Local":
        raise InvalidInput(
            f"{path}.allowedCidrs is set: {CIDRS_NEED_LOCAL}. Set {path}.externalTrafficPolicy to Local."
        )
    for index, network in enumerate(networks):
        _check_network(f"{path}.allowedCidrs[{index}]", network)


def _check_encapsulation(value: _Spec) -> None:
    if "interface" in value and "cidr" in value:
        raise InvalidInput(f"spec.encapsulation: {INTERFACE_OR_CIDR}. Remove one of them.")
    if "cidr" in value:
        _check_network("spec.encapsulation.cidr", value["cidr"])


def _check_underlay(value: _Spec) -> None:
    if "underlay" in value and value["datapathType"] != "netdev":
        raise InvalidInput(
            f"spec.ovs.underlay is set, but spec.ovs.datapathType is {value['datapathType']}: {UNDERLAY_NEEDS_NETDEV}. "
            "Remove spec.ovs.underlay, or set spec.ovs.datapathType to netdev."
        )
    if "underlay" in value and value["mode"] == "host":
        raise InvalidInput(
            f"spec.ovs.underlay is set, but spec.ovs.mode is host: {UNDERLAY_NEEDS_OURS}. Remove spec.ovs.underlay, or set spec.ovs.mode to managed."
        )


def _check_metadata_agent(agent: _Spec, hypervisors: _Spec) -> None:
    path, image = "spec.metadataAgent", agent["image"]
    if agent["enabled"] and not (image["repository"] and (image["tag"] or image.get("digest"))):
        raise InvalidInput(
            f"{path}.image names no complete image: {AGENT_NEEDS_IMAGE}. Set {path}.image.repository and {path}.image.tag."
        )
    given = {"novaMetadata.host": agent["novaMetadata"].get("host"), "sharedSecretRef": agent.get("sharedSecretRef")}
    missing = [f"{path}.{field}" for field, value in given.items() if not value]
    if agent["enabled"] and missing:
        verb = "are" if len(missing) > 1 else "is"
        raise InvalidInput(f"{' and '.join(missing)} {verb} missing: {AGENT_NEEDS_NOVA}. Set what is missing.")
    for key, value in agent.get("nodeSelector", {}).items():
        if hypervisors.get(key, value) != value:
            raise InvalidInput(
                f"{path}.nodeSelector[{key}] is {format_value(value)}, spec.controller.nodeSelector[{key}] is {format_value(hypervisors[key])}: "
                f"{AGENT_ON_HYPERVISORS}. Make them equal, or use another label."
            )
    for section, options in agent.get("extraConfig", {}).items():
        for option in options:
            if not _INI_NAME.fullmatch(section) or not _INI_NAME.fullmatch(option):
                raise InvalidInput(
                    f"{path}.extraConfig has {format_value(option)} in the section {format_value(section)}: such names have letters, digits, _, . "
                    "and -. Correct it."
                )
            if is_ours(section, option):
                raise InvalidInput(
                    f"{path}.extraConfig sets {option} in the section {section}, which follows from other fields of {path} and of the cluster. Remove it."
                )
    if wrong := extensions_problem(agent["program"], agent.get("extraConfig", {})):
        raise InvalidInput(f"{path}.extraConfig {wrong}")


def _check_bridges(mappings: list[_Spec]) -> None:
    owner: dict[str, str] = {}
    for index, item in enumerate(mappings):
        for port in item.get("ports", ()):
            if owner.setdefault(port, item["bridge"]) != item["bridge"]:
                raise InvalidInput(
                    f"spec.bridgeMappings[{index}].ports names {port}, which is already a port of bridge {owner[port]}. "
                    "A network device belongs to one bridge: remove it from the other."
                )


def _check_services(name: str, neutron: _Spec) -> None:
    names = {key: neutron[f"{key}Connection"]["service"]["name"] for key in ("nb", "sb")}
    if names["nb"] == names["sb"]:
        raise InvalidInput(
            f"spec.neutronIntegration: both connections use the Service {format_value(names['nb'])}: {TWO_SERVICES}. Rename one."
        )
    taken = {database_name(name, database) for database in DATABASES}
    taken.add(leader_proxy_name(name))
    taken |= {member_name(name, database, index) for database in DATABASES for index in range(MOST_MEMBERS)}
    for key, service in names.items():
        if service in taken:
            raise InvalidInput(
                f"spec.neutronIntegration.{key}Connection.service.name is {format_value(service)}, which is the name of another Service "
                "of this cluster. Choose another one."
            )


def _check_southbound_clients(connection: _Spec, southbound: _Spec) -> None:
    path, networks = "spec.neutronIntegration.sbConnection.allowedCidrs", connection.get("allowedCidrs") or []
    service, ports = southbound["service"], connection.get("nodePorts") or []
    ports_path = "spec.neutronIntegration.sbConnection.nodePorts"
    if networks and service["type"] != "ClusterIP" and service["externalTrafficPolicy"] != "Local":
        raise InvalidInput(
            f"{path} is set: {CIDRS_NEED_LOCAL}. Set spec.southbound.service.externalTrafficPolicy to Local."
        )
    if networks and service["type"] == "LoadBalancer" and not service.get("allowedCidrs"):
        raise InvalidInput(f"{path} is set: {NETWORKS_OF_BOTH}. Set spec.southbound.service.allowedCidrs as well.")
    if ports and (service["type"] == "ClusterIP" or not networks):
        raise InvalidInput(
            f"{ports_path} is set: {PORTS_NEED_NETWORKS}. Set spec.southbound.service.type and {path}, or remove the ports."
        )
    if ports and len(ports) != southbound["replicas"]:
        raise InvalidInput(
            f"{ports_path} has {len(ports)} ports, spec.southbound.replicas is {southbound['replicas']}: {ONE_PORT_EACH}. Name one port for each member."
        )
    for index, network in enumerate(networks):
        _check_network(f"{path}[{index}]", network)


def _check_leader_proxy(proxy: _Spec, connection: _Spec) -> None:
    if proxy["enabled"] and not (connection.get("allowedNamespaces") or connection.get("allowedCidrs")):
        path = "spec.neutronIntegration.sbConnection"
        raise InvalidInput(
            f"spec.leaderProxy.enabled is true: {PROXY_NEEDS_CLIENTS}. Name the namespace of Neutron in {path}.allowedNamespaces."
        )
    if proxy["enabled"] and not proxy.get("nodeSelector"):
        raise InvalidInput(
            f"spec.leaderProxy.nodeSelector names no node: {PROXY_NEEDS_NODES}. Give the labels of those where Neutron runs; all nodes have "
            "kubernetes.io/os=linux."
        )


def _check_networks(value: _Spec) -> None:
    if len(value.get("ipFamilies", ())) > 1 and value.get("ipFamilyPolicy", "SingleStack") == "SingleStack":
        raise InvalidInput(
            f"spec.network.ipFamilies names two: {TWO_FAMILIES}. Set spec.network.ipFamilyPolicy, or name one family."
        )
    for field in ("netCidr", "svcCidr"):
        for part in filter(None, value.get(field, "").split(",")):
            address, length, *host = part.split("/")
            _check_network(f"spec.network.{field}", f"{address}/{length}")
            if host and int(host[0]) < int(length):
                raise InvalidInput(
                    f"spec.network.{field} is {format_value(part)}: the part of one host is bigger than the whole. Use a length of {length} or more."
                )


def _check_network(path: str, value: str) -> None:
    try:
        ipaddress.ip_network(value, strict=True)
    except ValueError as e:
        raise InvalidInput(
            f"{path} is {format_value(value)}: {e}. Use a network like 192.0.2.0/24 or 2001:db8::/64."
        ) from e
