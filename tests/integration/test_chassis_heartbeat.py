"""The status of an OVNChassis between runs: a real agent writes it to a real API server, from what real daemons say. Who may: test_chassis_status_rights.py."""

from __future__ import annotations

import datetime
import os
import pathlib
import re
import signal
import sys
import threading
import time
import typing as t

import pytest
from _agent import NODE, Agent
from _beside import beside
from _chassis_status import Attacker, condition, ovn_sbctl, registered, start_observer, with_two_nodes
from _hypervisors import API, STATUS_RIGHTS, Hypervisors
from _installation import Installation
from _vswitch import Vswitch
from _waits import stays
from conftest import Daemon, MakeCluster, listens, run, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.heartbeat_sender import HeartbeatSender
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.datapath import Lookups, parse_lookups
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import parse_node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import write_statuses
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import Chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import read_registry
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

Object = dict[str, t.Any]
INTERVAL = 6
IP = "192.0.2.21"
WAIT = "other_config:flow-restore-wait=true"
# Frames to everybody, 20 a second, each of another sender: none of them has a flow.
SEND = """
import itertools, socket, time
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("p-eth1", 0))
for number in itertools.count():
    link.send(b"\\xff" * 6 + b"\\x02\\0" + number.to_bytes(4, "big") + b"\\x88\\xb5" + bytes(46))
    time.sleep(0.05)  # 20 a second
"""


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
        self.restart_agent()
        self.agent.until_ready()
        self.machine.start_controller()
        self.heartbeats.start()

    def restart_agent(self) -> None:
        self.agent.start(
            outside=True,
            OVN_API_SERVER=self.hypervisors.server.url,
            OVN_SERVICE_ACCOUNT_DIR=str(self.hypervisors.account_of(NODE, self.account)),
        )

    def stop(self) -> None:
        self.heartbeats.stop()
        self.agent.stop()
        self.machine.stop()
        self.installation.stop()

    def send(self, number: signal.Signals) -> None:
        self.machine.daemons["ovn-controller"].signal(number)

    @property
    def resource(self) -> Object:
        return t.cast(Object, self.hypervisors.get(f"{API}/{NODE}"))

    @property
    def status(self) -> Object:
        return t.cast(Object, self.resource.get("status") or {})

    @property
    def ready(self) -> Object:
        return self.condition("Ready")

    @property
    def datapath(self) -> Object:
        return self.condition("DatapathHealthy")

    def condition(self, kind: str) -> Object:
        return next((one for one in self.status.get("conditions", []) if one["type"] == kind), {})

    def await_heartbeats(self, number: int) -> None:
        for _one in range(number):
            last = self.status.get("lastHeartbeat")
            until(lambda last=last: self.status.get("lastHeartbeat") != last, "the next heartbeat", 2 * INTERVAL)

    def until_ready(self, expected: str, timeout: float) -> None:
        until(lambda: self.ready.get("status") == expected, f"Ready {expected} instead of {self.ready}", timeout)

    def until_datapath(self, expected: str, intervals: float) -> None:
        until(
            lambda: self.datapath.get("status") == expected,
            f"DatapathHealthy {expected} instead of {self.datapath}",
            intervals * INTERVAL,
        )

    def restart_waiting_for_flows(self) -> None:
        """Until the setting is gone, this ovs-vswitchd loses each packet without a flow. As if it had waited for longer than a restart takes."""
        self.machine.vsctl("--no-wait", "set", "Open_vSwitch", ".", WAIT)
        self.machine.daemons["ovs-vswitchd"].kill()
        self.machine.start_vswitchd()
        control = self.machine.directory / "ovs-vswitchd.ctl"
        until(lambda: listens(control), "ovs-vswitchd")
        until(lambda: "dpctl/show" in run("ovs-appctl", "-t", str(control), "list-commands"), "its commands")
        os.utime(control, (time.time() - 100,) * 2)

    def end_wait(self) -> None:
        self.machine.vsctl("--no-wait", "remove", "Open_vSwitch", ".", *WAIT.partition("=")[0].split(":"))

    def lost(self) -> int:
        shown = run("ovs-appctl", "-t", f"{self.machine.directory}/ovs-vswitchd.ctl", "dpctl/show")
        return parse_lookups(shown).get("netdev", Lookups(0, 0, 0)).lost


@pytest.fixture
def node(hypervisors: Hypervisors, raft_cluster: MakeCluster, short_dir: pathlib.Path) -> t.Iterator[Node]:
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
    node.until_datapath("True", 3)
    # One small PATCH for each heartbeat.
    versions, sent = set[str](), set[str]()

    def has_three_more() -> bool:
        found = node.resource
        versions.add(found["metadata"]["resourceVersion"])
        sent.add(found["status"]["lastHeartbeat"])
        return len(sent) > 3

    until(has_three_more, "three heartbeats", 5 * INTERVAL)
    assert len(versions) <= len(sent) + 1
    times = sorted(datetime.datetime.fromisoformat(one.replace("Z", "+00:00")) for one in sent)
    assert times[-1] - times[0] >= datetime.timedelta(
        seconds=2 * INTERVAL
    )  # three intervals, each as long as it may be late

    node.send(signal.SIGSTOP)
    node.until_ready("False", 2 * INTERVAL)
    stands_still = node.status["lastHeartbeat"]
    assert node.ready["reason"] == "NoHeartbeat"
    assert f"does not answer heartbeats, last at {stands_still}" in node.ready["message"]
    # A run that does not reach the Southbound database adds what it knows of pods, and changes nothing of it.
    node.hypervisors.pods_are_ready(1)
    ready = node.ready
    node.hypervisors(spec={"heartbeatInterval": INTERVAL})
    # From then on neither runs nor the agent have anything to write.
    version = node.resource["metadata"]["resourceVersion"]
    stays(lambda: node.resource["metadata"]["resourceVersion"] == version, "no write to the OVNChassis", 1.5 * INTERVAL)
    node.hypervisors(spec={"heartbeatInterval": INTERVAL})
    assert (node.ready, node.status["lastHeartbeat"]) == (ready, stands_still)
    assert node.resource["metadata"]["resourceVersion"] == version

    node.send(signal.SIGCONT)
    node.until_ready("True", 2 * INTERVAL)
    assert node.status["lastHeartbeat"] > stands_still
    assert not node.problems


MACHINE: Object = {
    "apiVersion": "ovn.c5c3.io/v1alpha1",
    "kind": "OVNChassis",
    "spec": {"hostname": "m1", "systemId": "m1", "encapsulation": {"type": "geneve", "ip": "192.0.2.31"}},
}
WELL = {**condition("Ready"), "status": "True", "reason": "Registered"}


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_dead_node_is_not_ready_within_two_intervals_without_a_run(node: Node, tmp_path: pathlib.Path) -> None:
    """Its agent is gone as well. Another chassis answers, a machine and a chassis of another namespace do not."""
    hypervisors = node.hypervisors
    hypervisors.node("worker-2", "192.0.2.22")
    hypervisors(spec={"heartbeatInterval": INTERVAL})
    node.until_ready("True", 30)
    labels = node.resource["metadata"]["labels"]
    others = {"m1": {**labels, "ovn.c5c3.io/machine": "m1"}, "m2": {**labels, "ovn.c5c3.io/namespace": "other"}}
    status = {"status": {"conditions": [WELL], "lastHeartbeat": now()}}
    for name, given in others.items():
        hypervisors.server.request("POST", API, {**MACHINE, "metadata": {"name": name, "labels": given}})
        hypervisors.server.request("PATCH", f"{API}/{name}/status", status)
    other = Attacker(hypervisors, hypervisors.account_of("worker-2", tmp_path))
    until(lambda: not other.is_refused("worker-2", ""), "the right to write")
    observers = [start_observer(hypervisors, name, tmp_path) for name in ("worker-1", "worker-2")]

    def answer(ended: threading.Event) -> None:
        while True:
            other.api.patch(f"{API}/worker-2/status", {"status": {"conditions": [WELL], "lastHeartbeat": now()}})
            if ended.wait(INTERVAL):
                return

    try:
        with beside(answer):
            node.await_heartbeats(3)
            assert node.ready["status"] == "True", "both answer"
            node.until_datapath("True", 3)
            observers[0].kill()
            node.agent.stop()
            node.send(signal.SIGSTOP)
            node.until_ready("False", 2 * INTERVAL)
            last, ready, datapath = node.status["lastHeartbeat"], node.ready, node.datapath
            assert datapath["status"] == "True"
            assert ready["reason"] == "NoHeartbeat"
            assert f"does not answer heartbeats, last at {last}" in ready["message"]
            # A run that does not reach the Southbound database leaves that, and the observer has nothing more to write.
            hypervisors.pods_are_ready(2)
            hypervisors(spec={"heartbeatInterval": INTERVAL})
            written = (ready, datapath, last)
            stays(
                lambda: (node.ready, node.datapath, node.status["lastHeartbeat"]) == written,
                "no change of the status",
                INTERVAL,
            )

            node.send(signal.SIGCONT)
            node.restart_agent()
            node.until_ready("True", 2 * INTERVAL)
            node.await_heartbeats(2)
            assert node.ready["status"] == "True"
    finally:
        for one in observers:
            one.kill()
    found = {name: one["status"]["conditions"][0]["status"] for name, one in hypervisors.chassis().items()}
    assert found == {"worker-1": "True", "worker-2": "True", "m1": "True", "m2": "True"}


def test_lost_packets_are_in_the_status_and_those_of_a_restart_are_not(node: Node) -> None:
    machine = node.machine
    machine.device("eth1")
    for device in ("eth1", "p-eth1"):
        run("ip", "-n", machine.namespace, "link", "set", device, "up")
    machine.vsctl("add-port", "br-int", "eth1")
    machine.daemons["sender"] = Daemon([*machine.prefix, sys.executable, "-c", SEND], machine.directory / "sender.log")
    node.until_ready("True", 30)
    node.until_datapath("True", 4)
    since = node.datapath["lastTransitionTime"]

    node.restart_waiting_for_flows()
    until(lambda: node.lost() > 5, "packets that are lost", 20)
    node.end_wait()
    stays(lambda: node.datapath["status"] != "False", "the datapath is healthy", 4 * INTERVAL)
    node.until_datapath("True", 2)

    node.restart_waiting_for_flows()
    node.until_datapath("False", 5)
    lost = node.datapath
    assert lost["reason"] == "PacketsLost"
    assert lost["lastTransitionTime"] > since
    assert re.match(
        r"The datapath loses packets: its datapath lost \d+ of \d+ packets without a flow in", lost["message"]
    )
    node.until_ready("True", 2 * INTERVAL)
    # A run says what it knows of pods, and nothing of the datapath; then it has nothing more to write.
    node.hypervisors.pods_are_ready(1)
    node.hypervisors(spec={"heartbeatInterval": INTERVAL})
    assert node.condition("OVSConnected")["reason"] == "PodsReady"
    assert (node.datapath["status"], node.datapath["lastTransitionTime"]) == ("False", lost["lastTransitionTime"])

    node.end_wait()
    node.until_datapath("True", 4)
    assert node.ready["status"] == "True"


def test_without_heartbeats_the_agent_corrects_what_a_run_has_written(node: Node) -> None:
    """It has nothing new to write then, and knows of the run only if it reads its OVNChassis again."""
    node.until_ready("True", 30)
    node.heartbeats.stop()
    node.heartbeats.join(within(10))
    time.sleep(INTERVAL)  # the last answer may be under way
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
    again = "status of the OVNChassis: works again"
    stays(lambda: again not in node.agent.log.read_text(), "no line that says that it works again", 4 * INTERVAL)
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


@pytest.fixture
def two(hypervisors: Hypervisors) -> Hypervisors:
    return with_two_nodes(hypervisors)


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
