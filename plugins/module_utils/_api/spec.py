# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

`OVNCluster.spec` as our code reads it: complete, checked, with the names of Python. The fields themselves are described in `_api/schema.py`.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._databases import Database
from .._errors import InvalidInput
from .._kubernetes.quantity import canonical_quantity
from .fields import NAME, SERVICE_NAME
from .rules import check_rules
from .schema import CLUSTER_SPEC
from .validation import complete

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
class NorthdSpec:
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
    northd: NorthdSpec
    priority_class: str  # empty for none
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
    # Pods of a StatefulSet carry its name and a hash in a label of at most 63 characters.
    _checked_name("name", name, SERVICE_NAME, 40)
    _checked_name("namespace", namespace, NAME, 63)
    full = complete(CLUSTER_SPEC, dict(spec), "spec")
    check_rules(name, full)
    neutron = {key: full["neutronIntegration"][f"{key}Connection"]["service"] for key in ("nb", "sb")}
    return ClusterSpec(
        name=name,
        namespace=namespace,
        ovn_image=_image(full["ovnImage"]),
        ovs_image=_image(full["ovsImage"]),
        northbound=_database(full["northbound"], "spec.northbound"),
        southbound=_database(full["southbound"], "spec.southbound"),
        northd=NorthdSpec(
            replicas=full["northd"]["replicas"],
            threads=full["northd"]["threads"],
            resources=_resources(full["northd"], "spec.northd"),
        ),
        priority_class=full["priorityClassName"],
        controller=Controller(**_daemons(full["controller"], "spec.controller")),
        ovs=OpenVSwitch(
            **_daemons(full["ovs"], "spec.ovs"),
            datapath_type=full["ovs"]["datapathType"],
            underlay=Underlay(**full["ovs"]["underlay"]) if "underlay" in full["ovs"] else None,
        ),
        encapsulation=Encapsulation(
            type=full["encapsulation"]["type"],
            interface=full["encapsulation"].get("interface"),
            cidr=full["encapsulation"].get("cidr"),
        ),
        bridge_mappings=tuple(_bridge_mapping(item) for item in full.get("bridgeMappings", ())),
        gateway=Gateway(full.get("gateway", {}).get("nodeSelector", {})),
        neutron_integration=NeutronIntegration(ClientService(**neutron["nb"]), ClientService(**neutron["sb"])),
        tls=Tls(
            enabled=full["tls"]["enabled"], secret=full["tls"].get("certSecretRef", {}).get("name") or f"{name}-tls"
        ),
        network=Network(full.get("network", {}).get("netCidr", ""), full.get("network", {}).get("svcCidr", "")),
    )


def _checked_name(what: str, value: str, pattern: str, longest: int) -> None:
    complete(
        {"type": "string", "pattern": pattern, "maxLength": longest, "description": "Use a-z, 0-9 and -."}, value, what
    )


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


def _bridge_mapping(value: dict[str, t.Any]) -> BridgeMapping:
    return BridgeMapping(value["physicalNetwork"], value["bridge"], tuple(value.get("ports", ())))
