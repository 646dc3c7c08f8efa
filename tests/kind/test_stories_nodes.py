"""Nodes of a hypervisor cluster: certificates of their own, and new images while guests talk. Each story leaves everything as it was."""

from __future__ import annotations

import time
import typing as t

import pytest
from clusters import (
    HYPERVISORS,
    Guest,
    client,
    endpoints,
    extra,
    hypervisor_nodes,
    losses,
    playbook,
    pod_on,
    run,
    wait_for,
)

OWN = extra({"ovn_node_certificates": "own"})
FILES = "-p /node-tls/current/tls.key -c /node-tls/current/tls.crt -C /tls/ca.crt"


@pytest.fixture(scope="class")
def own_certificates() -> t.Iterator[None]:
    """Each node has a certificate with the name of its chassis; relays get their role when all nodes have."""
    playbook("hypervisors", *OWN)
    playbook("central", *OWN)
    yield
    playbook("central")
    playbook("hypervisors")
    assert playbook("site").changed == []


def as_node(node: str, command: str) -> str:
    """What a command prints that is run on the node, with its key."""
    return HYPERVISORS.exec(pod_on("controller", node), "sh", "-c", f"{command} 2>&1; true")


@pytest.mark.usefixtures("own_certificates")
class TestOwnCertificates:
    def test_a_second_run_changes_nothing(self) -> None:
        again = playbook("site", *OWN)
        assert again.changed == [], again.log
        playbook("ping", *OWN)
        playbook("verify", *OWN)

    def test_a_node_is_its_own_chassis_alone(self) -> None:
        one, other = sorted(hypervisor_nodes())[:2]
        remote = ",".join(endpoints("southbound"))
        shown = as_node(
            one, f"ovn-sbctl {FILES} --no-leader-only --timeout=10 --db={remote} --columns=name list Chassis"
        )
        assert other in shown, "it reads all of the Southbound"
        said = as_node(one, f"ovn-sbctl {FILES} --no-leader-only --timeout=10 --db={remote} chassis-del {other}")
        assert "permission error" in said
        northbound = ",".join(endpoints("northbound"))
        said = as_node(one, f"ovn-nbctl {FILES} --no-leader-only --timeout=10 --db={northbound} show")
        assert "tlsv1 alert unknown ca" in said or "database connection failed" in said, said
        assert other in client("southbound", "--bare", "--columns=name", "list", "Chassis")

    def test_a_node_without_its_certificate_gets_another(self) -> None:
        """As after a disk that was lost: the agent asks, a run signs."""
        node = min(hypervisor_nodes())
        run("docker", "exec", node, "sh", "-c", "rm -r /var/lib/c5c3-ovn/certificate/*")
        HYPERVISORS.kubectl("delete", "pod", pod_on("controller", node), "--timeout=90s", timeout=100)
        assert playbook("hypervisors", *OWN).changed != []
        assert playbook("hypervisors", *OWN).changed == []


def chassis_status(node: str) -> dict[str, str]:
    """What the OVNChassis of this node says: its last heartbeat, and status and reason of `Ready`."""
    status = (HYPERVISORS.get("ovnchassis", node) or {}).get("status") or {}
    ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
    return {"heartbeat": status.get("lastHeartbeat", ""), "ready": f"{ready.get('status')} {ready.get('reason')}"}


def test_a_dead_node_is_not_ready_without_a_run() -> None:
    """Nobody deletes its Node and no playbook runs. One pod of the observer may have been on it."""
    observer = "ovn-chassis-observer"
    container = (HYPERVISORS.get("deployment", observer) or {})["spec"]["template"]["spec"]["containers"][0]
    interval = float({one["name"]: one["value"] for one in container["env"]}["OVN_HEARTBEAT_SECONDS"])
    wait_for("both pods of the observer", lambda: len(HYPERVISORS.ready("chassis-observer")) == 2, 180)
    nodes = hypervisor_nodes()
    # Each has answered since the observers began to look.
    before = {node: chassis_status(node)["heartbeat"] for node in nodes}
    for node in nodes:
        wait_for(f"{node} answers", lambda n=node: chassis_status(n)["heartbeat"] not in ("", before[n]), 3 * interval)
        assert chassis_status(node)["ready"] == "True Registered"
    dead = max(nodes)
    run("docker", "kill", dead)
    died_at = time.monotonic()
    try:
        last = chassis_status(dead)
        wait_for(f"{dead} is not ready", lambda: chassis_status(dead)["ready"] == "False NoHeartbeat", 2 * interval)
        print(
            f"{dead} was not ready {time.monotonic() - died_at:.0f} s after its death, with heartbeats each {interval:g} s"
        )
        assert chassis_status(dead)["heartbeat"] == last["heartbeat"]
        assert {chassis_status(node)["ready"] for node in nodes - {dead}} == {"True Registered"}
    finally:
        run("docker", "start", dead, timeout=120)
    wait_for(f"{dead} is ready again", lambda: chassis_status(dead)["ready"] == "True Registered", 240)
    assert playbook("site").changed == []


def reference(container: str) -> str:
    """The image of this container of the hypervisors."""
    workloads = [HYPERVISORS.get("daemonset", name) or {} for name in ("ovs", "ovn-controller")]
    images = {
        one["name"]: one["image"] for found in workloads for one in found["spec"]["template"]["spec"]["containers"]
    }
    return str(images[container])


@pytest.mark.parametrize(("variable", "gap"), [("ovn_image", 1.0), ("ovs_image", 25.0)])
def test_a_new_image_while_guests_talk(variable: str, gap: float, guests: tuple[Guest, Guest]) -> None:
    """The image is the same one under another tag. Open vSwitch in userspace is the datapath itself: while it restarts nothing is forwarded."""
    interval, seconds = 0.1, 150
    repository, _colon, tag = reference("ovn-controller").rpartition(":")
    for node in hypervisor_nodes():
        ctr = ("docker", "exec", node, "ctr", "--namespace=k8s.io", "images", "tag", "--force")
        run(*ctr, f"{repository}:{tag}", f"{repository}:{tag}-again")
    ping = guests[0].ping(guests[1], count=int(seconds / interval), interval=interval)
    try:
        ran = playbook("hypervisors", *extra({variable: {"repository": repository, "tag": f"{tag}-again"}}))
        assert ran.changed
    finally:
        playbook("hypervisors")
    sent, lost = losses(ping, timeout=seconds + 60)
    print(f"{variable}: {lost} of {sent} packets lost, one each {interval} s, in two updates")
    assert lost * interval <= 2 * gap
    wait_for("the guests reach each other", lambda: guests[0].answered(guests[1]), 60)


def test_an_image_that_nobody_has_replaces_nothing(guests: tuple[Guest, Guest]) -> None:
    pods = {pod["metadata"]["uid"] for part in ("ovs", "controller") for pod in HYPERVISORS.pods(part)}
    repository = reference("ovn-controller").rpartition(":")[0]
    variables = {"ovs_image": {"repository": repository, "tag": "nowhere"}}
    ping = guests[0].ping(guests[1], count=300, interval=0.1)
    refused = playbook("hypervisors", *extra({**variables, "ovn_wait_timeout": 30}), ok=False)
    words = ("Not all nodes have", f"{repository}:nowhere", "ErrImagePull", "No daemon was stopped.")
    # Between two attempts a kubelet says ImagePullBackOff.
    failed = [one.replace("ImagePullBackOff", "ErrImagePull") for one in refused.failed]
    assert any(all(word in one for word in words) for one in failed), refused.failed
    assert all(f"node {node}: " in " ".join(failed) for node in hypervisor_nodes())
    assert HYPERVISORS.get("daemonset", "ovn-image-pull") is None
    _sent, lost = losses(ping, timeout=90)
    assert lost == 0
    assert {pod["metadata"]["uid"] for part in ("ovs", "controller") for pod in HYPERVISORS.pods(part)} == pods
    assert playbook("site").changed == []
