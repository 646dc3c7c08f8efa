"""The operator on a real API server, with database pods on loopback: one OVNCluster is applied, and nobody runs a playbook."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import pathlib
import typing as t
import urllib.error

import _control_plane
import _rights
import pytest
import yaml
from _control_plane import WHOLE, ControlPlane, available
from _hypervisors import Hypervisors, hypervisor_cluster
from _operated import Operated
from _pods_on_api import Kubelet
from _rights import Operator
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.manifests import OperatorOptions, operator_manifests

plane, kubelet, operator = _control_plane.plane, _control_plane.kubelet, _rights.operator  # fixtures
COLLECTION = pathlib.Path(__file__).resolve().parents[2]
DAEMON_SETS = "/apis/apps/v1/daemonsets"


@pytest.fixture
def operated(plane: ControlPlane, kubelet: Kubelet, operator: Operator) -> t.Iterator[Operated]:
    """With exactly the rights of deploy/, for the namespace of the test."""
    plane.server.define()
    roles = [
        one
        for one in operator_manifests(OperatorOptions("default", plane.namespace, {}))
        if one["kind"] in ("ClusterRole", "Role")
    ]
    for role in roles:
        role["metadata"]["name"] = operator.name
    operator.grant(*(one for one in roles if one["metadata"].get("namespace") != "default"))
    one = Operated(plane, kubelet.cluster({"kubeconfig": operator.kubeconfig}))

    def may() -> bool:  # the API server notices new Roles a moment later
        with contextlib.suppress(Refused):
            return [
                one.cluster.list(api, kind, plane.namespace)
                for api, kind in ((API_VERSION, "OVNCluster"), ("v1", "Secret"))
            ] == [[], []]
        return False

    until(may, "its rights to count")
    one.operator.start()
    yield one
    one.operator.stop(30)


def test_an_ovncluster_is_rolled_out_edited_and_deleted(operated: Operated, plane: ControlPlane) -> None:
    operated.apply(WHOLE)
    operated.deployments_available()
    condition = operated.await_condition("True", "AsDeclared", 120)
    assert condition["message"] == "The control plane is as declared."
    assert operated.condition("NorthboundReady")["status"] == operated.condition("SouthboundReady")["status"] == "True"
    assert plane.get("OVNCluster", "ovn")["metadata"]["finalizers"] == ["ovn.c5c3.io/operator"]
    assert any(reason == "Changed" and "StatefulSet" in message for reason, message in operated.events())

    # Nothing to do: nothing is written, and the runs that its own changes set off come to an end.
    until(lambda: operated.runs().get("unchanged"), "a run that finds nothing to do")
    versions, changed = plane.ours(), operated.runs()["changed"]
    before = operated.runs()["unchanged"]
    operated.wake()
    until(lambda: operated.runs()["unchanged"] > before, "one more run")
    assert plane.ours() == versions
    assert operated.runs()["changed"] == changed

    # An edit by its owner
    operated.apply({**WHOLE, "northd": {"replicas": 1}})
    until(lambda: plane.get("Deployment", "ovn-northd")["spec"]["replicas"] == 1, "the edit to arrive")
    available(plane, "ovn-northd")
    operated.await_condition("True", "AsDeclared")

    # Its end: no data
    claims = [f"data-ovn-{d}-{i}" for d, size in _control_plane.SIZES.items() for i in range(size)]
    plane.remove("OVNCluster", "ovn")
    for database in _control_plane.SIZES:
        until(
            lambda d=database: not operated.is_there("StatefulSet", f"ovn-{d}"), f"the StatefulSet of {database} to go"
        )
    for database, size in _control_plane.SIZES.items():
        for index in range(size):
            with contextlib.suppress(urllib.error.HTTPError):  # the controllers of the test are faster
                plane.remove("Pod", f"ovn-{database}-{index}")
    until(lambda: not operated.is_there("OVNCluster", "ovn"), "the OVNCluster to go", 60)
    for claim in claims:
        assert operated.is_there("PersistentVolumeClaim", claim)
    for database in _control_plane.SIZES:
        assert operated.is_there("ConfigMap", f"ovn-{database}-record")


class NeutronKind:
    """The kind Neutron of the API server, as an operator of Neutron defines it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.server = plane.server
        content = (COLLECTION / "tests/testbed/operator/neutron.yaml").read_text()
        (self.definition,) = yaml.safe_load_all(content)
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.path = f"{definitions}/{self.definition['metadata']['name']}"
        self.place = f"/apis/neutron.openstack.c5c3.io/v1alpha1/namespaces/{plane.namespace}/neutrons"
        self.server.request("POST", definitions, self.definition)

    def create(self, name: str, **ovn: t.Any) -> None:
        resource = {
            "apiVersion": "neutron.openstack.c5c3.io/v1alpha1",
            "kind": "Neutron",
            "metadata": {"name": name},
            "spec": {"ovn": ovn},
        }

        def posted() -> bool:
            with contextlib.suppress(OSError):
                self.server.request("POST", self.place, resource)
                return True
            return False

        until(posted, "the API server to serve the kind")

    def ovn_of(self, name: str) -> dict[str, t.Any]:
        found = json.loads(self.server.request("GET", f"{self.place}/{name}"))
        return t.cast("dict[str, t.Any]", found["spec"]["ovn"])

    def connections(self, name: str = "neutron") -> set[str]:
        ovn = self.ovn_of(name)
        return set(f"{ovn.get('nbConnection', '')},{ovn.get('sbConnection', '')}".split(","))

    def define_without(self, *fields: str) -> None:
        """Have a definition without these fields of `spec.ovn`, as other releases of the operator bring it."""
        (version,) = self.definition["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["ovn"]["properties"]
        for field in fields:
            del properties[field]
        self.server.request("PATCH", self.path, {"spec": {"versions": [version]}})
        until(lambda: not {*fields} & {*self.ovn_of("neutron")}, "the API server to drop the fields")

    def delete(self) -> None:
        self.server.request("DELETE", self.path)

        def is_gone() -> bool:
            with contextlib.suppress(OSError):
                self.server.request("GET", self.path)
                return False
            return True

        until(is_gone, "the kind Neutron to go")


@pytest.fixture
def neutrons(plane: ControlPlane) -> t.Iterator[NeutronKind]:
    kind = NeutronKind(plane)
    try:
        yield kind
    finally:
        kind.delete()


CLIENTS = {"sbConnection": {"allowedNamespaces": ["openstack"]}}


def member_addresses(plane: ControlPlane) -> set[str]:
    members = [("northbound", 0, 6641), ("northbound", 1, 6641), ("northbound", 2, 6641), ("southbound", 0, 16642)]
    return {f"tcp:{plane.get('Service', f'ovn-{d}-{index}')['spec']['clusterIP']}:{port}" for d, index, port in members}


def test_a_neutron_is_led_through_the_leader_proxy_once_it_runs(
    operated: Operated, plane: ControlPlane, neutrons: NeutronKind
) -> None:
    neutrons.create("neutron", enabled=True, clusterRef={"name": "ovn"})
    operated.apply({**WHOLE, "neutronIntegration": CLIENTS})
    operated.deployments_available()
    operated.await_condition("True", "AsDeclared", 120)
    addresses = member_addresses(plane)
    until(lambda: neutrons.connections() == addresses, "addresses in place of names")

    proxy = {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}}
    operated.apply({**WHOLE, "neutronIntegration": CLIENTS, "leaderProxy": proxy})
    until(lambda: operated.is_there("DaemonSet", "ovn-leader-proxy"), "the DaemonSet", 60)
    assert neutrons.connections() == addresses
    counts = dict.fromkeys(("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable"), 1)
    status = {**counts, "numberMisscheduled": 0, "observedGeneration": 1}
    plane.patch("DaemonSet", "ovn-leader-proxy/status", {"status": status})
    address = plane.get("Service", "ovn-leader-proxy")["spec"]["clusterIP"]
    through_proxy = {f"tcp:{address}:6641", f"tcp:{address}:16642"}
    until(lambda: neutrons.connections() == through_proxy, "the address of the proxy", 120)


def test_neutron_that_names_hypervisor_cluster_or_drops_fields_is_served_or_refused(
    operated: Operated, plane: ControlPlane, neutrons: NeutronKind
) -> None:
    whole = {**WHOLE, "neutronIntegration": CLIENTS}
    place = {"name": "hypervisor-cluster-a", "kubeconfigSecretRef": {"name": "missing"}}
    neutrons.create("neutron", enabled=True, clusterRef={"name": place["name"], "namespace": "infrastructure"})
    operated.apply({**whole, "hypervisorClusters": [place]})
    operated.deployments_available()
    until(lambda: "endpoints" in operated.status(), "the endpoints", 120)
    addresses = member_addresses(plane)
    until(lambda: neutrons.connections() == addresses, "the endpoints of the OVNCluster that lists it", 60)

    # A release that takes connections in other fields: the API server drops ours without an error.
    neutrons.define_without("nbConnection", "sbConnection")
    neutrons.create("second", enabled=True, clusterRef={"name": "ovn"})
    operated.apply(whole)
    message = operated.await_condition("False", "Refused", 60)["message"]
    assert (
        f"Neutron {plane.namespace}/second did not get nbConnection and sbConnection: the API server dropped" in message
    )
    secret = f"ovn-neutron-{plane.namespace}-second"
    assert f"the connections in Secret {plane.namespace}/{secret}" in message
    data = plane.get("Secret", secret)["data"]
    assert {one for text in data.values() for one in base64.b64decode(text).decode().split(",")} == addresses

    # One that reads the status of an OVNCentral, and has no fields of ours at all.
    neutrons.server.request("DELETE", f"{neutrons.place}/second")
    neutrons.define_without("enabled", "clusterRef")
    neutrons.create("newer", centralRef={"name": "ovn"})
    operated.apply({**whole, "heartbeatInterval": 33})
    operated.await_condition("True", "AsDeclared", 60)
    (told,) = [message for _reason, message in operated.events() if "centralRef" in message]
    assert f"Neutron {plane.namespace}/newer gets no endpoints from OVNCluster {plane.namespace}/ovn" in told
    assert "clientSecretName" in told
    assert operated.is_there("Secret", f"ovn-neutron-{plane.namespace}-newer")


@pytest.fixture
def nodes(plane: ControlPlane, run_module: t.Any) -> t.Iterator[Hypervisors]:
    """The hypervisor cluster is a namespace of the same API server: nobody runs its pods either."""
    # What the test before has left, whose operator ran until its end: a node has the daemons of one namespace only.
    for one in json.loads(plane.server.request("GET", DAEMON_SETS))["items"]:
        namespace, name = one["metadata"]["namespace"], one["metadata"]["name"]
        plane.server.request("DELETE", f"/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}")
    place = plane.server.new_namespace(f"{plane.namespace}-remote")
    with hypervisor_cluster(plane.server, place, run_module) as cluster:
        yield cluster


def exposed(nodes: Hypervisors, name: str = "rack1", **more: t.Any) -> dict[str, t.Any]:
    """A specification with one hypervisor cluster."""
    southbound = {**WHOLE["southbound"], "service": {"type": "NodePort", "allowPlaintext": True}}
    northbound = {**WHOLE["northbound"], "service": {"type": "NodePort", "allowPlaintext": True}}
    place = {"name": name, "namespace": nodes.namespace, "kubeconfigSecretRef": {"name": f"{name}-kubeconfig"}}
    return {**WHOLE, "southbound": southbound, "northbound": northbound, "hypervisorClusters": [place], **more}


def test_nodes_of_a_hypervisor_cluster_become_chassis(
    operated: Operated, nodes: Hypervisors, plane: ControlPlane
) -> None:
    nodes.node("node1", "127.0.0.1")
    operated.apply(exposed(nodes))
    operated.deployments_available()
    operated.await_condition("False", "Refused", 120)
    assert "rack1-kubeconfig does not exist" in operated.entry("rack1")["message"]

    operated.kubeconfig_secret("rack1-kubeconfig")
    until(lambda: "node1" in nodes.chassis(), "the chassis of the first node", 60)
    until(lambda: set(nodes.generations()) == {"ovs", "ovn-controller"}, "the DaemonSets")
    nodes.pods_are_ready(1)
    operated.await_entry("rack1", True, "AsDeclared")
    assert operated.await_condition("True", "AsDeclared")["message"].endswith("the hypervisors of 1 of 1 clusters.")

    # A node joins, and gets a mapping of its own: no resync is waited for.
    nodes.node("node2", "127.0.0.2")
    until(lambda: "node2" in nodes.chassis(), "the chassis of the second node")
    nodes.pods_are_ready(2)
    operated.await_entry("rack1", True, "AsDeclared")
    operated.apply(exposed(nodes, bridgeMappings=[{"physicalNetwork": "physnet1", "bridge": "br-ex"}]))

    def mappings() -> list[str]:
        return [one["physicalNetwork"] for one in nodes.chassis()["node1"]["spec"].get("bridgeMappings") or ()]

    until(lambda: mappings() == ["physnet1"], "the bridge mapping to arrive")
    # Somebody deletes what the operator made.
    uid = nodes.chassis()["node1"]["metadata"]["uid"]
    nodes.server.request("DELETE", "/apis/ovn.c5c3.io/v1alpha1/ovnchassis/node1")
    until(
        lambda: nodes.chassis().get("node1", {"metadata": {"uid": uid}})["metadata"]["uid"] != uid,
        "the chassis to come back",
    )

    # The observer of the control plane finds that a chassis does not answer, which a dead node cannot write into its OVNChassis.
    conditions = [one for one in operated.status()["conditions"] if one["type"] != "ControllersReady"]
    since = {"lastTransitionTime": "2026-03-01T12:00:00Z", "reason": "NoHeartbeat"}
    late = {"type": "ControllersReady", "status": "False", "message": "No answer: node2.", **since}
    before = sum(operated.runs("rack1").values())
    plane.patch("OVNCluster", "ovn/status", {"status": {"conditions": [*conditions, late]}})
    until(lambda: sum(operated.runs("rack1").values()) > before, "a run over the hypervisors", 60)

    # With nothing to do a look costs a few requests, however many nodes there are.
    for number in range(30):
        nodes.node(f"more{number}", f"10.0.0.{number + 1}")
    until(lambda: len(nodes.chassis()) == 32, "the chassis of all nodes")
    nodes.pods_are_ready(32)
    target = next(one for one in operated.operator.targets() if one.name == "rack1")
    until(lambda: operated.look("rack1") <= 15, "a run that has nothing to do", 60)
    assert target.requests > 32

    # Taken out of the list it runs on.
    generations = nodes.generations()
    operated.apply({key: value for key, value in exposed(nodes).items() if key != "hypervisorClusters"})
    until(lambda: not operated.entry("rack1"), "its entry to go")
    assert nodes.generations() == generations
    assert any("not in hypervisorClusters any more" in message for _reason, message in operated.events())


def test_metadata_agents_follow_the_secret_of_nova(operated: Operated, nodes: Hypervisors) -> None:
    agent = {
        "enabled": True,
        "image": {"repository": "example.org/neutron", "tag": "1"},
        "novaMetadata": {"host": "nova"},
        "sharedSecretRef": {"name": "nova"},
    }
    secrets = f"/api/v1/namespaces/{nodes.namespace}/secrets"
    nodes.node("node1", "127.0.0.1")
    operated.kubeconfig_secret("rack1-kubeconfig")
    operated.apply(exposed(nodes, metadataAgent=agent))
    operated.deployments_available()
    until(lambda: "metadataAgent" in operated.entry("rack1").get("message", ""), "the missing Secret to be named", 120)
    assert "nova (spec.metadataAgent.sharedSecretRef) does not exist" in operated.entry("rack1")["message"]

    def write(secret: str) -> dict[str, t.Any]:
        return {"metadata": {"name": "nova"}, "stringData": {"metadata_proxy_shared_secret": secret}}

    nodes.server.request("POST", secrets, write("one"))
    until(lambda: "ovn-metadata-agent" in nodes.generations(), "the DaemonSet", 60)
    nodes.pods_are_ready(1, "ovs", "ovn-controller", "ovn-metadata-agent")
    operated.await_entry("rack1", True, "AsDeclared")
    until(lambda: operated.look("rack1") <= 16, "a run that has nothing to do", 60)
    # From here on nothing wakes it but the Secret itself.
    nodes.server.request("PATCH", f"{secrets}/nova", write("two"))
    until(lambda: nodes.generations()["ovn-metadata-agent"] == 2, "pods with the new secret", 60)
    nodes.pods_are_ready(1, "ovn-metadata-agent")
    operated.apply(exposed(nodes, metadataAgent={**agent, "enabled": False}))
    until(lambda: "ovn-metadata-agent" not in nodes.generations(), "the DaemonSet to go", 60)
    operated.await_entry("rack1", True, "AsDeclared")


def test_broken_cluster_is_reported_and_others_continue(
    operated: Operated, nodes: Hypervisors, plane: ControlPlane
) -> None:
    nodes.node("node1", "127.0.0.1")
    places = [
        {"name": name, "namespace": namespace, "kubeconfigSecretRef": {"name": f"{name}-kubeconfig"}}
        for name, namespace in {
            "rack1": nodes.namespace,
            **dict.fromkeys(("away", "expired", "program"), "elsewhere"),
        }.items()
    ]
    flat = operated.flat_kubeconfig()
    operated.kubeconfig_secret("rack1-kubeconfig")
    away = copy.deepcopy(flat)
    away["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    operated.kubeconfig_secret("away-kubeconfig", away)
    expired = copy.deepcopy(flat)
    expired["users"][0]["user"] = {"token": "former"}
    operated.kubeconfig_secret("expired-kubeconfig", expired)
    program = copy.deepcopy(flat)
    program["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch"}}
    operated.kubeconfig_secret("program-kubeconfig", program)
    specification = {**exposed(nodes), "hypervisorClusters": places}
    operated.apply(specification)
    operated.deployments_available()
    until(lambda: set(nodes.generations()) == {"ovs", "ovn-controller"}, "the DaemonSets", 120)
    nodes.pods_are_ready(1)
    operated.await_entry("rack1", True, "AsDeclared")
    unreachable = operated.await_entry("away", False, "Unreachable")["message"]
    assert "/away-kubeconfig, key kubeconfig: nothing listens there" in unreachable
    assert "401" in operated.await_entry("expired", False, "Refused")["message"]
    refused = operated.await_entry("program", False, "InvalidInput")["message"]
    assert "names exec: the operator runs no programs" in refused
    # The first of them is in the condition, with the names of the others.
    assert operated.condition()["message"].startswith("Hypervisor cluster away: ")
    assert operated.condition()["message"].endswith("Not ready, too: expired, program.")

    # A second entry for the same cluster would give nodes two of each daemon, or issue the first one's certificates in turn.
    again = {**places[0], "name": "again"}
    second = {**again, "namespace": f"{nodes.namespace}-2"}
    operated.kubeconfig_secret("again-kubeconfig")
    for place, told in ((again, "are namespace"), (second, f"in namespace {nodes.namespace} already")):
        place["kubeconfigSecretRef"] = {"name": "again-kubeconfig"}
        operated.apply({**specification, "hypervisorClusters": [places[0], place]})
        until(lambda told=told: told in operated.entry("again").get("message", ""), f"a refusal: {told}", 60)
    operated.apply(specification)
    until(lambda: operated.entry("away").get("reason") == "Unreachable", "the former places", 60)

    # Rules that no schema has: nothing is half-done.
    before = plane.get("StatefulSet", "ovn-northbound")["spec"]
    operated.apply({**specification, "northbound": {**specification["northbound"], "replicas": 1}})
    wrong = operated.await_condition("False", "Refused")["message"]
    assert "set replicas to the old number again" in wrong
    assert plane.get("StatefulSet", "ovn-northbound")["spec"] == before
    told = [message for reason, message in operated.events() if reason == "Refused"]
    assert told[-1] == f"control-plane: {wrong}"[: len(told[-1])]
    # The chassis still come from the last generation that was rolled out; what is declared next counts again.
    operated.apply({**specification, "hypervisorClusters": places[:1]})
    assert operated.await_condition("True", "AsDeclared")["message"].endswith("the hypervisors of 1 of 1 clusters.")
