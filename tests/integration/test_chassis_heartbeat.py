"""The status of an OVNChassis between runs: a real agent writes it to a real API server, from what real daemons say. A policy keeps it to its own node."""

from __future__ import annotations

import json
import pathlib
import signal
import ssl
import threading
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request

import pytest
from _agent import NODE, Agent
from _apiserver import ApiServer
from _beside import beside
from _hypervisors import API, STATUS_RIGHTS, Hypervisors, actions, hypervisor_cluster
from _installation import Installation
from _rights import Operator
from _vswitch import Vswitch, require_vswitch
from conftest import MakeCluster, Ran, RunModule, run, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.heartbeat_sender import HeartbeatSender
from ansible_collections.c5c3.ovn.plugins.module_utils._databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import parse_node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.resources import foreign_fields
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import Chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import read_registry
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.status import write_statuses
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck_kubernetes.rights import (
    PREPARATION,
    RIGHTS,
    roles,
    status_agent_rights,
    status_agent_role,
)

Object = dict[str, t.Any]
INTERVAL = 6
IP = "192.0.2.21"


@pytest.fixture
def hypervisors(api_server: ApiServer, namespace: str, run_module: RunModule) -> t.Iterator[Hypervisors]:
    with hypervisor_cluster(api_server, namespace, run_module) as made:
        yield made


class Node:
    """A hypervisor with its agent, an OVN that sends heartbeats, and the OVNChassis of the node."""

    def __init__(self, hypervisors: Hypervisors, installation: Installation, directory: pathlib.Path) -> None:
        self.hypervisors, self.installation = hypervisors, installation
        self.machine = Vswitch(directory, "ch1")
        self.agent = Agent(self.machine.start(), directory)
        self.account = directory
        self.problems: list[str] = []
        northbound = parse_endpoint(installation.northbound.sockets[0])
        self.heartbeats = HeartbeatSender(lambda: northbound, TlsFiles(), INTERVAL, self._report)

    def _report(self, _subject: str, error: OvnError | None) -> None:
        self.problems += [str(error)] if error else []

    def start(self) -> None:
        self.installation.start_northd()
        self.machine.start_vswitchd()
        settings = self.hypervisors.settings()
        default = {
            **settings["_default"],
            "remote": self.installation.southbound.sockets,
            "datapath_type": "netdev",
        }
        self.agent.write(default, settings.get(NODE), settings["_heartbeat"])
        self.agent.start(
            outside=True,
            OVN_API_SERVER=self.hypervisors.server.url,
            OVN_SERVICE_ACCOUNT_DIR=str(self.hypervisors.account_of(NODE, self.account)),
        )
        self.agent.until_ready()
        self.machine.start_controller()
        self.heartbeats.start()

    def stop(self) -> None:
        self.heartbeats.stop()
        self.agent.stop()
        self.machine.stop()
        self.installation.stop()

    def send(self, number: signal.Signals) -> float:
        self.machine.daemons["ovn-controller"].signal(number)
        return time.monotonic()

    @property
    def resource(self) -> Object:
        return t.cast(Object, self.hypervisors.get(f"{API}/{NODE}"))

    @property
    def status(self) -> Object:
        return t.cast(Object, self.resource.get("status") or {})

    @property
    def ready(self) -> Object:
        return next((one for one in self.status.get("conditions", []) if one["type"] == "Ready"), {})

    def until_ready(self, expected: str, timeout: float) -> None:
        until(lambda: self.ready.get("status") == expected, f"Ready {expected} instead of {self.ready}", timeout)


@pytest.fixture
def node(hypervisors: Hypervisors, raft_cluster: MakeCluster, short_dir: pathlib.Path) -> t.Iterator[Node]:
    require_vswitch()
    clusters = {database: raft_cluster(1, database) for database in DATABASES}
    hypervisors.node(NODE, IP)
    hypervisors(spec={"heartbeatInterval": INTERVAL})
    made = Node(hypervisors, Installation(clusters["northbound"], clusters["southbound"], short_dir), short_dir)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_a_frozen_controller_is_found_within_two_intervals_without_a_run(node: Node) -> None:
    node.until_ready("True", 30)
    assert node.ready["reason"] == "Registered"
    first = until(lambda: node.status.get("lastHeartbeat"), "a heartbeat", 2 * INTERVAL)
    until(lambda: node.status["lastHeartbeat"] > first, "the next heartbeat", 2 * INTERVAL)
    # One small PATCH for each heartbeat.
    versions, end = {node.resource["metadata"]["resourceVersion"]}, time.monotonic() + 3 * INTERVAL
    while time.monotonic() < end:
        versions.add(node.resource["metadata"]["resourceVersion"])
        time.sleep(0.2)
    assert 3 <= len(versions) <= 5

    frozen_at = node.send(signal.SIGSTOP)
    node.until_ready("False", 2 * INTERVAL)
    assert time.monotonic() - frozen_at < 2 * INTERVAL
    stands_still = node.status["lastHeartbeat"]
    assert node.ready["reason"] == "NoHeartbeat"
    assert f"does not answer heartbeats, last at {stands_still}" in node.ready["message"]
    # A run that does not reach the Southbound database adds what it knows of pods, and changes nothing of it.
    node.hypervisors.pods_are_ready(1)
    ready = node.ready
    node.hypervisors(spec={"heartbeatInterval": INTERVAL})
    # From then on neither runs nor the agent have anything to write.
    version = node.resource["metadata"]["resourceVersion"]
    time.sleep(1.5 * INTERVAL)
    node.hypervisors(spec={"heartbeatInterval": INTERVAL})
    assert (node.ready, node.status["lastHeartbeat"]) == (ready, stands_still)
    assert node.resource["metadata"]["resourceVersion"] == version

    node.send(signal.SIGCONT)
    node.until_ready("True", 2 * INTERVAL)
    assert node.status["lastHeartbeat"] > stands_still
    assert not node.problems


def test_without_heartbeats_the_agent_corrects_what_a_run_has_written(node: Node) -> None:
    """It has nothing new to write then, and knows of the run only if it reads its OVNChassis again."""
    node.until_ready("True", 30)
    node.heartbeats.stop()
    node.heartbeats.join(within(10))
    time.sleep(INTERVAL)
    last = node.status["lastHeartbeat"]
    wrong = {"status": {"conditions": [condition("Ready", "pods that are not ready")]}}
    node.hypervisors.server.request("PATCH", f"{API}/{NODE}/status", wrong)
    node.until_ready("True", 10 * INTERVAL)
    assert (node.ready["reason"], node.status["lastHeartbeat"]) == ("Registered", last)


def test_an_agent_without_the_right_does_not_say_that_it_works(node: Node) -> None:
    """Between its requests it is too early to ask again, which is no reason to say that it works."""
    node.until_ready("True", 30)
    for place in STATUS_RIGHTS:
        node.hypervisors.server.request("DELETE", f"{place}/c5c3-ovn-chassis-status-{node.hypervisors.namespace}")
    until(lambda: " 403: " in node.agent.log.read_text(), "the refusal", 4 * INTERVAL)
    time.sleep(4 * INTERVAL)
    again = "status of the OVNChassis: works again"
    assert again not in node.agent.log.read_text()
    node.hypervisors(spec={"heartbeatInterval": INTERVAL})
    until(lambda: again in node.agent.log.read_text(), "that it works", 6 * INTERVAL)


def test_a_southbound_database_that_is_away_is_unknown(node: Node) -> None:
    node.until_ready("True", 30)
    (member,) = node.installation.southbound.members
    assert member.daemon is not None
    member.daemon.signal(signal.SIGSTOP)
    node.until_ready("Unknown", 4 * INTERVAL + 10)
    assert node.ready["reason"] == "SouthboundUnreachable"
    member.daemon.signal(signal.SIGCONT)
    node.until_ready("True", 4 * INTERVAL + 10)


def ovn_sbctl(endpoint: str, *arguments: str) -> None:
    run("ovn-sbctl", f"--db={endpoint}", "--timeout=20", *arguments)


def registered(endpoint: str) -> None:
    for number in (1, 2):
        ovn_sbctl(endpoint, "chassis-add", f"worker-{number}", "geneve", f"192.0.2.2{number}")
        ovn_sbctl(endpoint, "create", "Chassis_Private", f"name=worker-{number}", "nb_cfg_timestamp=1700000000000")


def condition(kind: str, message: str = "") -> Object:
    since = "2026-03-01T12:00:00Z"
    return {"type": kind, "status": "False", "reason": "Attack", "message": message, "lastTransitionTime": since}


class Attacker:
    """Whoever has the token of the agent of one node."""

    def __init__(self, hypervisors: Hypervisors, account: pathlib.Path) -> None:
        self.api = Api(hypervisors.server.url, str(account))
        self.server, self.account = hypervisors.server, account

    def send(self, name: str, content: str, manager: str, body: t.Any) -> int:
        """Return the status code of a PATCH of the status that our client does not know."""
        query = urllib.parse.urlencode({"fieldManager": manager, **({"force": "true"} if "apply" in content else {})})
        request = urllib.request.Request(
            f"{self.server.url}{API}/{name}/status?{query}",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {(self.account / 'token').read_text()}",
                "Content-Type": f"application/{content}",
            },
            method="PATCH",
        )
        context = ssl.create_default_context(cafile=self.server.ca_certificate)
        try:
            with urllib.request.urlopen(request, timeout=20, context=context) as response:
                return int(response.status)
        except urllib.error.HTTPError as e:
            return e.code

    def write(self, name: str, message: str) -> Object:
        conditions = [condition("Ready", message)]
        return t.cast(Object, self.api.patch(f"{API}/{name}/status", {"status": {"conditions": conditions}}))

    def is_refused(self, name: str, words: str) -> bool:
        """Rights and policies that are new take a moment, in which this write gets through."""
        try:
            self.write(name, "not refused yet")
        except Refused as e:
            return words in str(e)
        return False


@pytest.fixture
def two(hypervisors: Hypervisors) -> Hypervisors:
    for number in (1, 2):
        hypervisors.node(f"worker-{number}", f"192.0.2.2{number}")
    hypervisors()
    return hypervisors


def test_the_token_of_one_node_writes_no_other(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy")
    assert attacker.write("worker-1", "mine")["status"]["conditions"][0]["message"] == "mine"
    refused = "the agent of node worker-1 writes the status of its own OVNChassis only, not of worker-2"
    with pytest.raises(Refused, match=refused):
        attacker.write("worker-2", "theirs")
    assert "theirs" not in str(two.chassis()["worker-2"])
    # Nothing but the status, also of its own.
    changed = attacker.api.patch(
        f"{API}/worker-1/status", {"metadata": {"labels": {"x": "y"}}, "spec": {"hostname": "x"}, "status": {}}
    )
    assert "x" not in changed["metadata"]["labels"]
    assert changed["spec"]["hostname"] == "worker-1"
    for attempt in (
        lambda: attacker.api.patch(f"{API}/worker-1", {"metadata": {"labels": {"x": "y"}}}),
        lambda: attacker.api.get(API),
        lambda: attacker.api.get(f"{API}/worker-2"),
        lambda: attacker.api.create(API, {"metadata": {"name": "worker-3"}}),
        lambda: attacker.api.get(f"/api/v1/namespaces/{two.namespace}/secrets"),
        lambda: attacker.api.get("/api/v1/nodes/worker-1"),
    ):
        with pytest.raises(Refused, match=" 403: "):
            attempt()


OURS = "c5c3.ovn"  # the field manager of runs
CLAIMED = {
    "manager": "mine",
    "operation": "Update",
    "apiVersion": "ovn.c5c3.io/v1alpha1",
    "time": "2026-03-01T12:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:hostname": {}, "f:systemId": {}}},
}
SPEC = {"hostname": "taken", "systemId": "worker-2", "encapsulation": {"type": "geneve", "ip": "192.0.2.22"}}
METADATA = {"labels": {"x": "y"}, "annotations": {"x": "y"}, "ownerReferences": [], "finalizers": ["x.example/y"]}


def attacks(name: str) -> list[tuple[str, str, t.Any]]:
    """Content type, field manager, body: what a PATCH of the status could change besides."""
    applied = {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNChassis", "spec": SPEC, "status": {}}
    operations = [
        {"op": "replace", "path": "/spec/hostname", "value": "taken"},
        {"op": "replace", "path": "/spec/systemId", "value": "worker-2"},
        {"op": "add", "path": "/metadata/labels/x", "value": "y"},
        {"op": "replace", "path": "/metadata/ownerReferences", "value": []},
        {"op": "add", "path": "/metadata/finalizers", "value": ["x.example/y"]},
        {"op": "add", "path": "/status", "value": {}},
    ]
    one_more = {"op": "add", "path": "/status/conditions/-"}
    return [
        ("merge-patch+json", "mine", {"metadata": METADATA, "spec": SPEC, "status": {}}),
        ("merge-patch+json", OURS, {"metadata": METADATA, "spec": SPEC, "status": {}}),
        ("merge-patch+json", "mine", {"metadata": {"labels": None, "annotations": None}, "spec": None, "status": {}}),
        ("merge-patch+json", "mine", {"metadata": {"managedFields": [CLAIMED]}}),
        ("merge-patch+json", OURS, {"metadata": {"managedFields": [{}]}}),
        ("json-patch+json", "mine", operations),
        ("json-patch+json", OURS, operations),
        ("json-patch+json", "mine", [{"op": "replace", "path": "/metadata/managedFields", "value": [CLAIMED]}]),
        ("apply-patch+yaml", "mine", {**applied, "metadata": {"name": name, "labels": {"x": "y"}}}),
        ("apply-patch+yaml", OURS, {**applied, "metadata": {"name": name, "labels": {"x": "y"}}}),
        ("apply-patch+yaml", OURS, {**applied, "metadata": {"name": name}, "spec": {}}),
        # More field managers than the API server keeps apart: it merges the oldest, of whatever subresource they are.
        ("merge-patch+json", "mine", {"status": {"conditions": [condition("Mine")]}}),
        *(
            ("json-patch+json", f"mine-{number}", [*operations[:-1], {**one_more, "value": condition(f"Mine{number}")}])
            for number in range(12)
        ),
    ]


def test_a_patch_of_the_status_changes_nothing_else(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    """Of its own OVNChassis: neither the specification nor whose its fields are, by which runs go. Of another one nothing at all."""
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy")

    def of_runs(name: str) -> Object:
        found = two.get(f"{API}/{name}")
        metadata = {
            key: found["metadata"].get(key)
            for key in ("generation", "labels", "annotations", "ownerReferences", "finalizers")
        }
        owned = {
            one["manager"]: one["fieldsV1"]["f:spec"]
            for one in found["metadata"]["managedFields"]
            if "f:spec" in one["fieldsV1"]
        }
        return {**metadata, "spec": found["spec"], "owned": owned, "foreign": foreign_fields(found)}

    two.server.request("PATCH", f"{API}/worker-2/status", {"status": {"conditions": [condition("Theirs")]}})
    before, theirs = of_runs("worker-1"), two.get(f"{API}/worker-2")
    assert before["foreign"] == set()
    for content, manager, body in attacks("worker-1"):
        assert (attacker.send("worker-1", content, manager, body), content, body) == (200, content, body)
        after = of_runs("worker-1")
        changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        assert not changed, (content, manager, body)
    managers = {one["manager"] for one in two.get(f"{API}/worker-1")["metadata"]["managedFields"]}
    assert "ancient-changes" in managers
    for content, manager, body in attacks("worker-2"):
        assert (attacker.send("worker-2", content, manager, body), content, body) == (403, content, body)
    assert two.get(f"{API}/worker-2") == theirs
    ran = two(spec={"encapsulation": {"type": "vxlan"}}, check=True)
    assert actions(ran)["OVNChassis worker-1"] == "changed", "what a run declares is still its own"
    assert not two()["changed"]


def test_times_that_do_not_exist_end_no_run(
    two: Hypervisors, raft_cluster: MakeCluster, tmp_path: pathlib.Path
) -> None:
    """One node writes into its status what the API server lets pass, the other one into its row of the Southbound database."""
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    registered(endpoint)
    ovn_sbctl(endpoint, "set", "Chassis_Private", "worker-2", f"nb_cfg_timestamp={2**63 - 1}")
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: not attacker.is_refused("worker-1", ""), "the right to write")
    for wrong in ("2026-03-01T12:00:00+99:99", "0000-03-01T12:00:00Z"):
        attacker.api.patch(f"{API}/worker-1/status", {"status": {"lastHeartbeat": wrong}})
        two(southbound=[endpoint])
        found = {name: one["status"] for name, one in two.chassis().items()}
        assert found["worker-1"]["lastHeartbeat"] == "2023-11-14T22:13:20Z"
        assert "lastHeartbeat" not in found["worker-2"]
        assert [one["conditions"][0]["reason"] for one in found.values()] == ["Registered", "Registered"]


def test_a_run_that_times_out_judges_by_what_is_true_at_its_end(
    two: Hypervisors, raft_cluster: MakeCluster, tmp_path: pathlib.Path
) -> None:
    """While it waits for pods both chassis register, and the agent of one says so."""
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    two(southbound=[endpoint])
    assert [one["status"]["conditions"][0]["reason"] for one in two.chassis().values()] == ["NotRegistered"] * 2
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: not attacker.is_refused("worker-1", ""), "the right to write")
    mine = {
        "type": "Ready",
        "status": "True",
        "reason": "Registered",
        "message": "It is registered and answers.",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }

    def register(_ended: threading.Event) -> None:
        # The Southbound database has been read then, and a chassis of each node is missing.
        until(lambda: two.settings()["_heartbeat"] == {"interval": 77}, "the settings of this run", 60)
        registered(endpoint)
        attacker.api.patch(
            f"{API}/worker-1/status", {"status": {"conditions": [mine], "lastHeartbeat": "2023-11-14T22:13:20Z"}}
        )

    with beside(register):
        late = two(
            southbound=[endpoint], spec={"heartbeatInterval": 77}, wait=True, wait_timeout=within(8), may_fail=True
        )
    assert "no progress" in late["msg"]
    one, other = (two.chassis()[f"worker-{number}"]["status"] for number in (1, 2))
    ready = next(condition for condition in one["conditions"] if condition["type"] == "Ready")
    assert ready["lastTransitionTime"] == mine["lastTransitionTime"]
    assert (other["conditions"][0]["reason"], other["lastHeartbeat"]) == ("Registered", "2023-11-14T22:13:20Z")


class Overtaken(Cluster):
    """Between a look at all OVNChassis and the next request, the agent of worker-1 writes."""

    agent: Attacker

    def list(self, api_version: str, kind: str, *arguments: t.Any, **options: t.Any) -> list[Object]:
        found = super().list(api_version, kind, *arguments, **options)
        self.agent.write("worker-1", "newer than this look")
        return found


def test_what_an_agent_writes_meanwhile_stays(
    two: Hypervisors, raft_cluster: MakeCluster, tmp_path: pathlib.Path
) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    registered(endpoint)
    cluster = Overtaken({"kubeconfig": two.server.kubeconfig})
    cluster.agent = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: not cluster.agent.is_refused("worker-1", ""), "the right to write")
    nodes = [parse_node(two.get(f"/api/v1/nodes/worker-{number}")) for number in (1, 2)]
    chassis = [Chassis(one, one.name, one.name, ("geneve",), one.addresses[:1], (), {}) for one in nodes]
    registry = read_registry([parse_endpoint(endpoint)], TlsFiles(), Deadline(10))
    write_statuses(cluster, chassis, registry, two.chassis(), None, 60, has_agents=True)
    written = {name: one["status"]["conditions"][0]["message"] for name, one in two.chassis().items()}
    assert written == {"worker-1": "newer than this look", "worker-2": "It is registered and answers."}


def test_a_token_of_no_pod_writes_nothing(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    attacker = Attacker(two, two.account_of("worker-1", tmp_path, bound=False))
    for name in ("worker-1", "worker-2"):
        until(lambda name=name: attacker.is_refused(name, "the token of this agent names no node"), "the policy")


def has_status_rights(hypervisors: Hypervisors) -> bool:
    try:
        return all(
            hypervisors.get(f"{place}/c5c3-ovn-chassis-status-{hypervisors.namespace}") for place in STATUS_RIGHTS
        )
    except OSError:
        return False


def operator_with(server: ApiServer, namespace: str, directory: pathlib.Path, *more: Object) -> Operator:
    operator = Operator(server, f"operator-{namespace}", directory)
    operator.grant(*roles("hypervisors", operator.name, namespace), *more)
    return operator


NOT_PREPARED = {
    (right.group, right.resource, verb)
    for right in RIGHTS["hypervisors"]
    if right.need in PREPARATION
    for verb in right.verbs
}


def test_a_user_with_the_rights_of_the_page(two: Hypervisors, tmp_path: pathlib.Path) -> None:
    for place in STATUS_RIGHTS:
        two.server.request("DELETE", f"{place}/c5c3-ovn-chassis-status-{two.namespace}")
    name = f"operator-{two.namespace}"
    operator = operator_with(two.server, two.namespace, tmp_path, status_agent_role(f"{name}-agents", two.namespace))
    rights = [*RIGHTS["hypervisors"], *status_agent_rights(two.namespace)]
    operator.await_denied(rights, two.namespace, NOT_PREPARED)
    assert two(kubeconfig=operator.kubeconfig)["changed"]
    assert has_status_rights(two)
    assert not two(kubeconfig=operator.kubeconfig)["changed"]
    two(kubeconfig=operator.kubeconfig, state="absent")
    assert not has_status_rights(two)


def test_a_user_without_these_rights_leaves_what_an_administrator_has_made(
    two: Hypervisors, tmp_path: pathlib.Path
) -> None:
    operator = operator_with(two.server, two.namespace, tmp_path)
    operator.await_denied(RIGHTS["hypervisors"], two.namespace, NOT_PREPARED)
    generations = two.generations()
    ran = two(kubeconfig=operator.kubeconfig, spec={"heartbeatInterval": 120})
    assert {name for name, action in actions(ran).items() if action == "changed"} == {"ConfigMap ovn-chassis"}
    assert two.settings()["_heartbeat"] == {"interval": 120}
    assert has_status_rights(two)
    assert two.generations() == generations
    # Where there are none, agents do not write and have no token.
    two(state="absent")
    assert two(kubeconfig=operator.kubeconfig)["changed"]
    assert "_heartbeat" not in two.settings()
    pods = two.get(f"/apis/apps/v1/namespaces/{two.namespace}/daemonsets/ovn-controller")["spec"]["template"]["spec"]
    assert "api" not in {volume["name"] for volume in pods["volumes"]}


def has_token(hypervisors: Hypervisors) -> bool:
    place = f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets/ovn-controller"
    return "api" in {volume["name"] for volume in hypervisors.get(place)["spec"]["template"]["spec"]["volumes"]}


def granted(role: Object, verbs: t.Iterable[str], resources: t.Iterable[str]) -> Object:
    """The role with these verbs and resources alone."""
    rules = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb in verbs]}
        for rule in role["rules"]
        if {*rule["resources"]} <= {*resources}
    ]
    return {**role, "rules": rules}


def warnings_with(ran: Ran, words: str) -> list[str]:
    return [text for text in ran.warnings if words in text]


POLICIES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
ROLES = ("clusterroles", "clusterrolebindings")


@pytest.mark.parametrize(
    ("verbs", "resources", "cause"),
    [
        pytest.param(("get",), (*POLICIES, *ROLES), 'role with the verb "patch" on', id="a user who may look at them"),
        pytest.param(
            ("get", "create", "patch", "delete"),
            (*POLICIES, *ROLES),
            "attempting to grant RBAC permissions not currently held",
            id="a user who cannot grant what they do not have",
        ),
    ],
)
def test_a_user_who_may_not_make_all_of_it(
    two: Hypervisors, tmp_path: pathlib.Path, verbs: tuple[str, ...], resources: tuple[str, ...], cause: str
) -> None:
    namespace = two.namespace
    role = granted(status_agent_role(f"operator-{namespace}-agents", namespace), verbs, resources)
    operator = operator_with(two.server, namespace, tmp_path, role)
    every = status_agent_rights(namespace)
    missing = {(one.group, one.resource, verb) for one in every for verb in one.verbs if verb not in verbs}
    missing = {one for one in missing if one[1] != "ovnchassis/status"} | {("ovn.c5c3.io", "ovnchassis/status", "get")}
    operator.await_denied([*RIGHTS["hypervisors"], *every], namespace, NOT_PREPARED | missing)
    # An administrator has made it.
    ran = two(kubeconfig=operator.kubeconfig)
    assert not ran["changed"]
    assert "OVNChassis" not in str(ran.get("warnings"))
    # Nobody has: nothing of it is made, and the next run says the same.
    for place in STATUS_RIGHTS:
        two.server.request("DELETE", f"{place}/c5c3-ovn-chassis-status-{namespace}")
    predicted = two(kubeconfig=operator.kubeconfig, check=True)
    ran = two(kubeconfig=operator.kubeconfig)
    assert actions(predicted) == actions(ran)
    again = two(kubeconfig=operator.kubeconfig)
    assert (ran["changed"], again["changed"]) == (True, False)
    for one in (predicted, ran, again):
        (warning,) = warnings_with(one, "Agents do not keep the status")
        assert cause in warning
    assert "_heartbeat" not in two.settings()
    assert not has_token(two)
    for place in STATUS_RIGHTS:
        with pytest.raises(OSError, match="404"):
            two.get(f"{place}/c5c3-ovn-chassis-status-{namespace}")
    # An administrator makes it, and somebody changes it.
    two()
    assert has_token(two)
    place = STATUS_RIGHTS[1]
    changed = {"rules": [{"apiGroups": ["ovn.c5c3.io"], "resources": ["ovnchassis/status"], "verbs": ["patch"]}]}
    two.server.request("PATCH", f"{place}/c5c3-ovn-chassis-status-{namespace}", changed)
    ran = two(kubeconfig=operator.kubeconfig, force_conflicts=True)
    assert not ran["changed"]
    (warning,) = warnings_with(ran, "What lets agents write the status")
    assert cause in warning
    assert has_token(two)
    # Who may not delete it leaves it.
    gone = two(kubeconfig=operator.kubeconfig, state="absent")
    assert has_status_rights(two) is ("delete" not in verbs)
    left = warnings_with(gone, "It stays, and lets nobody do anything")
    assert len(left) == (0 if "delete" in verbs else len(STATUS_RIGHTS))


@pytest.mark.parametrize("guard", STATUS_RIGHTS[2:], ids=["binding of the policy", "policy"])
@pytest.mark.parametrize("verbs", [("get",), ("get", "delete")], ids=["who only looks", "who may delete"])
def test_a_user_who_cannot_bring_the_policy_back(
    two: Hypervisors, tmp_path: pathlib.Path, verbs: tuple[str, ...], guard: str
) -> None:
    """With the ClusterRoleBinding alone each agent could write the status of all."""
    namespace, name = two.namespace, f"c5c3-ovn-chassis-status-{two.namespace}"
    role = granted(status_agent_role(f"operator-{namespace}-agents", namespace), verbs, (*POLICIES, *ROLES))
    operator = operator_with(two.server, namespace, tmp_path, role)
    every = status_agent_rights(namespace)
    missing = {(one.group, one.resource, verb) for one in every for verb in one.verbs if verb not in verbs}
    missing |= {("ovn.c5c3.io", "ovnchassis/status", "get")}
    missing -= {("ovn.c5c3.io", "ovnchassis/status", "patch")}  # of the run itself
    operator.await_denied([*RIGHTS["hypervisors"], *every], namespace, NOT_PREPARED | missing)
    attacker = Attacker(two, two.account_of("worker-1", tmp_path))
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy")
    two.server.request("DELETE", f"{guard}/{name}")
    until(lambda: not attacker.is_refused("worker-2", ""), "the end of the policy")
    predicted = two(kubeconfig=operator.kubeconfig, check=True)
    ran = two(kubeconfig=operator.kubeconfig)
    again = two(kubeconfig=operator.kubeconfig)
    assert actions(predicted) == actions(ran)
    assert not again["changed"]
    binding = f"{STATUS_RIGHTS[0]}/{name}"
    if "delete" in verbs:
        assert actions(ran)[f"ClusterRoleBinding {name}"] == "deleted"
        assert [
            len(warnings_with(one, f"ClusterRoleBinding {name} is deleted")) for one in (predicted, ran, again)
        ] == [
            1,
            1,
            0,
        ]
        with pytest.raises(OSError, match="404"):
            two.get(binding)
        until(lambda: attacker.is_refused("worker-2", " 403: "), "the end of the right")
    else:
        for one in (predicted, ran, again):
            (warning,) = warnings_with(one, "write the status of every OVNChassis")
            assert warning.endswith(f"kubectl delete clusterrolebinding {name}")
        assert two.get(binding)
    assert two()["changed"]
    assert has_status_rights(two)
    until(lambda: attacker.is_refused("worker-2", "writes the status of its own OVNChassis only"), "the policy again")


def test_absent_takes_the_rights_away(two: Hypervisors) -> None:
    assert not two()["changed"]
    gone = [one["kind"] for one in two(state="absent")["objects"] if one["action"] == "deleted"]
    order = ["ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    assert [kind for kind in gone if kind in order] == order
    assert not has_status_rights(two)
