# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

`OVNCluster.spec` as our code reads it: complete, checked, with the names of Python. The fields themselves are described in `_manifests/schema.py`.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from ._errors import InvalidInput
from ._manifests import schema
from ._manifests.check import complete, shown
from ._manifests.names import DATABASES, MOST_MEMBERS, Database, database_name, member_name, northd_name, observer_name
from ._manifests.quantity import canonical_quantity

StringMap = t.Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Image:
    repository: str
    tag: str
    digest: str | None
    pull_policy: str

    @property
    def reference(self) -> str:
        """What a container asks for; a digest says more than a tag."""
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"


@dataclasses.dataclass(frozen=True)
class Resources:
    requests: StringMap
    limits: StringMap

    def as_dict(self) -> dict[str, t.Any]:
        """As in a container; empty if nothing is said."""
        both = {"requests": dict(self.requests), "limits": dict(self.limits)}
        return {key: value for key, value in both.items() if value}


@dataclasses.dataclass(frozen=True)
class Storage:
    size: str
    storage_class: str | None


@dataclasses.dataclass(frozen=True)
class Service:
    """How members are reached from outside. `node_ports` has none or one port for each member."""

    type: t.Literal["ClusterIP", "NodePort", "LoadBalancer"]
    annotations: StringMap
    node_ports: tuple[int, ...]

    @property
    def exposed(self) -> bool:
        return self.type != "ClusterIP"


@dataclasses.dataclass(frozen=True)
class DatabaseSpec:
    """`election_timer` and `inactivity_probe` in milliseconds."""

    replicas: int
    storage: Storage
    resources: Resources
    election_timer: int
    inactivity_probe: int
    service: Service
    node_selector: StringMap
    tolerations: tuple[StringMap, ...]


@dataclasses.dataclass(frozen=True)
class Northd:
    replicas: int
    threads: int
    resources: Resources


@dataclasses.dataclass(frozen=True)
class Controller:
    node_selector: StringMap
    resources: Resources
    tolerations: tuple[StringMap, ...]


@dataclasses.dataclass(frozen=True)
class Underlay:
    bridge: str
    interface: str


@dataclasses.dataclass(frozen=True)
class OpenVSwitch(Controller):
    datapath_type: t.Literal["system", "netdev"]
    underlay: Underlay | None


@dataclasses.dataclass(frozen=True)
class Encapsulation:
    """Neither `interface` nor `cidr`: the internal address of each node."""

    type: t.Literal["geneve", "vxlan"]
    interface: str | None
    cidr: str | None


@dataclasses.dataclass(frozen=True)
class BridgeMapping:
    physical_network: str
    bridge: str
    ports: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Gateway:
    """An empty selector: no gateways."""

    node_selector: StringMap


@dataclasses.dataclass(frozen=True)
class ClientService:
    name: str
    port: int


@dataclasses.dataclass(frozen=True)
class NeutronIntegration:
    northbound: ClientService
    southbound: ClientService

    def database(self, database: Database) -> ClientService:
        return self.northbound if database == "northbound" else self.southbound


@dataclasses.dataclass(frozen=True)
class Tls:
    enabled: bool
    secret: str


@dataclasses.dataclass(frozen=True)
class Network:
    """Networks for `ovn-config`; empty if not given."""

    net_cidr: str
    svc_cidr: str


@dataclasses.dataclass(frozen=True)
class ClusterSpec:
    name: str
    namespace: str
    ovn_image: Image
    ovs_image: Image
    northbound: DatabaseSpec
    southbound: DatabaseSpec
    northd: Northd
    controller: Controller
    ovs: OpenVSwitch
    encapsulation: Encapsulation
    bridge_mappings: tuple[BridgeMapping, ...]
    gateway: Gateway
    neutron_integration: NeutronIntegration
    tls: Tls
    network: Network

    def database(self, database: Database) -> DatabaseSpec:
        return self.northbound if database == "northbound" else self.southbound


def parse_spec(spec: t.Mapping[str, t.Any], *, name: str, namespace: str) -> ClusterSpec:
    """The specification of the OVNCluster `name`, with all defaults. `InvalidInput` names the field that can never work, why, and what to do."""
    _checked_name("name", name)
    _checked_name("namespace", namespace)
    full = complete(schema.CLUSTER_SPEC, dict(spec), "spec")
    for database in DATABASES:
        _check_database(full[database], f"spec.{database}")
    _check_together(full)
    neutron = {key: full["neutronIntegration"][f"{key}Connection"]["service"] for key in ("nb", "sb")}
    _check_services(name, neutron)
    return ClusterSpec(
        name=name,
        namespace=namespace,
        ovn_image=_image(full["ovnImage"]),
        ovs_image=_image(full["ovsImage"]),
        northbound=_database(full["northbound"], "spec.northbound"),
        southbound=_database(full["southbound"], "spec.southbound"),
        northd=Northd(
            replicas=full["northd"]["replicas"],
            threads=full["northd"]["threads"],
            resources=_resources(full["northd"], "spec.northd"),
        ),
        controller=Controller(**_daemons(full["controller"], "spec.controller")),
        ovs=OpenVSwitch(
            **_daemons(full["ovs"], "spec.ovs"),
            datapath_type=full["ovs"]["datapathType"],
            underlay=Underlay(**full["ovs"]["underlay"]) if "underlay" in full["ovs"] else None,
        ),
        encapsulation=Encapsulation(
            type=full["encapsulation"]["type"],
            interface=full["encapsulation"].get("interface"),
            cidr=_cidr("spec.encapsulation.cidr", full["encapsulation"].get("cidr")),
        ),
        bridge_mappings=_bridge_mappings(full.get("bridgeMappings", [])),
        gateway=Gateway(full.get("gateway", {}).get("nodeSelector", {})),
        neutron_integration=NeutronIntegration(ClientService(**neutron["nb"]), ClientService(**neutron["sb"])),
        tls=Tls(
            enabled=full["tls"]["enabled"], secret=full["tls"].get("certSecretRef", {}).get("name") or f"{name}-tls"
        ),
        network=_network(full.get("network", {})),
    )


def _checked_name(what: str, value: str) -> None:
    complete({"type": "string", "pattern": schema.NAME, "description": "Use a-z, 0-9 and -."}, value, what)
    # Pods of a StatefulSet carry its name and a hash in a label of at most 63 characters.
    if what == "name" and len(value) > 40:
        raise InvalidInput(f"name has {len(value)} characters, and names of pods are made from it. Use at most 40.")


def _image(value: dict[str, t.Any]) -> Image:
    return Image(value["repository"], value["tag"], value.get("digest"), value["pullPolicy"])


def _resources(parent: dict[str, t.Any], path: str) -> Resources:
    value = parent.get("resources", {})
    canonical = {
        kind: {key: _quantity(f"{path}.resources.{kind}[{key}]", text) for key, text in value.get(kind, {}).items()}
        for kind in ("requests", "limits")
    }
    return Resources(canonical["requests"], canonical["limits"])


def _quantity(path: str, text: str) -> str:
    try:
        return canonical_quantity(text)
    except ValueError as e:
        raise InvalidInput(f"{path}: {e}.") from e


def _database(value: dict[str, t.Any], path: str) -> DatabaseSpec:
    storage, service = value["storage"], value["service"]
    return DatabaseSpec(
        replicas=value["replicas"],
        storage=Storage(_quantity(f"{path}.storage.size", storage["size"]), storage.get("storageClass")),
        resources=_resources(value, path),
        election_timer=value["electionTimer"],
        inactivity_probe=value["inactivityProbe"],
        service=Service(service["type"], service.get("annotations", {}), tuple(service.get("nodePorts", ()))),
        node_selector=value.get("nodeSelector", {}),
        tolerations=tuple(value.get("tolerations", ())),
    )


def _daemons(value: dict[str, t.Any], path: str) -> dict[str, t.Any]:
    return {
        "node_selector": value["nodeSelector"],
        "resources": _resources(value, path),
        "tolerations": tuple(value.get("tolerations", ())),
    }


def _bridge_mappings(value: list[dict[str, t.Any]]) -> tuple[BridgeMapping, ...]:
    owner: dict[str, str] = {}
    for index, item in enumerate(value):
        for port in item.get("ports", ()):
            if owner.setdefault(port, item["bridge"]) != item["bridge"]:
                raise InvalidInput(
                    f"spec.bridgeMappings[{index}].ports names {port}, which is already a port of bridge {owner[port]}. "
                    "A network device belongs to one bridge: remove it from the other."
                )
    return tuple(BridgeMapping(i["physicalNetwork"], i["bridge"], tuple(i.get("ports", ()))) for i in value)


def _network(value: dict[str, t.Any]) -> Network:
    for field, slashes in (("netCidr", 2), ("svcCidr", 1)):
        for part in filter(None, value.get(field, "").split(",")):
            _cidr(f"spec.network.{field}", "/".join(part.split("/")[:2]))
            if part.count("/") == 2 == slashes and int(part.split("/")[2]) < int(part.split("/")[1]):
                raise InvalidInput(
                    f"spec.network.{field} is {shown(part)}: the part of a host cannot be bigger than all."
                )
    return Network(value.get("netCidr", ""), value.get("svcCidr", ""))


def _cidr(path: str, value: str | None) -> str | None:
    if value is not None:
        try:
            ipaddress.ip_network(value, strict=True)
        except ValueError as e:
            raise InvalidInput(
                f"{path} is {shown(value)}: {e}. Use a network like 192.0.2.0/24 or 2001:db8::/64."
            ) from e
    return value


def _check_database(value: dict[str, t.Any], path: str) -> None:
    """What the rules of the schema say, and what the words of the API server would not explain."""
    if value["replicas"] % 2 == 0:
        raise InvalidInput(f"{path}.replicas is {value['replicas']}: {schema.ODD}. Set it to 1, 3 or 5.")
    service = value["service"]
    ports = service.get("nodePorts") or []
    if ports and service["type"] == "ClusterIP":
        raise InvalidInput(
            f"{path}.service.nodePorts is set: {schema.PORTS_NEED_TYPE}. Set {path}.service.type, or remove the ports."
        )
    if ports and len(ports) != value["replicas"]:
        raise InvalidInput(
            f"{path}.service.nodePorts has {len(ports)} ports, {path}.replicas is {value['replicas']}: {schema.ONE_PORT_EACH}."
            " Name one port for each member."
        )


def _check_together(full: dict[str, t.Any]) -> None:
    ports = [p for database in DATABASES for p in full[database]["service"].get("nodePorts", ())]
    for port in ports:
        if ports.count(port) > 1:
            raise InvalidInput(
                f"spec: node port {port} is named {ports.count(port)} times: {schema.DIFFERENT_PORTS}. Choose another one."
            )
    encapsulation = full["encapsulation"]
    if "interface" in encapsulation and "cidr" in encapsulation:
        raise InvalidInput(f"spec.encapsulation: {schema.INTERFACE_OR_CIDR}. Remove one of them.")


def _check_services(name: str, neutron: dict[str, dict[str, t.Any]]) -> None:
    if neutron["nb"]["name"] == neutron["sb"]["name"]:
        raise InvalidInput(
            f"spec.neutronIntegration: both connections use the Service {shown(neutron['nb']['name'])}: {schema.TWO_SERVICES}. Rename one."
        )
    taken = {northd_name(name), observer_name(name), *(database_name(name, database) for database in DATABASES)}
    taken |= {member_name(name, database, index) for database in DATABASES for index in range(MOST_MEMBERS)}
    for key, service in neutron.items():
        if service["name"] in taken:
            raise InvalidInput(
                f"spec.neutronIntegration.{key}Connection.service.name is {shown(service['name'])}, which is the name of another Service "
                "of this cluster. Choose another one."
            )
