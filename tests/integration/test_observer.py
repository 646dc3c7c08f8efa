"""The observer as a pod runs it: the archive, real databases, a real API server, and no more rights than its Role gives."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import sys
import typing as t

import pytest
from _apiserver import free_ports
from _raft_contents_lib import diverge, insert
from built_manifests import manifests_of
from conftest import Daemon, Member, RaftCluster, run, until
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive
from ansible_collections.c5c3.ovn.plugins.module_utils._api.status import pod_of
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    Entry,
    MemberWitness,
    parse_cluster_witness,
    render_cluster_witness,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member as Recorded
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record, render_files

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from conftest import MakeCluster

NAME = "ovn"
TRANSLATES = "ovn-northd-elsewhere"
LABELS = {"northbound": "ovn-nb-leader", "southbound": "ovn-sb-leader"}


class World:
    """Everything around the observer."""

    def __init__(self, api: ApiServer, namespace: str, folder: pathlib.Path, clusters: dict[str, RaftCluster]) -> None:
        self.api, self.namespace, self.folder, self.clusters = api, namespace, folder, clusters
        self.daemons: list[Daemon] = []
        folder.mkdir(exist_ok=True)
        self.archive = folder / "c5c3-ovn.pyz"
        self.archive.write_bytes(build_archive())

    @property
    def path(self) -> str:
        return f"/apis/ovn.c5c3.io/v1alpha1/namespaces/{self.namespace}/ovnclusters"

    @property
    def core(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}"

    def create(self, path: str, body: dict[str, t.Any]) -> t.Any:
        return json.loads(self.api.request("POST", path, body))

    def prepare(self) -> None:
        self.api.define()
        self.create(
            self.path,
            {
                "apiVersion": "ovn.c5c3.io/v1alpha1",
                "kind": "OVNCluster",
                "metadata": {"name": NAME, "namespace": self.namespace},
                "spec": {},
            },
        )
        for database in DATABASES:
            for member in self.clusters[database].members:
                self.make_pod(pod(member), database)
            self._record(database)
            self.make_witness(database)
        self.make_pod(TRANSLATES, "northd", containers=("northd", "status"))
        self.label(TRANSLATES, {"ovn-northd-leader": "true"})
        self._rights()

    def _record(self, database: str) -> None:
        members = {pod(m): Recorded(m.address, "confirmed", m.server_id) for m in self.clusters[database].members}
        record = Record(self.clusters[database].schema_name, members, 1, cid=self.clusters[database].cluster_id)
        self.create(
            f"{self.core}/configmaps",
            {"metadata": {"name": f"{NAME}-{database}-record"}, "data": render_files(record, 1000)},
        )

    def witness_path(self, database: str) -> str:
        return f"{self.core}/configmaps/{NAME}-{database}-witness"

    def make_witness(self, database: str) -> None:
        """As a run makes it: the observer may not."""
        metadata = {"name": f"{NAME}-{database}-witness"}
        self.create(f"{self.core}/configmaps", {"metadata": metadata, "data": {}})

    def witness(self, database: str) -> ClusterWitness:
        stored = json.loads(self.api.request("GET", self.witness_path(database)))
        return parse_cluster_witness((stored.get("data") or {}).get("witness", ""))

    def write_witness(self, database: str, witness: ClusterWitness) -> None:
        data = {"data": {"witness": render_cluster_witness(witness)}}
        self.api.request("PATCH", self.witness_path(database), data)

    def _rights(self) -> None:
        """The ServiceAccount and its Role as they are rolled out."""
        manifests = manifests_of({}, name=NAME, namespace=self.namespace)
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        paths = {"ServiceAccount": f"{self.core}/serviceaccounts", "Role": f"{rbac}/roles"}
        paths["RoleBinding"] = f"{rbac}/rolebindings"
        for manifest in manifests:
            if manifest["kind"] in paths:
                self.create(paths[manifest["kind"]], manifest)

    def make_pod(self, name: str, component: str, ready: bool = True, containers: t.Sequence[str] = ("main",)) -> None:
        labels = {"app.kubernetes.io/instance": NAME, "app.kubernetes.io/component": component}
        self.create(
            f"{self.core}/pods",
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [{"name": container, "image": "none"} for container in containers]},
            },
        )
        conditions = [
            {"type": "ContainersReady", "status": "True"},
            {"type": "Ready", "status": "True" if ready else "False"},
        ]
        self.api.request(
            "PATCH", f"{self.core}/pods/{name}/status", {"status": {"phase": "Running", "conditions": conditions}}
        )

    def label(self, name: str, labels: dict[str, str]) -> None:
        self.api.request("PATCH", f"{self.core}/pods/{name}", {"metadata": {"labels": labels}})

    def delete_pod(self, name: str) -> None:
        self.api.request("DELETE", f"{self.core}/pods/{name}", {"gracePeriodSeconds": 0})

    def account(self, name: str) -> pathlib.Path:
        """What kubelet mounts into the pods of a ServiceAccount."""
        folder = self.folder / f"account-{name}"
        folder.mkdir(exist_ok=True)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = self.create(f"{self.core}/serviceaccounts/{name}/token", request)
        (folder / "token").write_text(answer["status"]["token"])
        (folder / "ca.crt").write_bytes(pathlib.Path(self.api.ca_certificate).read_bytes())
        return folder

    def start(self, *command: str, account: str, **environment: str) -> Daemon:
        settings = {
            "OVN_NAMESPACE": self.namespace,
            "OVN_API_SERVER": self.api.url,
            "OVN_SERVICE_ACCOUNT_DIR": str(self.account(account)),
            **environment,
        }
        variables = [f"{key}={value}" for key, value in settings.items()]
        daemon = Daemon(
            ["env", "-i", *variables, sys.executable, "-I", "-S", str(self.archive), *command],
            self.folder / f"{command[0]}-{len(self.daemons)}.log",
        )
        self.daemons.append(daemon)
        return daemon

    def observe(self, **more: str) -> Daemon:
        tls = self.clusters["northbound"].pki
        files = tls.issue("observer") if tls else None
        environment = {f"OVN_{name.upper()}": ",".join(self.clusters[name].endpoints) for name in DATABASES}
        if files:
            environment["OVN_PRIVATE_KEY"] = files.private_key
            environment["OVN_CERTIFICATE"] = files.certificate
            environment["OVN_CA_CERTIFICATE"] = files.ca_certificate
        environment["OVN_CLUSTER_NAME"] = NAME
        environment["OVN_ALIVE_FILE"] = str(self.folder / "alive")
        environment.update(more)
        return self.start("observer", account="ovn-observer", **environment)

    def stop(self) -> None:
        for daemon in self.daemons:
            daemon.kill()

    @property
    def cluster(self) -> t.Any:
        return json.loads(self.api.request("GET", f"{self.path}/{NAME}"))

    @property
    def status(self) -> t.Any:
        return self.cluster.get("status", {})

    def condition(self, kind: str) -> dict[str, str]:
        return next((c for c in self.status.get("conditions", ()) if c["type"] == kind), {})

    def is_ready(self, kind: str = "Ready") -> str:
        return self.condition(kind).get("status", "")

    def labeled(self, label: str) -> list[str]:
        pods = json.loads(self.api.request("GET", f"{self.core}/pods?labelSelector={label}=true"))
        return [item["metadata"]["name"] for item in pods["items"]]


def pod(member: Member) -> str:
    return pod_of(member.endpoint)


@pytest.fixture
def world(
    api_server: ApiServer,
    namespace: str,
    raft_cluster: MakeCluster,
    short_dir: pathlib.Path,
    request: pytest.FixtureRequest,
) -> t.Iterator[World]:
    """The parameter is the election timer: a long one where an election would change what is compared."""
    timer = getattr(request, "param", 1000)
    clusters = {database: raft_cluster(3, database, tls=True, election_timer=timer) for database in DATABASES}
    made = World(api_server, namespace, short_dir / "world", clusters)
    made.prepare()
    try:
        yield made
    finally:
        for daemon in made.daemons:
            sys.stderr.write(daemon.log.read_text()[-4000:])
        made.stop()


def settled(world: World) -> t.Any:
    """The status once everything is healthy."""
    until(lambda: world.is_ready() == "True", "Ready", timeout=30)
    for database in DATABASES:
        leader = pod(world.clusters[database].leader)
        until(lambda leader=leader, label=LABELS[database]: world.labeled(label) == [leader], f"the label on {leader}")
    until(lambda: "chassisCount" in world.status, "the chassis to be counted")
    until(lambda: world.condition("ClaimsConsistent"), "a look at their claims")
    return world.status


def test_status_and_labels_of_a_healthy_cluster(world: World) -> None:
    world.observe()
    status = settled(world)
    for database in DATABASES:
        cluster = world.clusters[database]
        assert status[database]["verdict"] == "healthy"
        assert status[database]["clusterId"] == cluster.cluster_id
        assert status[database]["leader"] == pod(cluster.leader)
        assert {m["name"]: m["serverId"] for m in status[database]["members"]} == {
            pod(m): m.server_id for m in cluster.members
        }
        assert status["endpoints"][database] == ",".join(cluster.endpoints)
    assert status["chassisCount"] == 0
    assert world.condition("ControllersReady")["reason"] == "NoChassis"
    assert os.path.exists(world.folder / "alive")


def test_metrics_are_served_on_the_declared_port(world: World) -> None:
    (port,) = free_ports(1)
    world.observe(OVN_METRICS_PORT=str(port))
    settled(world)
    text = run("curl", "-sS", "--max-time", "5", f"http://127.0.0.1:{port}/metrics")
    values = {
        (family.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert values["c5c3_ovn_condition", "Ready"] == 1
    assert values["c5c3_ovn_member_connected", "northbound", pod(world.clusters["northbound"].leader)] == 1
    assert values["c5c3_ovn_chassis_registered",] == 0


def test_an_advertised_address_follows_its_member_and_is_named_when_that_is_dead(world: World) -> None:
    members = world.clusters["northbound"].members
    ports = [f"ssl:192.0.2.{n}:3000{n}" for n in range(len(members))]
    spec = {name: {"replicas": len(members), "service": {"type": "NodePort"}} for name in DATABASES}
    world.api.request("PATCH", f"{world.path}/{NAME}", {"spec": spec})
    inside = ",".join(
        f"ssl:{pod(member)}.ovn-southbound.net.svc:16642" for member in world.clusters["southbound"].members
    )
    services = {
        name: ",".join(f"ssl:198.51.100.{n}:{port}" for n in range(len(members)))
        for name, port in (("northboundClusterIPs", 6641), ("southboundUnrestrictedClusterIPs", 16642))
    }
    told = {"northbound": ",".join(ports), "southbound": "", "southboundUnrestricted": inside, **services}
    world.api.request("PATCH", f"{world.path}/{NAME}/status", {"status": {"endpoints": told}})

    def carried(index: int, host: str) -> None:
        status = {"hostIP": host, "hostIPs": [{"ip": host}]}
        world.api.request("PATCH", f"{world.core}/pods/{pod(members[index])}/status", {"status": status})

    for index in range(len(members)):
        carried(index, f"192.0.2.{index}")
        status = {"hostIP": "192.0.2.7", "hostIPs": [{"ip": "192.0.2.7"}]}
        southbound = pod(world.clusters["southbound"].members[index])
        world.api.request("PATCH", f"{world.core}/pods/{southbound}/status", {"status": status})
    world.observe()
    assert settled(world)["endpoints"]["northbound"] == ",".join(ports)
    carried(1, "192.0.2.9")  # another pod of that name, on another node
    ports[1] = "ssl:192.0.2.9:30001"
    until(lambda: world.status["endpoints"]["northbound"] == ",".join(ports), "the new address")
    # Where a run found none, there are none.
    assert world.status["endpoints"] == {**told, "northbound": ",".join(ports)}
    assert "no answer" not in world.condition("NorthboundReady")["message"]
    members[1].kill()
    until(lambda: f"no answer at {ports[1]}." in world.condition("NorthboundReady")["message"], "the dead address")
    members[1].start()
    until(lambda: "no answer" not in world.condition("NorthboundReady")["message"], "everybody to answer")


def test_a_relay_that_serves_nobody_is_reported(world: World) -> None:
    southbound = world.clusters["southbound"]
    tls = southbound.pki.issue("relay") if southbound.pki else None
    assert tls is not None
    (port,), folder = free_ports(1), world.folder
    address = f"ssl:127.0.0.1:{port}"
    files = [f"--private-key={tls.private_key}", f"--certificate={tls.certificate}", f"--ca-cert={tls.ca_certificate}"]

    def start(*sources: str) -> Daemon:
        control = [f"--unixctl={folder}/relay.ctl", f"--remote=pssl:{port}:127.0.0.1"]
        return Daemon(
            ["ovsdb-server", *control, *files, f"relay:OVN_Southbound:{','.join(sources)}"], folder / "relay.log"
        )

    world.observe(OVN_RELAYS=address, OVN_RELAY_SECONDS="1")
    settled(world)

    def is_reported(status: str, words: str) -> None:
        def reported() -> bool:
            found = world.condition("RelaysReady")
            return found.get("status") == status and words in found["message"]

        until(reported, f"{status}: {words}", timeout=60)

    is_reported("False", "0 of 1 relays serve chassis.")
    relay = start(*southbound.endpoints)
    try:
        is_reported("True", "1 of 1 relays serve chassis.")
        assert world.is_ready() == "True"
    finally:
        relay.kill()
    relay = start("ssl:127.0.0.1:1")
    try:
        is_reported("False", "its relay has no connection to a member")
    finally:
        relay.kill()
    assert world.is_ready() == "True"


@pytest.mark.parametrize("world", [10_000], indirect=True)
def test_nothing_is_written_while_nothing_changes(world: World) -> None:
    world.observe()
    settled(world)
    before = world.cluster["metadata"]["resourceVersion"]
    leader = world.clusters["northbound"].leader
    for number in range(300):
        run(
            *("ovsdb-client", "-t", "10", "transact", leader.socket),
            json.dumps(["OVN_Northbound", {"op": "insert", "table": "Logical_Switch", "row": {"name": f"n{number}"}}]),
        )
    assert world.cluster["metadata"]["resourceVersion"] == before
    assert world.is_ready() == "True"


def log_end(cluster: RaftCluster) -> int:
    return cluster.leader.log_next - 1


@pytest.mark.parametrize("world", [10_000], indirect=True)
def test_how_new_the_files_are_is_written_down_and_never_lowered(world: World) -> None:
    """For pods that start: what each member has shown, above what runs wrote, until somebody else knows more."""
    cluster = world.clusters["northbound"]
    first, second, third = cluster.members
    insert(cluster.leader, "a")
    insert(cluster.leader, "b")
    cluster.await_same_log()  # the observer may see one member at its end before it sees another
    end = log_end(cluster)
    # Of a run, which knows terms and disks as well.
    told = {first.server_id: MemberWitness(3, "3f", Entry(1, 2)), second.server_id: MemberWitness(4711)}
    world.write_witness("northbound", ClusterWitness(cluster.cluster_id, told))
    observer = world.observe()

    def known(member: Member) -> int:
        return world.witness("northbound").members[member.server_id].log_index

    until(lambda: third.server_id in world.witness("northbound").members, "the first words", timeout=40)
    until(lambda: known(first) == known(third) == end, "all that is on the disk", timeout=40)
    assert world.witness("northbound").members == {
        first.server_id: MemberWitness(end, "3f", Entry(1, 2)),
        second.server_id: MemberWitness(4711),
        third.server_id: MemberWitness(end),
    }
    # A run writes meanwhile: the observer's next write is over what it has not seen.
    ahead = dict(world.witness("northbound").members)
    ahead[third.server_id] = MemberWitness(end + 1000, "4a", Entry(2, end))
    world.write_witness("northbound", ClusterWitness(cluster.cluster_id, ahead))
    insert(cluster.leader, "c")
    until(lambda: known(first) > end, "the next words", timeout=40)
    assert world.witness("northbound").members[third.server_id] == ahead[third.server_id]
    assert world.witness("southbound").members.keys() == {m.server_id for m in world.clusters["southbound"].members}
    assert observer.running


def test_without_the_witness_the_observer_goes_on_until_a_run_makes_it(world: World) -> None:
    world.api.request("DELETE", world.witness_path("northbound"))
    world.observe()
    settled(world)
    world.make_witness("northbound")
    sids = {member.server_id for member in world.clusters["northbound"].members}
    until(lambda: world.witness("northbound").members.keys() == sids, "the witness", timeout=40)


def test_the_observer_may_write_the_witness_and_no_record(world: World) -> None:
    folder = world.account("ovn-observer")
    api = Api(world.api.url, str(folder))
    witness, record = world.witness_path("northbound"), world.witness_path("northbound").replace("-witness", "-record")

    def may() -> bool:  # the API server notices new Roles a moment later
        with contextlib.suppress(Refused):
            return api.patch(witness, {"data": {"witness": "x"}})["data"] == {"witness": "x"}
        return False

    until(may, "its rights to count")
    assert api.get(record)["data"]["cid"]
    with pytest.raises(Refused, match="403"):
        api.patch(record, {"data": {"cid": "x"}})
    with pytest.raises(Refused, match="403"):
        api.get(witness.replace("-witness", "-other"))


def test_members_that_hold_different_data_are_reported(world: World) -> None:
    cluster = world.clusters["northbound"]
    world.observe(OVN_COMPARE_SECONDS="2")
    settled(world)
    assert world.condition("NorthboundReady")["reason"] == "Healthy"
    first = diverge(cluster)
    until(lambda: world.condition("NorthboundReady").get("reason") == "Diverged", "the difference", timeout=60)
    condition = world.condition("NorthboundReady")
    assert condition["status"] == "True"  # it takes writes
    assert "Members hold different data at log index" in condition["message"]
    assert pod(first) in condition["message"]
    assert world.status["northbound"]["verdict"] == "diverged"
    assert world.condition("SouthboundReady")["reason"] == "Healthy"


def test_a_dead_leader_loses_the_label_and_the_condition_stays(world: World) -> None:
    world.observe()
    settled(world)
    since = world.condition("Ready")["lastTransitionTime"]
    cluster = world.clusters["southbound"]
    old = cluster.leader
    old.kill()
    until(
        lambda: world.labeled("ovn-sb-leader") == [pod(cluster.leader)] != [pod(old)], "another leader with the label"
    )
    assert world.condition("Ready") == {**world.condition("Ready"), "status": "True", "lastTransitionTime": since}
    until(lambda: world.status["southbound"]["verdict"] == "degraded", "degraded")
    assert pod(old) in world.condition("SouthboundReady")["message"]
    old.start()
    until(lambda: world.status["southbound"]["verdict"] == "healthy", "healthy")
    assert world.condition("Ready")["lastTransitionTime"] == since


@pytest.mark.parametrize("survivor", ["leader", "follower"])
def test_without_a_majority_it_is_not_ready_within_seconds(world: World, survivor: str) -> None:
    world.observe()
    settled(world)
    cluster = world.clusters["northbound"]
    leader, followers = cluster.leader, cluster.followers
    dead = followers if survivor == "leader" else [leader, followers[0]]
    for member in dead:
        member.kill()
    until(lambda: world.is_ready() == "False", "not Ready", timeout=5)
    until(lambda: world.labeled("ovn-nb-leader") == [], "no label of a leader")
    assert world.condition("NorthboundReady")["reason"] == "NoQuorum"
    assert world.is_ready("SouthboundReady") == "True"
    assert world.status["northbound"]["leader"] == ""
    assert world.status["northbound"]["clusterId"] == cluster.cluster_id
    for member in dead:
        member.start(wait=False)
    settled(world)


def test_a_stopped_cluster_is_not_ready(world: World) -> None:
    world.observe()
    settled(world)
    for cluster in world.clusters.values():
        cluster.kill_all()
    until(lambda: world.is_ready() == "False", "not Ready", timeout=5)
    until(lambda: world.condition("SouthboundReady")["reason"] == "Unreachable", "Unreachable")
    until(lambda: world.condition("ControllersReady")["status"] == "Unknown", "nobody to know about chassis")


def test_a_frozen_member_is_reported(world: World) -> None:
    world.observe()
    settled(world)
    frozen = world.clusters["northbound"].followers[0]
    frozen.freeze()
    until(lambda: world.status["northbound"]["verdict"] == "degraded", "degraded", timeout=15)
    assert world.is_ready() == "True"
    frozen.thaw()
    until(lambda: world.status["northbound"]["verdict"] == "healthy", "healthy")


def test_the_api_server_goes_away_and_comes_back(world: World) -> None:
    observer = world.observe()
    settled(world)
    world.api.kill()
    try:
        old = world.clusters["northbound"].leader
        old.kill()
        until(lambda: "is not reachable" in observer.log.read_text(), "the trouble to be told", timeout=30)
    finally:
        world.api.restart()
        world.account("ovn-observer")  # this one signs with another key: the token is a new one, as kubelet renews it
    until(lambda: world.status["northbound"]["verdict"] == "degraded", "what happened in between", timeout=40)
    until(lambda: world.labeled("ovn-nb-leader") == [pod(world.clusters["northbound"].leader)], "the label to move")
    assert observer.running


def test_wrong_values_of_others_are_set_right(world: World) -> None:
    world.observe()
    settled(world)
    leader, other = world.clusters["northbound"].leader, world.clusters["northbound"].followers[0]
    world.api.request("PATCH", f"{world.core}/pods/{pod(other)}", {"metadata": {"labels": {"ovn-nb-leader": "true"}}})
    until(lambda: world.labeled("ovn-nb-leader") == [pod(leader)], "one label")
    world.api.request("PATCH", f"{world.path}/{NAME}/status", {"status": {"conditions": [], "northbound": None}})
    until(lambda: world.is_ready() == "True" and world.status["northbound"]["leader"] == pod(leader), "the status")


def test_chassis_are_counted(world: World) -> None:
    world.observe()
    settled(world)
    leader = world.clusters["southbound"].leader
    operations: list[t.Any] = ["OVN_Southbound"]
    operations.append({"op": "insert", "table": "SB_Global", "row": {"nb_cfg": 7}})
    for name, remote, nb_cfg in (("one", "false", 7), ("two", "false", 6), ("far", "true", 0)):
        row = {"name": name, "hostname": name, "other_config": ["map", [["is-remote", remote]]]}
        row["encaps"] = ["named-uuid", f"e{name}"]
        encap = {"type": "geneve", "ip": f"192.0.2.{len(operations)}", "chassis_name": name}
        operations.append({"op": "insert", "table": "Encap", "row": encap, "uuid-name": f"e{name}"})
        operations.append({"op": "insert", "table": "Chassis", "row": row, "uuid-name": f"c{name}"})
        private = {"name": name, "nb_cfg": nb_cfg, "chassis": ["named-uuid", f"c{name}"]}
        operations.append({"op": "insert", "table": "Chassis_Private", "row": private})
    run("ovsdb-client", "-t", "10", "transact", leader.socket, json.dumps(operations))
    until(lambda: world.status["chassisCount"] == 2, "two chassis", timeout=15)
    delete = [
        {"op": "delete", "table": table, "where": [["name", "==", "two"]]} for table in ("Chassis", "Chassis_Private")
    ]
    run("ovsdb-client", "-t", "10", "transact", leader.socket, json.dumps(["OVN_Southbound", *delete]))
    until(lambda: world.status["chassisCount"] == 1, "one chassis", timeout=15)
    assert world.status["activeControllers"] == 1
    assert world.is_ready("ControllersReady") == "True"


def test_the_pod_of_the_active_northd_is_labeled(world: World) -> None:
    if shutil.which("ovn-northd") is None:
        pytest.skip("NOT TESTED: ovn-northd is missing")
    world.observe()
    settled(world)
    world.delete_pod(TRANSLATES)
    until(lambda: world.is_ready("NorthdReady") == "False", "no northd at all to be told", timeout=20)
    assert world.is_ready() == "False"
    sockets: dict[str, str] = {}
    for name in ("northd-a", "northd-b"):
        world.make_pod(name, "northd", containers=("northd", "status"))
        sockets[name] = str(world.folder / f"{name}.ctl")
        databases = [f"--ovn{key[0]}b-db={','.join(world.clusters[key].sockets)}" for key in DATABASES]
        command = ["ovn-northd", "--no-chdir", "-vconsole:off", *databases, f"--unixctl={sockets[name]}"]
        world.daemons.append(Daemon(command, world.folder / f"{name}.log"))
        world.start("northd", account="ovn-northd", OVN_POD=name, OVN_CONTROL_SOCKET=sockets[name])
    until(lambda: len(world.labeled("ovn-northd-leader")) == 1, "one active northd")
    active = world.labeled("ovn-northd-leader")[0]
    until(lambda: world.is_ready("NorthdReady") == "True", "NorthdReady")
    assert active in world.condition("NorthdReady")["message"]
    run("ovs-appctl", "-T", "5", "-t", sockets[active], "pause")
    until(lambda: world.labeled("ovn-northd-leader") not in ([], [active]), "the other one")
    for control_socket in sockets.values():
        run("ovs-appctl", "-T", "5", "-t", control_socket, "exit")
    until(lambda: world.labeled("ovn-northd-leader") == [], "no label")
    until(lambda: world.condition("Ready")["reason"] == "NorthdNotReady", "not Ready")


def test_the_label_of_a_northd_that_cannot_take_it_off_itself(world: World) -> None:
    world.observe()
    settled(world)
    world.make_pod("northd-lost", "northd", ready=False, containers=("northd", "status"))
    patch = {"metadata": {"labels": {"ovn-northd-leader": "true"}}}
    world.api.request("PATCH", f"{world.core}/pods/northd-lost", patch)
    until(lambda: world.labeled("ovn-northd-leader") == [TRANSLATES], "no label")


def test_a_renewed_program_goes_on_with_the_same_process(world: World) -> None:
    observer = world.observe()
    settled(world)
    fresh = world.folder / "fresh"
    fresh.write_bytes(build_archive())
    lines = observer.log.read_text().count("\n")
    fresh.replace(world.archive)
    world.api.request("PATCH", f"{world.path}/{NAME}/status", {"status": {"conditions": []}})
    until(lambda: world.is_ready() == "True", "Ready again", timeout=30)
    assert observer.running
    assert "Traceback" not in observer.log.read_text(), observer.log.read_text()[lines:]


def version_of(database: str) -> str:
    folder = pathlib.Path("/usr/share/ovn")
    return str(json.loads((folder / f"ovn-{database[0]}b.ovsschema").read_text())["version"])


def test_a_schema_that_is_older_than_that_of_the_image(world: World) -> None:
    schemas = world.folder / "schemas"
    schemas.mkdir()
    (schemas / "ovn-nb.ovsschema").write_text(json.dumps({"version": version_of("northbound")}))
    (schemas / "ovn-sb.ovsschema").write_text(json.dumps({"version": "99.1.0"}))
    world.observe(OVN_SCHEMAS=str(schemas))
    settled(world)
    until(lambda: world.is_ready("SchemaCurrent") == "False", "the older schema")
    told = world.condition("SchemaCurrent")["message"]
    assert f"Southbound database has schema {version_of('southbound')}, its image brings 99.1.0" in told
    assert "Northbound" not in told
    assert "docs/kubernetes-operations.md" in told


def workload(world: World, kind: str, name: str, replicas: int, **status: t.Any) -> None:
    place = f"/apis/apps/v1/namespaces/{world.namespace}/{kind}"
    labels = {"app.kubernetes.io/instance": NAME}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    made = world.create(place, {"metadata": {"name": name, "labels": labels}, "spec": spec})
    whole = {"replicas": replicas, "observedGeneration": made["metadata"]["generation"], **status}
    world.api.request("PATCH", f"{place}/{name}/status", {"status": whole})


def test_due_restarts_are_reported_until_none_is_due(world: World) -> None:
    """A run left them to later. Pods of a real name: those of the members are named after their addresses here."""
    world.observe()
    settled(world)
    assert world.condition("UpToDate")["reason"] == "NotRolledOut"  # no run was ever here
    names = [f"{NAME}-{database}-{index}" for database in DATABASES for index in range(3)]
    for name in names:
        world.make_pod(name, name.split("-")[1])
        world.label(name, {"controller-revision-hash": "old" if name.endswith("-0") else "new"})
        running = {"name": "database", "ready": True, "restartCount": 0, "image": "", "imageID": ""}
        status = {"containerStatuses": [{**running, "state": {"running": {}}}]}
        world.api.request("PATCH", f"{world.core}/pods/{name}/status", {"status": status})
    for database in DATABASES:
        workload(world, "statefulsets", f"{NAME}-{database}", 3, updateRevision="new")
    workload(world, "deployments", f"{NAME}-northd", 1, updatedReplicas=1, readyReplicas=1, availableReplicas=1)
    # As a run leaves it that was told to restart nobody.
    of_run = {"type": "UpToDate", "status": "False", "reason": "RestartsDue", "message": "", "observedGeneration": 1}
    of_run["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    world.api.request("PATCH", f"{world.path}/{NAME}/status", {"status": {"conditions": [of_run]}})
    until(lambda: "ovn-southbound-0" in world.condition("UpToDate").get("message", ""), "both to be told")
    assert world.condition("UpToDate")["reason"] == "RestartsDue"
    assert "observedGeneration" not in world.status
    until(lambda: world.is_ready() == "True", "Ready all the same")
    world.label("ovn-northbound-0", {"controller-revision-hash": "new"})
    until(lambda: "ovn-northbound-0" not in world.condition("UpToDate")["message"], "one less")
    assert world.is_ready("UpToDate") == "False"
    world.label("ovn-southbound-0", {"controller-revision-hash": "new"})
    until(lambda: world.is_ready("UpToDate") == "True", "nobody is due")
    assert world.status["observedGeneration"] == 1
    patch = {"spec": {"northbound": {"electionTimer": 6000}}}
    world.api.request("PATCH", f"{world.path}/{NAME}", patch)
    until(lambda: world.condition("UpToDate")["reason"] == "NotRolledOut", "a specification that no run has seen")
    assert world.status["observedGeneration"] == 1
