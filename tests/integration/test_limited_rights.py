"""The Roles of examples/rights for who only looks and who runs the ping, on a real API server: with exactly these everything works,
and without any one verb a message names it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys
import threading
import typing as t

import _control_plane
import _playbooks
import _rights
import pytest
from _apiserver import ApiServer
from _control_plane import WHOLE, ControlPlane
from _pods_on_api import Kubelet
from _rights import Access, Operator, Requests, example_roles
from ansible_collections.kubernetes.core.plugins.modules import k8s, k8s_info
from conftest import MakeCluster, Pki
from example_rights import LIMITED_RIGHTS

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import Right
from ansible_collections.c5c3.ovn.plugins.modules import (
    ovn_central_info,
    ovn_cluster_info,
    ovn_database_info,
    ovn_test_network,
)

plane, kubelet, operator = _control_plane.plane, _control_plane.kubelet, _rights.operator  # fixtures

Object = dict[str, t.Any]
# Kubernetes 1.34 and older count a WebSocket as `get` alone; which of the two kubectl uses depends on its version.
EXEC = {("", "pods/exec", "get"), ("", "pods/exec", "create")}
NODES = "/api/v1/nodes"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CHASSIS = "/apis/ovn.c5c3.io/v1alpha1/ovnchassis"
LABELS = {"app.kubernetes.io/name": "c5c3-ping", "app.kubernetes.io/component": "ping"}


def table(rights: t.Iterable[Right]) -> set[Access]:
    return {(right.group, right.resource, verb) for right in rights for verb in right.verbs}


def names(text: str, access: Access) -> bool:
    """Whether the text names verb and resource, however often it was quoted."""
    _group, resource, verb = access
    return f'cannot {verb} resource "{resource}"' in text.replace("\\", "")


@pytest.fixture
def rolled_out(plane: ControlPlane, kubelet: Kubelet) -> t.Iterator[ControlPlane]:
    """A control plane with node ports and a leader proxy that nobody runs, whose pods run on this host. One member of the Northbound is away."""
    spec: Object = {
        **WHOLE,
        "neutronIntegration": {"sbConnection": {"allowedNamespaces": ["openstack"]}},
        "leaderProxy": {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}},
    }
    for database in ("northbound", "southbound"):
        spec[database] = {**WHOLE[database], "service": {"type": "NodePort", "allowPlaintext": True}}
    plane(spec=spec, wait=False, wait_timeout=120)
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    node = f"node-{plane.namespace}"
    plane.server.request("POST", NODES, {"metadata": {"name": node}, "status": {"addresses": addresses}})
    kubelet.sets.clear()  # nobody starts it again
    kubelet.ended("ovn-northbound-2")
    kubelet.asks_for_commands = True
    yield plane
    plane.server.request("DELETE", f"{NODES}/{node}")


def look(plane: ControlPlane, kubeconfig: str) -> str:
    """What status, verify and show ask of a control plane; all that it says, as JSON."""
    options = {"kubeconfig": kubeconfig}
    rows = {**options, "cluster": "ovn", "tables": ["NB_Global"], "database": "northbound"}
    state = {
        **options,
        "cluster": "ovn",
        "tls_secret": "ovn-tls",
        "endpoints": ["ssl:127.0.0.1:1"],
        "raft": {"contents": True},
    }
    found = [
        plane.module(ovn_cluster_info, options, False, True),
        plane.module(ovn_central_info, state, False, True),
        plane.module(ovn_database_info, rows, False, True),
    ]
    return json.dumps([ran.result for ran in found])


def test_who_looks_at_a_control_plane(
    rolled_out: ControlPlane, operator: Operator, pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane, rights = rolled_out, LIMITED_RIGHTS["view", "cluster"]
    plane.server.request(
        "POST", f"/api/v1/namespaces/{plane.namespace}/secrets", pki.issue("client").secret("ovn-tls", "")
    )
    roles = example_roles("ovn-control-plane-view", operator.name, plane.namespace)
    operator.grant(*roles)
    operator.await_denied(rights, plane.namespace, set())
    requests = Requests(monkeypatch)

    cluster, state, rows = json.loads(look(plane, operator.kubeconfig))
    assert requests.forbidden == []
    assert requests.accesses == table(rights)
    assert cluster["endpoints"]["northbound"].count("tcp:127.0.0.1:") == 3
    assert (state["raft"]["northbound"]["verdict"], state["raft"]["southbound"]["verdict"]) == ("degraded", "healthy")
    assert "private_key" not in state["certificates"][0]["problem"], "the Secret was read"
    assert len(rows["tables"]["NB_Global"]) <= 1

    unnamed = {
        access
        for access in operator.without_each_verb(roles, rights, plane.namespace)
        if not names(look(plane, operator.kubeconfig), access)
    }
    assert unnamed - EXEC == {("", "events", "list")}, "which only explain"
    assert EXEC - unnamed


def test_a_heartbeat_without_the_right_to_read_its_key(plane: ControlPlane, operator: Operator) -> None:
    place = {"cluster": "ovn", "tls_secret": "ovn-tls", "kubeconfig": operator.kubeconfig}
    endpoints = {"northbound": ["ssl:127.0.0.1:1"], "southbound": ["ssl:127.0.0.1:1"]}
    operator.grant(*example_roles("ovn-control-plane-ping", operator.name, plane.namespace))
    operator.await_denied(LIMITED_RIGHTS["ping", "cluster"], plane.namespace, set())
    found = plane.module(ovn_central_info, {**place, "heartbeat": endpoints}, False, False)
    assert found["heartbeat"]["failed"]
    assert names(found["heartbeat"]["msg"], ("", "secrets", "get"))


def test_who_looks_cannot_change_anything(plane: ControlPlane, operator: Operator, api_server: ApiServer) -> None:
    """But for commands in pods."""
    plane.late()
    plane.make("Secret", "other")
    plane.make("Secret", "ovn-tls")
    plane.make("Pod", "ovn-northbound-0", spec={"containers": [{"name": "database", "image": "ovn"}]})
    for kind, shown in (("cluster", "ovn-control-plane-view"), ("hypervisors", "ovn-hypervisors-view")):
        name = f"{operator.name}-{kind}"
        operator.grant(*example_roles(shown, name, plane.namespace))
    operator.await_denied(LIMITED_RIGHTS["view", "cluster"], plane.namespace, set())
    cluster = operator.connect()
    kinds = {
        ("ovn.c5c3.io/v1alpha1", "OVNCluster"): "ovn",
        ("v1", "Pod"): "ovn-northbound-0",
        ("v1", "Secret"): "ovn-tls",
        ("v1", "ConfigMap"): "ovn-northbound-record",
        ("v1", "Service"): "ovn-northbound",
        ("v1", "ServiceAccount"): "ovn-northbound",
        ("apps/v1", "StatefulSet"): "ovn-northbound",
        ("apps/v1", "Deployment"): "ovn-northd",
        ("rbac.authorization.k8s.io/v1", "Role"): "ovn-observer",
        ("rbac.authorization.k8s.io/v1", "RoleBinding"): "ovn-observer",
    }
    for (api_version, kind), name in kinds.items():
        metadata = {"name": name, "namespace": plane.namespace}
        manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
        change = {"metadata": {"labels": {"a": "b"}}}
        refused(cluster.create, manifest)
        refused(cluster.apply, manifest)
        refused(cluster.patch, api_version, kind, name, plane.namespace, change)
        refused(cluster.delete, api_version, kind, name, plane.namespace)
    refused(cluster.evict, "ovn-northbound-0", plane.namespace, "")
    refused(cluster.get, "v1", "Secret", "other", plane.namespace)
    refused(cluster.list, "v1", "Secret", plane.namespace)
    assert cluster.get("v1", "Secret", "ovn-tls", plane.namespace)


def refused(request: t.Callable[..., t.Any], *arguments: t.Any) -> None:
    with pytest.raises(Refused) as caught:
        request(*arguments)
    assert caught.value.details.get("http_status") == 403, str(caught.value)


def test_who_pings_writes_the_switch_of_a_control_plane(
    rolled_out: ControlPlane, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane, rights = rolled_out, LIMITED_RIGHTS["ping", "cluster"]
    roles = example_roles("ovn-control-plane-ping", operator.name, plane.namespace)
    operator.grant(*roles)
    operator.await_denied(rights, plane.namespace, set())
    requests = Requests(monkeypatch)

    def network(state: str) -> t.Any:
        options = {"cluster": "ovn", "name": "t", "state": state, "kubeconfig": operator.kubeconfig}
        return plane.module(ovn_test_network, options, False, True)

    assert network("present")["changed"]
    assert network("absent")["changed"]
    assert requests.forbidden == []
    assert requests.accesses == table(rights)
    unnamed = {
        access
        for access in operator.without_each_verb(roles, rights, plane.namespace)
        if not names(str(network("present").result.get("msg")), access)
    }
    assert unnamed < EXEC


# --- hypervisor clusters: tasks of kubernetes.core, and kubectl --------------------------------------------------------


@pytest.fixture
def chassis(api_server: ApiServer) -> None:
    """The definition of OVNChassis, and nothing of that kind."""
    api_server.define()


class Play:
    """Runs with a control plane of an administrator and the hypervisors of an operator. `run()`: the exit code and all that was printed.

    Without `central` the control plane is in another inventory.
    """

    def __init__(self, folder: pathlib.Path, collection_path: str, server: ApiServer, namespace: str) -> None:
        self.folder, self.server, self.namespace = folder, server, namespace
        self.env = _playbooks.environment(folder / "tmp", collection_path, ANSIBLE_REMOTE_TEMP=str(folder / "tmp"))

    def run(self, playbook: str, kubeconfig: str, *, central: bool = True, **variables: t.Any) -> tuple[int, str]:
        common = {
            "ovn_backend": "kubernetes",
            "ovn_namespace": self.namespace,
            "ovn_node_certificates": "shared",
        }
        plane = {"plane": {**common, "ovn_kubeconfig": self.server.kubeconfig}}
        groups = {
            "ovn_central": {"hosts": plane if central else {}},
            "ovn_hypervisors": {"hosts": {"rack1": {**common, "ovn_kubeconfig": kubeconfig}}},
        }
        inventory = _playbooks.write_inventory(self.folder / "hosts.yml", groups)
        done = _playbooks.run(["-i", str(inventory), "-e", json.dumps(variables), playbook], self.env)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def play(short_dir: pathlib.Path, collection_path: str, api_server: ApiServer, namespace: str, chassis: None) -> Play:
    return Play(short_dir, collection_path, api_server, namespace)


def test_who_looks_at_a_hypervisor_cluster(play: Play, operator: Operator) -> None:
    """c5c3.ovn.verify. There is no control plane, which is the only thing that it finds."""
    rights = LIMITED_RIGHTS["view", "hypervisors"]
    roles = example_roles("ovn-hypervisors-view", operator.name, play.namespace)
    operator.grant(*roles)
    operator.await_denied(rights, play.namespace, set())
    _code, output = play.run("c5c3.ovn.verify", operator.kubeconfig)
    assert "Chassis rack1 has no certificate" in output, "there is no Secret, and that can be seen"
    assert "orbidden" not in output
    for access in operator.without_each_verb(roles, rights, play.namespace):
        _code, output = play.run("c5c3.ovn.verify", operator.kubeconfig)
        assert names(output, access), output
        assert "traceback" not in output.lower(), "the API server says why, not the library"


# It sends the requests of kubectl exec: one for the pod, then the command as a WebSocket, and if that is refused as SPDY (a POST). Where the API server
# would have let it in, the guest answers that all is well.
KUBECTL = """#!{python}
import json, ssl, sys, urllib.error, urllib.request
words = sys.argv[1:]
of = lambda option: words[words.index(option) + 1]
config = json.load(open(of("--kubeconfig")))
place = config["clusters"][0]["cluster"]
context = ssl.create_default_context(cafile=place["certificate-authority"])
token = config["users"][0]["user"]["token"]
pod = place["server"] + "/api/v1/namespaces/" + of("-n") + "/pods/" + words[words.index("exec") + 2]
def refusal(method, url, protocol):
    upgrade = {{"Connection": "Upgrade", "Upgrade": protocol, "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="}}
    headers = {{"Authorization": "Bearer " + token, **(upgrade if protocol else {{}})}}
    try:
        urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers), context=context).close()
    except urllib.error.HTTPError as e:
        if e.code in (403, 404) and (e.code == 403 or not protocol):
            return "Error from server: " + json.loads(e.read())["message"]
command = pod + "/exec?command=sh&stdout=true"
problem = refusal("GET", pod, "") or (refusal("GET", command, "websocket") and refusal("POST", command, "SPDY/3.1"))
if problem:
    sys.exit(problem)
print(json.dumps({{"changed": True, "ok": True, "results": [], "report": ["guest: all is well"]}}))
"""


class Guests:
    """The pods of guests run as soon as they are there."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server, self.path = server, f"/api/v1/namespaces/{namespace}/pods"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._start_pods, daemon=True)

    def __enter__(self) -> Guests:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _start_pods(self) -> None:
        while not self._over.wait(0.2):
            for pod in json.loads(self.server.request("GET", self.path))["items"]:
                if (pod.get("status") or {}).get("phase") != "Running":
                    with contextlib.suppress(OSError):  # it was deleted meanwhile
                        self.run(pod["metadata"]["name"], pod["spec"]["containers"][0]["name"])

    def run(self, pod: str, container: str) -> None:
        told = {
            "name": container,
            "ready": True,
            "restartCount": 0,
            "image": "",
            "imageID": "",
            "state": {"running": {}},
        }
        status = {"phase": "Running", "containerStatuses": [told]}
        self.server.request("PATCH", f"{self.path}/{pod}/status", {"status": status})

    def make_switches(self) -> None:
        """The pods of Open vSwitch on two nodes."""
        for node in ("node-1", "node-2"):
            metadata = {"generateName": "ovs-", "labels": {"app.kubernetes.io/component": "ovs"}}
            volumes = [{"name": "sockets", "hostPath": {"path": "/run/x"}}]
            spec = {
                "nodeName": node,
                "containers": [{"name": "agent", "image": "example.org/ovn:1"}],
                "volumes": volumes,
            }
            made = json.loads(self.server.request("POST", self.path, {"metadata": metadata, "spec": spec}))
            self.run(made["metadata"]["name"], "agent")


def test_who_pings_from_a_hypervisor_cluster(
    play: Play,
    operator: Operator,
    raft_cluster: MakeCluster,
    short_dir: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The role runs, its guests are made up. Verb for verb see below."""
    (socket,) = raft_cluster(1, "northbound").sockets
    (short_dir / "kubectl").write_text(KUBECTL.format(python=sys.executable))
    (short_dir / "kubectl").chmod(0o755)
    play.env["PATH"] = f"{short_dir}:{os.environ['PATH']}"
    playbook = short_dir / "ping.yml"
    role = {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_ping"}}
    playbook.write_text(json.dumps([{"hosts": "ovn_hypervisors", "gather_facts": False, "tasks": [role]}]))
    rights = LIMITED_RIGHTS["ping", "hypervisors"]
    roles = example_roles("ovn-hypervisors-ping", operator.name, play.namespace)
    operator.grant(*roles)
    operator.await_denied(rights, play.namespace, set())

    def ping(**variables: t.Any) -> tuple[int, str]:
        options = {"ovn_northbound_endpoints": [socket], "ovn_wait_timeout": 5, **variables}
        return play.run(str(playbook), operator.kubeconfig, central=False, **options)

    def left() -> list[str]:
        found = []
        for kind in ("pods", "serviceaccounts"):
            place = f"/api/v1/namespaces/{play.namespace}/{kind}?labelSelector=app.kubernetes.io/component=ping"
            found += [
                f"{kind}/{one['metadata']['name']}" for one in json.loads(play.server.request("GET", place))["items"]
            ]
        return found

    everything = ["pods/c5c3-ping-node-1", "pods/c5c3-ping-node-2", "serviceaccounts/c5c3-ping"]
    with Guests(play.server, play.namespace) as guests:
        guests.make_switches()
        for variables, remaining in (({"ovn_ping_state": "present"}, everything), ({}, [])):
            code, output = ping(**variables)  # the second one finds the guests of the first one
            assert (code, "orbidden" in output) == (0, False), output
            assert "guest: all is well" in output
            assert left() == remaining
        role = roles[-1]
        commands = next(rule for rule in role["rules"] if rule["resources"] == ["pods/exec"])
        operator.replace({**role, "rules": [rule for rule in role["rules"] if rule is not commands]})
        operator.await_denied(rights, play.namespace, EXEC)
        code, output = ping()
        assert code != 0
        assert names(output, ("", "pods/exec", "create")), output


def test_each_verb_for_the_guests_of_a_ping(plane: ControlPlane, operator: Operator, chassis: None) -> None:
    """The modules of the role, with its options."""
    rights = LIMITED_RIGHTS["ping", "hypervisors"]
    roles = example_roles("ovn-hypervisors-ping", operator.name, plane.namespace)
    operator.grant(*roles)
    operator.await_denied(rights, plane.namespace, set())
    metadata = {"name": "c5c3-ping", "namespace": plane.namespace}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    spec: Object = {"nodeName": "n", "serviceAccountName": "c5c3-ping", "containers": [{"name": "guest", "image": "i"}]}
    spec["terminationGracePeriodSeconds"] = 0
    objects = [account, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}]

    def run(module: t.Any, **options: t.Any) -> str:
        return str(plane.module(module, {"kubeconfig": operator.kubeconfig, **options}, False, True).result.get("msg"))

    def guests() -> str:
        """Create them, find them once more, list and delete them; all that it says."""
        said = [run(k8s_info, kind="Pod", label_selectors=["app.kubernetes.io/component=ping"])]
        said.append(run(k8s_info, kind="OVNChassis", api_version="ovn.c5c3.io/v1alpha1", namespace=None))
        for state in ("present", "present", "absent"):
            said += [
                run(k8s, definition=one, state=state) for one in (objects if state == "present" else objects[::-1])
            ]
        return "\n".join(said)

    assert "orbidden" not in guests()
    unnamed = set()
    for access in operator.without_each_verb(roles, rights, plane.namespace):
        if not names(guests(), access):
            unnamed.add(access)
        for one in reversed(objects):
            with contextlib.suppress(OSError):
                plane.remove(one["kind"], "c5c3-ping")
    assert unnamed == EXEC
