"""The definitions and manifests on a real API server: what it refuses and in which words, defaults, columns, and that objects read as they were sent."""

from __future__ import annotations

import copy
import json
import pathlib
import ssl
import typing as t
import urllib.parse
import urllib.request

import pytest
import yaml
from _apiserver import ADMIN_TOKEN
from built_manifests import hypervisor_manifests_of, manifests_of
from refused_specs import REFUSED, metadata_agent, northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION, labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import complete
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import contains

if t.TYPE_CHECKING:
    from _apiserver import ApiServer


@pytest.fixture(scope="module")
def cluster(api_server: ApiServer) -> Cluster:
    """With the definitions in place."""
    api_server.define()
    return Cluster({"kubeconfig": api_server.kubeconfig})


def ovn_cluster(namespace: str, spec: dict[str, t.Any], name: str = "prod") -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels(name)}
    return {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": metadata, "spec": spec}


def ovn_chassis(name: str, **spec: t.Any) -> dict[str, t.Any]:
    full = {"hostname": name, "systemId": name, "encapsulation": {"ip": "192.0.2.1"}, **spec}
    return {"apiVersion": API_VERSION, "kind": "OVNChassis", "metadata": {"name": name}, "spec": full}


SERVER_MESSAGES = {
    "a load balancer with networks for Neutron alone": r"sbConnection\.allowedCidrs: .*without networks for chassis everybody",
    "ports for Neutron without exposing": r"sbConnection\.nodePorts: .*to named networks",
    "too few ports for Neutron": r"sbConnection\.nodePorts: .*one port for each member",
    "a port for Neutron that is one of chassis": r"sbConnection\.nodePorts: .*only be used once",
    "an even number of members": r"spec\.northbound\.replicas: .*has 1, 3 or 5 members",
    "a size with a wrong unit": r"spec\.northbound\.storage\.size",
    "names without exposing": r"hostnames: .*need a service of type",
    "too few names": r"northbound\.service\.hostnames: .*one name for each member",
    "one name behind load balancers": r"northbound\.service\.hostnames: .*each needs a name of its own",
    "one name where only the node of a member answers": r"northbound\.service\.hostnames: .*only the node of a member answers",
    "a port twice": r"northbound\.service\.nodePorts: .*only be used once",
    "too few ports": r"northbound\.service\.nodePorts: .*one port for each member",
    "ports without exposing": r"nodePorts: .*need a service of type",
    "a port in both databases": r"southbound\.service\.nodePorts",
    "interface and network": "exclude each other",
    "an old encapsulation": r'spec\.encapsulation\.type.*"geneve"',
    "one name for both Services": "different names",
    "an underlay of the kernel's datapath": r"only a datapath in user space \(netdev\) needs an underlay",
    "half an underlay": r"spec\.ovs\.underlay\.interface",
    "a digest without its kind": r"spec\.ovnImage\.digest",
    "an unknown field": r"spec\.northbound\.replica\b",
    "a physical network twice": r"bridgeMappings.*[Dd]uplicate",
    "two families on a single stack": r"network\.ipFamilies.*two ipFamilies need the ipFamilyPolicy",
    "exposed without TLS": r"southbound\.service\.type.*without TLS everybody who reaches an exposed port reads and writes",
    "two bundles of clients": r"tls\.southboundClientCaKey.*exclude each other",
    "a ConfigMap without name": r"tls\.caConfigMapRef\.name",
    "networks that no policy can see": r"northbound\.service\.allowedCidrs.*only keeps with externalTrafficPolicy Local",
    "a timer below OVSDB's limit": r"spec\.northbound\.electionTimer.*100",
    "a name that is none: 192.0.2.1": r"northbound\.service\.hostnames\[1\]",
    "a metadata agent without an image": r"metadataAgent\.image: .*no image",
    "an unknown program of the metadata agent": r"metadataAgent\.program",
    "a metadata agent without Nova": r"metadataAgent: .*novaMetadata\.host",
    "a metadata agent without a secret": r"metadataAgent: .*sharedSecretRef",
    "a metadata agent elsewhere than ovn-controller": r"metadataAgent\.nodeSelector: .*needs the ovn-controller of its node",
    "an option of the metadata agent with two lines": r"metadataAgent\.extraConfig",
    "the account that all pods have": r"spec\.observer\.serviceAccountName: .*every pod of the namespace",
    "an account that cannot exist": r"spec\.observer\.serviceAccountName: ",
    "an image of agents without a name": r"spec\.agentImage\.repository",
    "a priority class that is no name": r"spec\.priorityClassName",
}
SPECIFICATIONS = {what: spec for what, spec, _ours in REFUSED}


@pytest.mark.parametrize("what", SERVER_MESSAGES)
def test_the_api_server_refuses(cluster: Cluster, namespace: str, what: str) -> None:
    with pytest.raises(OvnError, match=f"(?s){SERVER_MESSAGES[what]}"):
        cluster.apply(ovn_cluster(namespace, SPECIFICATIONS[what]))


EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples" / "ovncluster").glob("*.yml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_taken_as_they_are(
    cluster: Cluster, namespace: str, api_server: ApiServer, path: pathlib.Path
) -> None:
    """As kubectl sends them: an unknown field would be refused, and one that was pruned is missing in the answer. Defaults come beside them."""
    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    place = f"/apis/{API_VERSION}/ovnchassis"
    if manifest["kind"] == "OVNCluster":
        manifest["metadata"]["namespace"] = namespace
        place = f"/apis/{API_VERSION}/namespaces/{namespace}/ovnclusters"
    else:
        manifest["metadata"]["name"] = f"{manifest['metadata']['name']}-{namespace}"
    answer = json.loads(api_server.request("POST", f"{place}?fieldValidation=Strict", manifest))
    try:
        assert kept(manifest.get("spec", {}), answer["spec"]) == []
    finally:
        api_server.request("DELETE", f"{place}/{manifest['metadata']['name']}")


def kept(sent: t.Any, there: t.Any, path: str = "spec") -> list[str]:
    """Return the places where something that was sent is missing or another value."""
    if isinstance(sent, dict) and isinstance(there, dict):
        return [place for key, value in sent.items() for place in kept(value, there.get(key), f"{path}.{key}")]
    return [] if sent == there else [path]


LATER = [
    ("a smaller volume", northbound(storage={"size": "5Gi"}), r"can grow, but never shrink"),
    ("encryption switched off", {"tls": {"enabled": False}}, r"cannot be changed for an existing cluster"),
]


@pytest.mark.parametrize(("spec", "words"), [row[1:] for row in LATER], ids=[row[0] for row in LATER])
def test_changes_of_immutable_fields_are_rejected(
    cluster: Cluster, namespace: str, spec: dict[str, t.Any], words: str
) -> None:
    cluster.apply(ovn_cluster(namespace, {}))
    with pytest.raises(OvnError, match=words):
        cluster.apply(ovn_cluster(namespace, spec))
    cluster.delete(API_VERSION, "OVNCluster", "prod", namespace)
    cluster.apply(ovn_cluster(namespace, spec))  # a new one may have it


def test_changes_of_mutable_fields_are_accepted(cluster: Cluster, namespace: str) -> None:
    cluster.apply(ovn_cluster(namespace, {}))
    more = northbound(replicas=5, storage={"size": "20Gi"}, service={"type": "LoadBalancer"}, electionTimer=10000)
    assert cluster.apply(ovn_cluster(namespace, more))["spec"]["northbound"]["replicas"] == 5
    less = cluster.apply(ovn_cluster(namespace, northbound(storage={"size": "20480Mi"})))
    assert (less["spec"]["northbound"]["replicas"], less["metadata"]["generation"]) == (3, 3)
    # Only a run knows whether there are volumes of the old class.
    for storage in ({"storageClass": "fast"}, {"storageClass": "slow"}, {}):
        assert cluster.apply(ovn_cluster(namespace, northbound(storage={"size": "20Gi", **storage})))


def test_defaults_are_ours(cluster: Cluster, namespace: str) -> None:
    spec = cluster.apply(ovn_cluster(namespace, northbound(service={"type": "NodePort"})))["spec"]
    assert spec == complete(CLUSTER_SPEC, northbound(service={"type": "NodePort"}), "spec")
    read = parse_spec(spec, name="prod", namespace=namespace)
    assert read == parse_spec(northbound(service={"type": "NodePort"}), name="prod", namespace=namespace)


def test_a_resource_without_any_field(cluster: Cluster, namespace: str, api_server: ApiServer) -> None:
    bare = {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": {"name": "bare"}}
    answer = json.loads(api_server.request("POST", f"/apis/{API_VERSION}/namespaces/{namespace}/ovnclusters", bare))
    assert answer["spec"] == complete(CLUSTER_SPEC, {}, "spec")


def columns(api_server: ApiServer, path: str) -> dict[str, t.Any]:
    """What kubectl shows."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    request = urllib.request.Request(
        api_server.url + urllib.parse.quote(path), headers={"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": accept}
    )
    context = ssl.create_default_context(cafile=api_server.ca_certificate)
    with urllib.request.urlopen(request, timeout=20, context=context) as response:
        table = json.load(response)
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"]))


def test_status_and_columns(cluster: Cluster, namespace: str, api_server: ApiServer) -> None:
    manifest = ovn_cluster(namespace, {})
    cluster.apply(manifest)
    member = {"name": "prod-northbound-0", "serverId": "0" * 36, "role": "leader", "connected": True}
    status = {
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Healthy",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 1,
            }
        ],
        "endpoints": {"northbound": "ssl:192.0.2.1:30001", "southbound": ""},
        "chassisCount": 2,
        "activeControllers": 2,
        "northbound": {"verdict": "healthy", "clusterId": "0" * 36, "leader": "prod-northbound-0", "members": [member]},
        "southbound": {"verdict": "degraded"},
    }
    answer = cluster.apply_status({**manifest, "spec": {}, "status": status})
    assert answer["status"] == status
    assert answer["metadata"]["generation"] == 1
    shown = columns(api_server, f"/apis/{API_VERSION}/namespaces/{namespace}/ovnclusters")
    assert {key: shown[key] for key in ("Ready", "Northbound", "Southbound", "Chassis", "NB endpoints")} == {
        "Ready": "True",
        "Northbound": "healthy",
        "Southbound": "degraded",
        "Chassis": 2,
        "NB endpoints": "ssl:192.0.2.1:30001",
    }


def condition(kind: str, status: str = "True") -> dict[str, t.Any]:
    """As metav1.Condition has to be."""
    times = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
    return {"type": kind, "status": status, "reason": "AsTested", "message": "", **times}


def test_chassis(cluster: Cluster, api_server: ApiServer) -> None:
    manifest = ovn_chassis("worker-1", bridgeMappings=[{"physicalNetwork": "physnet1", "bridge": "br-ex"}])
    assert cluster.apply(manifest)["spec"]["encapsulation"] == {"type": "geneve", "ip": "192.0.2.1"}
    connected = condition("OVSConnected")
    status = {"conditions": [connected], "lastHeartbeat": "2026-01-01T00:00:00Z"}
    cluster.apply_status({**manifest, "status": status})
    for field in ("reason", "message", "lastTransitionTime"):
        less = {key: value for key, value in connected.items() if key != field}
        with pytest.raises(OvnError, match=rf"conditions\[0\]\.{field}: Required"):
            cluster.apply_status({**manifest, "status": {"conditions": [less]}})
    with pytest.raises(OvnError, match=r"conditions\[0\]\.reason"):
        cluster.apply_status({**manifest, "status": {"conditions": [{**connected, "reason": "two words"}]}})
    shown = columns(api_server, f"/apis/{API_VERSION}/ovnchassis")
    assert (shown["System id"], shown["Encapsulation"], shown["OVS"]) == ("worker-1", "192.0.2.1", "True")
    for field in ("systemId", "hostname"):
        with pytest.raises(OvnError, match="cannot be changed"):
            cluster.apply(ovn_chassis("worker-1", **{field: "worker-2"}))
    with pytest.raises(OvnError, match="encapsulation"):
        cluster.apply({**ovn_chassis("worker-2"), "spec": {"hostname": "w", "systemId": "w"}})


SPECS: list[tuple[str, dict[str, t.Any]]] = [
    ("all defaults", {}),
    ("without TLS", {"tls": {"enabled": False}}),
    ("without a priority class", {"priorityClassName": ""}),
    (
        "with everything",
        {
            "northbound": {
                "replicas": 5,
                "storage": {"size": "1024Mi", "storageClass": "fast"},
                "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2Gi"}},
                "service": {
                    "type": "NodePort",
                    "annotations": {"a": "b"},
                    "hostnames": [f"nb-{index}.example.com" for index in range(5)],
                },
                "nodeSelector": {"rack": "1"},
                "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
            },
            "southbound": {"replicas": 1, "service": {"type": "LoadBalancer"}},
            "northd": {
                "replicas": 2,
                "threads": 4,
                "resources": {"requests": {"cpu": "1000m"}},
                "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "ovn", "effect": "NoSchedule"}],
            },
            "observer": {"tolerations": [{"operator": "Exists"}]},
            "network": {"netCidr": "10.128.0.0/14/23", "svcCidr": "172.30.0.0/16"},
        },
    ),
]


@pytest.mark.parametrize("raw", [row[1] for row in SPECS], ids=[row[0] for row in SPECS])
def test_manifests_read_as_they_were_sent(cluster: Cluster, namespace: str, raw: dict[str, t.Any]) -> None:
    owner = cluster.apply(ovn_cluster(namespace, raw))
    manifests = manifests_of(
        raw,
        name="prod",
        namespace=namespace,
        owner=owner,
        launcher="#!/bin/sh\n",
        archive=b"PK",
        replicas={"northbound": 1, "southbound": 0},
    )
    assert_stable(cluster, manifests)


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"ovs": {"datapathType": "netdev", "tolerations": [{"operator": "Exists"}]}},
        {**metadata_agent(), "gateway": {"nodeSelector": {"gateway": "yes"}}, "tls": {"nodeCertificates": "own"}},
    ],
)
def test_manifests_of_hypervisors_read_as_they_were_sent(
    cluster: Cluster, namespace: str, raw: dict[str, t.Any]
) -> None:
    manifests = hypervisor_manifests_of(
        parse_spec(raw, name="prod", namespace=namespace),
        name="prod",
        namespace=namespace,
        api_server="https://192.0.2.10:6443",
        settings={"default": "{}"},
        archive=b"PK",
    )
    assert_stable(cluster, manifests)


def assert_stable(cluster: Cluster, manifests: list[dict[str, t.Any]]) -> None:
    first = [cluster.apply(copy.deepcopy(manifest)) for manifest in manifests]
    for manifest, answer in zip(manifests, first):
        assert contains(answer, manifest), f"{manifest['kind']} {manifest['metadata']['name']}"
    again = [cluster.apply(copy.deepcopy(manifest)) for manifest in manifests]
    versions = [[answer["metadata"]["resourceVersion"] for answer in answers] for answers in (first, again)]
    assert versions[0] == versions[1]
