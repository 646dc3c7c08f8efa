"""Walks the schemas of OVNCluster.spec and OVNChassis.spec: a field that changes nothing, and a field without an example here, fails."""

from __future__ import annotations

import copy
import json
import types
import typing as t

import pytest
from built_manifests import hypervisor_manifests_of, manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._api.endpoints import outside_endpoints
from ansible_collections.c5c3.ovn.plugins.module_utils._api.hypervisor_spec import CHASSIS_SPEC
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.leader_proxy import published_endpoints
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.settings import desired_settings
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.resources import declared_settings
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import (
    default_settings,
    plan_chassis,
    settings_files,
)

TOLERATIONS = [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 60}]
MAPPINGS = [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}]
LABEL = {"rack": "1"}
AGENT = {
    "enabled": True,
    "image": {"repository": "registry.example.com/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova.example.com"},
    "sharedSecretRef": {"name": "nova"},
    "tolerations": TOLERATIONS,
}
_AGENT_FIELDS = (
    *(
        "program",
        "image.repository",
        "image.tag",
        "image.digest",
        "image.pullPolicy",
        "novaMetadata.host",
        "novaMetadata.port",
        "novaMetadata.protocol",
    ),
    *(
        "sharedSecretRef.name",
        "sharedSecretRef.key",
        "nodeSelector",
        "resources.requests",
        "resources.limits",
        "workers",
        "extraConfig",
    ),
    *("priorityClassName", "maxUnavailable", *(f"tolerations[].{field}" for field in TOLERATIONS[0])),
)

PROXY: dict[str, t.Any] = {
    "leaderProxy": {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": TOLERATIONS},
    "neutronIntegration": {"sbConnection": {"allowedNamespaces": ["openstack"]}},
}
_PROXY_FIELDS = (
    "published",
    "nodeSelector",
    "resources.requests",
    "resources.limits",
    *(f"tolerations[].{field}" for field in TOLERATIONS[0]),
)

# What is there before the field changes, where the field alone would not be enough.
BASE: dict[str, t.Any] = {
    "northbound.service.annotations": {"northbound": {"service": {"type": "LoadBalancer"}}},
    "northbound.service.nodePorts": {"northbound": {"service": {"type": "NodePort"}}},
    **{f"{database}.service.hostnames": {database: {"service": {"type": "LoadBalancer"}}} for database in DATABASES},
    "southbound.service.annotations": {"southbound": {"service": {"type": "LoadBalancer"}}},
    **{
        f"{database}.service.externalTrafficPolicy": {database: {"service": {"type": "NodePort"}}}
        for database in DATABASES
    },
    **{
        f"{database}.service.allowPlaintext": {"tls": {"enabled": False}, database: {"service": {"type": "NodePort"}}}
        for database in DATABASES
    },
    "southbound.service.nodePorts": {"southbound": {"service": {"type": "NodePort"}}},
    **{
        f"ovs.underlay.{field}": {
            "ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-phy", "interface": "eth1"}}
        }
        for field in ("bridge", "interface")
    },
    **{f"agentImage.{field}": {"agentImage": {"repository": "r"}} for field in ("tag", "digest", "pullPolicy")},
    "imagePullSecrets[].name": {"imagePullSecrets": [{"name": "ours"}]},
    **{
        f"tls.{field}.key": {"tls": {field: {"name": "ours"}}}
        for field in ("caConfigMapRef", "southboundClientCaConfigMapRef")
    },
    "tls.certificates": {"tls": {"southboundClientCaKey": "client-ca.crt"}},
    **{
        f"hypervisorClusters[].{field}": {
            "hypervisorClusters": [{"name": "rack1", "kubeconfigSecretRef": {"name": "rack1"}}]
        }
        for field in ("name", "namespace", "kubeconfigSecretRef.name", "kubeconfigSecretRef.key")
    },
    **{f"metadataAgent.{field}": {"metadataAgent": AGENT} for field in _AGENT_FIELDS},
    "metadataAgent.enabled": {"metadataAgent": {**AGENT, "enabled": False}},
    **{f"leaderProxy.{field}": PROXY for field in _PROXY_FIELDS},
    "leaderProxy.enabled": {**PROXY, "leaderProxy": {**PROXY["leaderProxy"], "enabled": False}},
    **{f"bridgeMappings[].{field}": {"bridgeMappings": MAPPINGS} for field in ("physicalNetwork", "bridge", "ports")},
    **{
        f"{part}.tolerations[].{field}": {part: {"tolerations": TOLERATIONS}}
        for part in ("northbound", "southbound", "northd", "observer", "controller", "ovs")
        for field in TOLERATIONS[0]
    },
}

_IMAGE = {"repository": "registry.example.com/x", "tag": "9", "digest": "sha256:" + "1" * 64, "pullPolicy": "Always"}
_RESOURCES = {"resources.requests": {"cpu": "1"}, "resources.limits": {"memory": "1Gi"}}
_TOLERATION = {
    "tolerations[].key": "c",
    "tolerations[].operator": "Exists",
    "tolerations[].value": "d",
    "tolerations[].effect": "NoSchedule",
    "tolerations[].tolerationSeconds": 90,
}
_POD = {"serviceAccountName": "given", **_RESOURCES, **_TOLERATION}
_DATABASE = {
    "replicas": 5,
    "storage.size": "20Gi",
    "storage.storageClass": "fast",
    "electionTimer": 10000,
    "inactivityProbe": 60000,
    "restartedAt": "2026-01-01T00:00:00Z",
    "service.type": "NodePort",
    "service.annotations": {"a": "b"},
    "service.nodePorts": [30001, 30002, 30003],
    "service.hostnames": ["a.example.com", "b.example.com", "c.example.com"],
    "service.externalTrafficPolicy": "Local",
    "service.allowedCidrs": ["192.0.2.0/24"],
    "service.allowPlaintext": True,
    "nodeSelector": LABEL,
    **_POD,
}
_DAEMONS = {"nodeSelector": LABEL, "priorityClassName": "agents", "maxUnavailable": "10%", **_POD}


def below(path: str, samples: dict[str, t.Any]) -> dict[str, t.Any]:
    return {f"{path}.{field}": value for field, value in samples.items()}


# Another value than the one before, for each field.
CHANGED: dict[str, t.Any] = {
    **below("ovnImage", _IMAGE),
    **below("ovsImage", _IMAGE),
    **below("agentImage", _IMAGE),
    **below("northbound", _DATABASE),
    **below("southbound", _DATABASE),
    **below("relay", {"rbac": True, **_RESOURCES}),
    **below("northd", {"replicas": 2, "threads": 4, **_POD}),
    **below("observer", _POD),
    "priorityClassName": "databases",
    "heartbeatInterval": 300,
    "metricsPort": 9476,
    "imagePullSecrets[].name": "theirs",
    **below("controller", _DAEMONS),
    **below(
        "ovs",
        {
            "datapathType": "netdev",
            "mode": "host",
            **below("ovsdbServer", _RESOURCES),
            "underlay.bridge": "br-up",
            "underlay.interface": "eth2",
            **_DAEMONS,
        },
    ),
    **below("encapsulation", {"type": "vxlan", "interface": "eth2", "cidr": "192.0.2.0/24"}),
    **below("bridgeMappings[]", {"physicalNetwork": "physnet2", "bridge": "br-vlan", "ports": ["eth2"]}),
    "gateway.nodeSelector": LABEL,
    **below("leaderProxy", {"enabled": True, "published": False, "nodeSelector": LABEL, **_RESOURCES, **_TOLERATION}),
    **below(
        "metadataAgent",
        {
            "enabled": True,
            "program": "neutron-ovn-agent",
            **below("image", _IMAGE),
            **below("novaMetadata", {"host": "192.0.2.31", "port": 8776, "protocol": "https"}),
            **below("sharedSecretRef", {"name": "theirs", "key": "value"}),
            "nodeSelector": LABEL,
            "priorityClassName": "agents",
            "maxUnavailable": "10%",
            "workers": 2,
            "extraConfig": {"DEFAULT": {"debug": "true"}},
            **_RESOURCES,
            **_TOLERATION,
        },
    ),
    **below(
        "hypervisorClusters[]",
        {"name": "rack2", "namespace": "ovn", **below("kubeconfigSecretRef", {"name": "theirs", "key": "value"})},
    ),
    **below("neutronIntegration.nbConnection.service", {"name": "nb", "port": 16641}),
    **below("neutronIntegration.sbConnection.service", {"name": "sb", "port": 16642}),
    "neutronIntegration.sbConnection.allowedCidrs": ["192.0.2.0/24"],
    "neutronIntegration.sbConnection.allowedNamespaces": ["openstack"],
    "neutronIntegration.sbConnection.nodePorts": [31001, 31002, 31003],
    "tls.enabled": False,
    "tls.certificates": "operator",
    "tls.ciphers": "ECDHE+AESGCM",
    "tls.certSecretRef.name": "certificates",
    "tls.southboundClientCaKey": "client-ca.crt",
    "tls.nodeCertificates": "own",
    **below("tls.caConfigMapRef", {"name": "trusted", "key": "cas.pem"}),
    **below("tls.southboundClientCaConfigMapRef", {"name": "clients", "key": "cas.pem"}),
    **below(
        "network",
        {
            "ipFamilyPolicy": "PreferDualStack",
            "ipFamilies": ["IPv6"],
            "netCidr": "10.128.0.0/14/23",
            "svcCidr": "172.30.0.0/16",
        },
    ),
}


def fields(schema: dict[str, t.Any], path: str = "") -> t.Iterator[str]:
    """Paths of all fields that hold a value."""
    if schema.get("type") == "object" and "properties" in schema:
        for name, field in schema["properties"].items():
            yield from fields(field, f"{path}.{name}" if path else name)
    elif schema.get("type") == "array" and schema["items"]["type"] == "object":
        yield from fields(schema["items"], f"{path}[]")
    else:
        yield path


def with_value(raw: dict[str, t.Any], path: str, value: t.Any) -> dict[str, t.Any]:
    result = copy.deepcopy(raw)
    *parents, last = path.split(".")
    place = result
    for parent in parents:
        place = place[parent[:-2]][0] if parent.endswith("[]") else place.setdefault(parent, {})
    place[last] = value
    return result


def effects(raw: dict[str, t.Any]) -> str:
    """Everything that comes of a specification: objects of both clusters, settings of each node and of each database, endpoints, or that it is refused."""
    try:
        spec = parse_spec(raw, name="ovn", namespace="net")
    except InvalidInput as e:
        return str(e)
    replicas = {database: spec.database(database).replicas for database in DATABASES}
    central = manifests_of(raw, name="ovn", namespace="net", replicas=replicas)
    node = Node("worker", "u", LABEL, {}, ("192.0.2.1",), True)
    default = default_settings(spec, ["ssl:192.0.2.11:6642"])
    hypervisors = hypervisor_manifests_of(
        spec, settings=settings_files(default, plan_chassis([node], spec, default, {}), {})
    )
    wanted = t.cast("t.Any", types.SimpleNamespace(spec=spec))
    databases = [repr(desired_settings(wanted, database)) for database in DATABASES]
    outside = outside_endpoints(spec, [one for one in central if one["kind"] == "Service"], [])
    # What the operator is told: which clusters there are, and whether it issues certificates.
    operator = repr((spec.hypervisor_clusters, spec.tls.certificates))
    services = [
        {**one, "spec": {**one["spec"], "clusterIP": "192.0.2.9"}} for one in central if one["kind"] == "Service"
    ]
    before = {"leaderProxyNorthbound": "ssl:192.0.2.9:6641", "leaderProxySouthbound": "ssl:192.0.2.9:16642"}
    proxy = published_endpoints(spec, before, services)
    return json.dumps([central, hypervisors, databases, outside, operator, proxy])


ALL = sorted(fields(CLUSTER_SPEC))


def test_there_is_an_example_for_each_field_and_no_other() -> None:
    assert sorted(CHANGED) == ALL


@pytest.mark.parametrize("path", ALL)
def test_field(path: str) -> None:
    base = BASE.get(path, {})
    assert effects(with_value(base, path, CHANGED[path])) != effects(base), f"spec.{path} changes nothing"


CHASSIS = {
    "hostname": "worker",
    "systemId": "worker",
    "bridgeMappings": MAPPINGS,
    "encapsulation": {"type": "geneve", "ip": "192.0.2.1"},
}
CHASSIS_CHANGED: dict[str, t.Any] = {
    "hostname": "worker.example.com",
    "systemId": "chassis-1",
    **below("bridgeMappings[]", {"physicalNetwork": "physnet2", "bridge": "br-vlan", "ports": ["eth2"]}),
    **below("encapsulation", {"type": "vxlan", "ip": "192.0.2.2"}),
}


def settings_of_node(chassis: dict[str, t.Any]) -> str:
    """The settings of a node if another client wrote this into its OVNChassis."""
    manager = {"manager": "kubectl", "fieldsV1": {"f:spec": {f"f:{field}": {} for field in chassis}}}
    declared = declared_settings({"metadata": {"name": "worker", "managedFields": [manager]}, "spec": chassis})
    spec = parse_spec({}, name="ovn", namespace="net")
    node = Node("worker", "u", LABEL, {}, ("192.0.2.9",), True)
    default = default_settings(spec, ["ssl:192.0.2.11:6642"])
    return json.dumps(settings_files(default, plan_chassis([node], spec, default, {"worker": declared}), {}))


def test_there_is_an_example_for_each_field_of_a_chassis() -> None:
    assert sorted(CHASSIS_CHANGED) == sorted(fields(CHASSIS_SPEC))


@pytest.mark.parametrize("path", sorted(fields(CHASSIS_SPEC)))
def test_field_of_a_chassis(path: str) -> None:
    changed = with_value(CHASSIS, path, CHASSIS_CHANGED[path])
    assert settings_of_node(changed) != settings_of_node(CHASSIS), f"OVNChassis spec.{path} changes nothing"
