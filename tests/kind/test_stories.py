"""What happens to OVN in two Kubernetes clusters, in the order in which it gets worse. Each story leaves everything whole."""

from __future__ import annotations

import json
import pathlib
import re
import time
import typing as t
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from clusters import (
    CENTRAL,
    HYPERVISORS,
    MEMBERS,
    NAME,
    SCHEMAS,
    Guest,
    Object,
    Ran,
    chassis,
    client,
    extra,
    hypervisor_nodes,
    labeled,
    leader,
    losses,
    mark,
    marks,
    member,
    members,
    playbook,
    pod_of,
    pod_on,
    run,
    silent_addresses,
    small_control_plane,
    southbound_mark,
    uninstall,
    wait_for,
    wait_whole,
    whole,
)


def test_second_run_changes_nothing() -> None:
    again = playbook("site")
    assert again.changed == [], again.log


def test_ping_between_nodes() -> None:
    pinged = playbook("ping")
    report = "\n".join(pinged.messages)
    assert re.search(r"hypervisors-worker -> hypervisors-worker2: 5 of 5 answers.*geneve tunnel", report), pinged.log
    assert re.search(r"hypervisors-worker2 -> hypervisors-worker: 5 of 5 answers.*geneve tunnel", report), pinged.log
    assert "c5c3-ping" not in marks()[0]


def test_status_and_verify() -> None:
    for name in ("status", "verify"):
        assert playbook(name).changed == []


@pytest.mark.parametrize("database", SCHEMAS)
def test_databases_speak_tls_only(database: str) -> None:
    client_port, raft_port = {"northbound": (6641, 6643), "southbound": (6642, 6644)}[database]
    # In a Southbound pod the relay has the port of clients, and the member the one without a role.
    of_member = {"northbound": client_port, "southbound": 16642}[database]
    for seen in wait_whole(database):
        assert all(re.fullmatch(rf"ssl:\S+:{raft_port}", address) for address in seen.addresses), seen
    targets = client(database, "--bare", "--columns=target", "list", "Connection").split()
    assert targets
    assert all(target.startswith("pssl:") for target in targets), targets
    for index in range(3):
        pod = pod_of(database, index)
        listening = CENTRAL.exec(pod, "ss", "--no-header", "--listening", "--tcp", "--numeric").splitlines()
        ports = {int(line.split()[3].rpartition(":")[2]) for line in listening}
        assert ports == {client_port, of_member, raft_port}
        # Neither plain text nor a client without a certificate gets an answer; the same question at the socket of the server does.
        stem = {"northbound": "ovnnb_db", "southbound": "ovnsb_db"}[database]
        asked = f"ovsdb-client --timeout=5 list-dbs unix:$OVN_RUN_DIR/{stem}.sock"
        plain = f"ovsdb-client --timeout=5 list-dbs tcp:127.0.0.1:{client_port} 2>&1 && echo answered; true"
        assert SCHEMAS[database] in CENTRAL.exec(pod, "sh", "-c", asked)
        refused = CENTRAL.exec(pod, "sh", "-c", plain)
        assert "ovsdb-client: " in refused, refused
        assert "answered" not in refused, refused
        greeting = f"sleep 2 | openssl s_client -connect 127.0.0.1:{client_port} -quiet 2>&1; true"
        assert re.search("alert (certificate required|handshake failure)", CENTRAL.exec(pod, "sh", "-c", greeting))


def test_hypervisors_speak_tls_only() -> None:
    for node in hypervisor_nodes():
        vsctl = ("ovs-vsctl", "--timeout=10", "get", "Open_vSwitch", ".", "external_ids:ovn-remote")
        remotes = HYPERVISORS.exec(pod_on("ovs", node), *vsctl).strip().strip('"').split(",")
        assert len(remotes) == 3
        assert all(remote.startswith("ssl:") for remote in remotes), remotes
        state = HYPERVISORS.exec(
            pod_on("controller", node), "sh", "-c", "ovn-appctl -t /run/ovn/ovn-controller.*.ctl connection-status"
        )
        assert state.strip() == "connected"


@pytest.mark.parametrize("component", ["northbound", "southbound", "northd", "observer", "ovs", "controller"])
@pytest.mark.usefixtures("healthy_after")
def test_delete_any_one_pod(component: str) -> None:
    """Each database pod in turn, one pod of the others: everything comes back by itself, the same members as before."""
    cluster = HYPERVISORS if component in ("ovs", "controller") else CENTRAL
    before = cluster.ready(component)
    servers = {database: [m.server_id for m in members(database)] for database in SCHEMAS}
    for pod in before if component in SCHEMAS else before[:1]:
        old = next(p["metadata"]["uid"] for p in cluster.pods(component) if p["metadata"]["name"] == pod)
        cluster.kubectl("delete", "pod", pod, "--wait=false")

        def back(gone: str = old) -> bool:
            uids = {p["metadata"]["uid"] for p in cluster.pods(component)}
            return gone not in uids and len(cluster.ready(component)) == len(before)

        wait_for(f"{component}: {len(before)} pods ready after {pod} was deleted", back)
        for database in SCHEMAS:
            assert [m.server_id for m in wait_whole(database)] == servers[database]
            wait_labeled(database)


def wait_labeled(database: str) -> None:
    wait_for(f"{database}: the leader and nobody else is labeled", lambda: labeled(database) == [leading(database)], 30)


def leading(database: str) -> str:
    return pod_of(database, leader(database))


def test_all_is_well_after_pods_were_deleted() -> None:
    assert playbook("verify").changed == []


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.usefixtures("healthy_after")
def test_pods_and_claims_are_lost(index: int) -> None:
    """A member of each database loses everything; the next run replaces both: the same clusters, the old servers are kicked, and there were never two."""
    name, others = f"lost-{index}", sorted({0, 1, 2} - {index})
    mark(name)
    before = {database: wait_whole(database) for database in SCHEMAS}
    for database in SCHEMAS:
        lose(pod_of(database, index))
    # Nothing happens by itself: the pod must neither make a cluster nor join before the old server has gone.
    time.sleep(10)  # what must not happen sends no event
    for database in SCHEMAS:
        left = {member(database, i).server_id for i in others}
        assert left == {before[database][i].server_id for i in others}
        assert pod_of(database, index) not in CENTRAL.ready(database)

    playbook("site")
    for database in SCHEMAS:
        after = wait_whole(database)
        assert {m.cluster_id for m in after} == {before[database][0].cluster_id}
        assert after[index].server_id not in {m.server_id for m in before[database]}
        assert [after[i].server_id for i in others] == [before[database][i].server_id for i in others]
    for i in (index, others[0]):
        assert all(name in seen for seen in marks(i))


def lose(pod: str) -> None:
    """The pod goes with its claim, and there is a new claim."""
    volume = next(
        v["persistentVolumeClaim"]["claimName"]
        for v in (CENTRAL.get("pod", pod) or {})["spec"]["volumes"]
        if "persistentVolumeClaim" in v
    )
    old = (CENTRAL.get("pvc", volume) or {})["metadata"]["uid"]
    CENTRAL.kubectl("delete", "pvc", volume, "--wait=false")
    CENTRAL.kubectl("delete", "pod", pod)
    wait_for(
        "a new claim", lambda: (CENTRAL.get("pvc", volume) or {"metadata": {"uid": old}})["metadata"]["uid"] != old
    )


@pytest.mark.parametrize("how", ["frozen", "stopped"])
@pytest.mark.usefixtures("healthy_after")
def test_kill_a_node(how: str) -> None:
    """The node of the Southbound leader dies: writes go on, all chassis stay, and it comes back as it was. It costs one address of three."""
    before = {database: [m.server_id for m in wait_whole(database)] for database in SCHEMAS}
    dead = leader("southbound")
    node = str((CENTRAL.get("pod", pod_of("southbound", dead)) or {})["spec"]["nodeName"])
    if node == "control-plane-control-plane":  # the API server is there, and nobody could look
        dead = (dead + 1) % 3
        node = str((CENTRAL.get("pod", pod_of("southbound", dead)) or {})["spec"]["nodeName"])
    stop, start = {"frozen": ("pause", "unpause"), "stopped": ("stop", "start")}[how]
    run("docker", stop, node)
    try:
        name = f"without-{how}"
        for database, words in (
            ("northbound", ("--may-exist", "ls-add", name)),
            ("southbound", southbound_mark(name)),
        ):
            pods = {i: (CENTRAL.get("pod", pod_of(database, i)) or {})["spec"]["nodeName"] for i in range(3)}
            index = next(i for i, where in pods.items() if where != node)
            wait_for(
                f"{database} takes writes", lambda d=database, w=words, i=index: client(d, *w, index=i) is not None, 40
            )
        if how == "stopped":  # the kernel of a frozen one goes on forwarding
            carried = [d for d, i in MEMBERS if (CENTRAL.get("pod", pod_of(d, i)) or {})["spec"]["nodeName"] == node]
            for database in SCHEMAS:
                told = silent_addresses(database)
                assert len(told) == carried.count(database), told
    finally:
        run("docker", start, node, timeout=120)
    wait_for(
        "the node is ready", lambda: CENTRAL.kubectl("wait", "node", node, "--for=condition=Ready", "--timeout=5s"), 180
    )
    for database in SCHEMAS:
        wait_for(f"{database}: three pods ready", lambda d=database: len(CENTRAL.ready(d)) == 3, 240)
        assert [m.server_id for m in wait_whole(database)] == before[database]
        wait_labeled(database)
    for index in range(3):
        # Kubernetes still calls a pod ready that has restarted with its node a moment ago.
        wait_for(f"member {index} has {name}", lambda i=index: all(name in seen for seen in marks(i)), 60)
    playbook("verify")


# Seconds without packets that are all right. ovn-controller may go without a gap, the flows stay in the switch. Open vSwitch
# in userspace is the datapath itself: while it restarts nothing is forwarded, until its flows are back.
@pytest.mark.parametrize(("component", "gap"), [("controller", 1.0), ("ovs", 25.0)])
def test_restart_a_hypervisor_pod_while_pinging(
    component: str, gap: float, guests: tuple[Guest, Guest], record_property: t.Callable[[str, object], None]
) -> None:
    interval, seconds = 0.1, 60
    old = pod_on(component, guests[0].node)
    ping = guests[0].ping(guests[1], count=int(seconds / interval), interval=interval)
    time.sleep(3)  # the pause is compared with answers of these seconds
    HYPERVISORS.kubectl("delete", "pod", old, "--timeout=90s", timeout=100)
    wait_for(
        f"{component}: ready on each node", lambda: len(HYPERVISORS.ready(component)) == len(hypervisor_nodes()), 120
    )
    sent, lost = losses(ping, timeout=seconds + 60)
    record_property("lost", f"{lost} of {sent}")
    print(f"{component}: {lost} of {sent} packets lost, one each {interval} s")
    assert lost * interval <= gap
    assert guests[0].answered(guests[1])


@pytest.mark.usefixtures("healthy_after")
def test_remove_and_add_a_hypervisor_node() -> None:
    """Without the label a node loses chassis and OVNChassis with the next run; with it, it registers without a run."""
    nodes = hypervisor_nodes()
    node = max(nodes)
    label = "node-role.kubernetes.io/hypervisor"
    assert chassis() == nodes
    HYPERVISORS.kubectl("label", "node", node, f"{label}-")
    try:
        playbook("site")
        assert chassis() == nodes - {node}
        assert {item["spec"]["hostname"] for item in HYPERVISORS.list("ovnchassis")} == nodes - {node}
    finally:
        HYPERVISORS.kubectl("label", "--overwrite", "node", node, f"{label}=")
    wait_for(f"{node} registers by itself", lambda: chassis() == nodes, 180)
    playbook("site")
    assert {item["spec"]["hostname"] for item in HYPERVISORS.list("ovnchassis")} == nodes
    assert playbook("site").changed == []
    playbook("ping")


@pytest.mark.usefixtures("healthy_after")
def test_a_hypervisor_node_dies() -> None:
    """The next run after its Node was deleted removes its chassis; a whole cluster cannot be declared gone. Started again, the node registers by itself."""
    nodes = hypervisor_nodes()
    node = max(nodes)
    assert chassis() == nodes
    run("docker", "stop", node)
    try:
        refused = playbook("hypervisors", *extra({"ovn_hypervisor_state": "gone"}), ok=False)
        assert "hypervisors is a Kubernetes cluster; ovn_hypervisor_state=gone is for machines only" in "\n".join(
            refused.failed
        ), refused.log
        assert refused.changed == []
        assert chassis() == nodes
        HYPERVISORS.kubectl("delete", "node", node, "--wait=false")
        playbook("hypervisors")
        assert chassis() == nodes - {node}
        assert southbound_rows(node) == []
        assert {item["spec"]["hostname"] for item in HYPERVISORS.list("ovnchassis")} == nodes - {node}
    finally:
        run("docker", "start", node, timeout=120)
        wait_for(f"the Node {node} is there again", lambda: HYPERVISORS.get("node", node), 120)
        HYPERVISORS.kubectl("label", "--overwrite", "node", node, "node-role.kubernetes.io/hypervisor=")
    wait_for(f"{node} registers by itself", lambda: chassis() == nodes, 240)
    playbook("site")
    assert {item["spec"]["hostname"] for item in HYPERVISORS.list("ovnchassis")} == nodes
    assert playbook("site").changed == []
    playbook("ping")


def southbound_rows(name: str) -> list[str]:
    """The tables that have rows of the chassis with this name."""
    columns = {"Chassis": "name", "Chassis_Private": "name", "Encap": "chassis_name"}
    return [
        table
        for table, column in columns.items()
        if client("southbound", "--bare", "--columns=_uuid", "find", table, f"{column}={name}").strip()
    ]


def test_a_machine_that_is_gone(tmp_path: pathlib.Path) -> None:
    """A dead machine is a chassis of the control plane in Kubernetes: its rows go through the pods there. A node of a cluster is no such machine."""
    inventory = tmp_path / "machine.yml"
    machine = {"ansible_host": "192.0.2.9", "ansible_connection": "ssh", "ovn_backend": "host"}
    inventory.write_text(json.dumps({"ovn_hypervisors": {"hosts": {"compute9": machine}}}))
    register = ("chassis-add", "compute9", "geneve", "192.0.2.9", "--", "set", "Chassis", "compute9")
    private = ("--", "--id=@private", "create", "Chassis_Private", "name=compute9")
    client("southbound", *register, "hostname=compute9", *private)
    assert southbound_rows("compute9") == ["Chassis", "Chassis_Private", "Encap"]
    nodes = hypervisor_nodes()

    def declare_gone(ok: bool = True, **variables: str) -> Ran:
        limited = (f"--inventory={inventory}", "--limit=compute9")
        return playbook("hypervisors", *limited, *extra({"ovn_hypervisor_state": "gone", **variables}), ok=ok)

    refused = declare_gone(ok=False, ovn_system_id=max(nodes))
    assert re.search(rf'"{max(nodes)}" .*belongs to Kubernetes cluster', "\n".join(refused.failed)), refused.failed
    assert chassis() == nodes | {"compute9"}
    assert len(declare_gone().changed) == 1
    assert southbound_rows("compute9") == []
    assert chassis() == nodes
    assert declare_gone().changed == []


@pytest.mark.usefixtures("healthy_after")
def test_uninstall_and_reinstall_over_kept_claims() -> None:
    """Without `delete_data` all data stays: the same clusters, the same members, the same content."""
    mark("reinstalled")
    before = {database: wait_whole(database) for database in SCHEMAS}
    uninstall()
    wait_for("no pod of ours", lambda: not CENTRAL.list("pods", f"app.kubernetes.io/instance={NAME}"), 120)
    claims = [claim["metadata"]["name"] for claim in CENTRAL.list("pvc")]
    assert len(claims) == len(MEMBERS), claims
    playbook("site")
    for database in SCHEMAS:
        wait_for(f"{database} is whole", lambda d=database: whole(d), 60)
        assert [(m.cluster_id, m.server_id) for m in members(database)] == [
            (m.cluster_id, m.server_id) for m in before[database]
        ]
    assert all("reinstalled" in seen for seen in marks())
    wait_for("all chassis are there", lambda: chassis() == hypervisor_nodes(), 60)
    playbook("ping")


# What is wrong with the specification, and what the message has to name: the object and what Kubernetes says of it.
BAD: dict[str, tuple[Object, str]] = {
    "image": (
        {"ovnImage": {"repository": "localhost/no-such-image", "tag": "1", "pullPolicy": "IfNotPresent"}},
        r"[Pp]od ovn-northbound-0 .*(ErrImagePull|ImagePullBackOff|Failed to pull image).*localhost/no-such-image:1",
    ),
    "storage-class": (
        {"northbound": {"replicas": 1, "storage": {"size": "100Mi", "storageClass": "no-such-class"}}},
        r"(Pod|PersistentVolumeClaim) (data-)?ovn-northbound-0.*no-such-class",
    ),
    "program": ({}, r"ovn-northbound-0 .*(CrashLoopBackOff|executable file not found)"),
    "quota": ({}, r"StatefulSet ovn-northbound .*exceeded quota: full"),
}


@pytest.fixture(scope="module")
def attempts() -> t.Iterator[dict[str, Future[tuple[Ran, Ran]]]]:
    """Each specification that cannot run, in a namespace of its own, and then a good one there. They wait most of the time: two go at once."""
    good = small_control_plane()

    def attempt(what: str) -> tuple[Ran, Ran]:
        namespace, (spec, _named) = f"cannot-run-{what}", BAD[what]
        CENTRAL.kubectl("create", "namespace", namespace)
        if what == "program":  # an image without a shell that every node has
            listed = [
                name for node in CENTRAL.list("nodes") for one in node["status"]["images"] for name in one["names"]
            ]
            repository, _colon, tag = next(name for name in listed if "/pause:" in name).rpartition(":")
            spec = {"ovnImage": {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"}}
        if what == "quota":
            CENTRAL.kubectl("--namespace", namespace, "create", "quota", "full", "--hard=pods=0")
        variables: Object = {"ovn_namespace": namespace}
        bad = playbook("central", *extra({**variables, "ovn_cluster_spec": good | spec}), ok=False)
        if what == "quota":
            CENTRAL.kubectl("--namespace", namespace, "delete", "quota", "full")
        return bad, playbook("central", *extra({**variables, "ovn_cluster_spec": good}), ok=False)

    with ThreadPoolExecutor(2) as two:
        try:
            yield {what: two.submit(attempt, what) for what in BAD}
        finally:
            two.shutdown(cancel_futures=True)
            names = [f"cannot-run-{what}" for what in BAD]
            CENTRAL.kubectl("delete", "namespace", *names, "--ignore-not-found", "--timeout=120s", timeout=150)


@pytest.mark.parametrize("what", BAD)
def test_playbook_names_the_pod_that_cannot_run(what: str, attempts: dict[str, Future[tuple[Ran, Ran]]]) -> None:
    """The run ends before its time with the object and the event behind it, and the next one finishes what it began."""
    bad, good = attempts[what].result()
    assert bad.rc != 0
    assert re.search(BAD[what][1], "\n".join(bad.failed), re.DOTALL), bad.failed
    assert "Timed out" not in "\n".join(bad.failed), bad.log
    assert good.rc == 0, f"{good.failed or good.messages}, see {good.log}"
