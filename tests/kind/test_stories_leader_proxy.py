"""The leader proxy of each node, and what stands in for Neutron's pods: clients that know one address for each database."""

from __future__ import annotations

import functools
import re
import subprocess
import typing as t

import pytest
from clusters import (
    CENTRAL,
    SCHEMAS,
    SOCKETS,
    Object,
    client,
    leader,
    playbook,
    pod_of,
    wait_for,
)
from neutron import COMPONENT, NEUTRON, NODES, leader_proxies, proxy_on, published, specification
from pods import Writer, named, nodes, start

TLS = "/tmp/tls"
PORTS = {"northbound": 6641, "southbound": 16642}
TAINT = "kindtest-neutron"
# Established connections to a port of this pod, on both families: the other ends, in hexadecimal as the kernel has them
PEERS = """
import sys
for family in ("tcp", "tcp6"):
    for line in open(f"/proc/net/{family}").read().splitlines()[1:]:
        _number, local, remote, state = line.split()[:4]
        if state == "01" and int(local.rpartition(":")[2], 16) == int(sys.argv[1]):
            print(remote.rpartition(":")[0])
"""


@pytest.fixture(scope="module")
def neutrons() -> t.Iterator[list[Object]]:
    """A pod on each node that has a proxy, with a certificate that the databases trust. One node has a taint, as control nodes have."""
    tainted = named(nodes(CENTRAL)[-1])
    try:
        CENTRAL.kubectl("taint", "node", tainted, f"{TAINT}=only:NoSchedule", "--overwrite")
        with leader_proxies():
            for pod in CENTRAL.pods(COMPONENT):
                start(NEUTRON, name := f"neutron-{pod['spec']['nodeName']}", on=pod["spec"]["nodeName"])
                NEUTRON.kubectl("wait", "pod", name, "--for=condition=Ready", "--timeout=60s", timeout=90)
                NEUTRON.exec(name, "mkdir", "-p", TLS)
                for file in ("tls.key", "tls.crt", "ca.crt"):
                    content = CENTRAL.exec(pod_of("northbound", 0), "cat", f"/tls/{file}")
                    write = ("sh", "-c", f"umask 077; cat > {TLS}/{file}")
                    NEUTRON.kubectl("exec", "-i", name, "--", *write, stdin=content)
            yield NEUTRON.list("pods")
    finally:
        CENTRAL.kubectl("taint", "node", tainted, f"{TAINT}-", check=False)


def writer(pod: str) -> Writer:
    """With leader-only, as Neutron has it at the Northbound: it leaves a member that does not lead.

    A call of ovn-nbctl ends with its connection; Neutron makes another one, and so does this.
    """
    call = f"ovn-nbctl --db={published()['northbound']} $options --timeout=30 --may-exist ls-add {pod}-$row"
    return Writer(NEUTRON, pod, f"until {call}; do sleep 0.2; done", TLS)


def rows(pod: str, index: int) -> set[str]:
    listed = client("northbound", "--bare", "--columns=name", "list", "Logical_Switch", index=index)
    return set(re.findall(rf"{pod}-(writer-\d+)", listed))


def has_rows(pod: str, index: int, expected: set[str]) -> bool:
    return expected <= rows(pod, index)


def is_peer(address: str, proxy: str, *command: str) -> bool:
    return address in CENTRAL.exec(proxy, *command)


@pytest.fixture
def swept(neutrons: list[Object]) -> t.Iterator[None]:
    """Afterwards the rows of writers are gone."""
    yield
    for pod in map(named, neutrons):
        left = rows(pod, 0)
        if left:
            client("northbound", *" -- ".join(f"ls-del {pod}-{row}" for row in left).split())


def test_published_address_leads_to_the_proxy(neutrons: list[Object]) -> None:
    service = CENTRAL.list("services", f"app.kubernetes.io/component={COMPONENT}")[0]["spec"]
    assert published() == {database: f"ssl:{service['clusterIP']}:{port}" for database, port in PORTS.items()}
    assert len(neutrons) == len(nodes(CENTRAL)) > 1
    assert playbook("central", *specification(enabled=True)).changed == []


@pytest.mark.parametrize("database", PORTS)
def test_a_pod_gets_the_proxy_of_its_own_node(database: str, neutrons: list[Object]) -> None:
    tool, table = {"northbound": ("ovn-nbctl", "NB_Global"), "southbound": ("ovn-sbctl", "SB_Global")}[database]
    for pod in neutrons:
        # The proxy of the Southbound leads to any member, as Neutron takes any.
        options = ("-p", f"{TLS}/tls.key", "-c", f"{TLS}/tls.crt", "-C", f"{TLS}/ca.crt", "--no-leader-only")
        wait = ("wait-until", table, ".", "nb_cfg=2000000000")  # which it never is
        held = subprocess.Popen(
            NEUTRON.command(
                "exec", named(pod), "--", tool, f"--db={published()[database]}", *options, "--timeout=60", *wait
            )
        )
        try:
            proxy = proxy_on(pod["spec"]["nodeName"])
            script = ("python3", "-c", PEERS, str(PORTS[database]))
            address = [int(part) for part in str(pod["status"]["podIP"]).split(".")]
            end = "".join(f"{part:02X}" for part in reversed(address))
            wait_for(f"{named(pod)} is at {proxy}", functools.partial(is_peer, end, proxy, *script), 30)
        finally:
            NEUTRON.exec(named(pod), "pkill", tool, check=False)
            held.wait(30)


@pytest.mark.parametrize("event", ["the leader is killed", "the proxy is deleted", "the proxies are updated"])
@pytest.mark.usefixtures("healthy_after", "swept")
def test_writes_go_on(event: str, neutrons: list[Object]) -> None:
    pod = neutrons[0]
    client_of = writer(named(pod))
    try:
        client_of.wait_for_rows()
        if event == "the leader is killed":
            killed = pod_of("northbound", leader("northbound"))
            CENTRAL.exec(killed, "sh", "-c", f"kill -9 $(cat /run/ovn/{SOCKETS['northbound']}.pid)")
        elif event == "the proxy is deleted":
            CENTRAL.kubectl("delete", "pod", proxy_on(pod["spec"]["nodeName"]))
        else:
            # As a new version of the collection does it: a run applies another template.
            former = {named(one) for one in CENTRAL.pods(COMPONENT)}
            name = named(CENTRAL.list("daemonsets", f"app.kubernetes.io/component={COMPONENT}")[0])
            assert playbook("central", *specification(enabled=True, resources={"requests": {"cpu": "11m"}})).changed
            CENTRAL.kubectl("rollout", "status", f"daemonset/{name}", "--timeout=180s", timeout=200)
            assert not former & {
                named(one) for one in CENTRAL.pods(COMPONENT) if "deletionTimestamp" not in one["metadata"]
            }
        client_of.wait_for_rows(20)
    finally:
        client_of.stop()
    assert client_of.failures == []
    for index in range(3):
        replicated = functools.partial(has_rows, named(pod), index, set(client_of.acknowledged))
        wait_for(f"each row is in member {index}", replicated, 30)


@pytest.mark.usefixtures("neutrons")
def test_proxy_with_published_address_is_not_removed() -> None:
    fewer = {**NODES["nodeSelector"], "neutron": "here"}
    for proxy in ({"enabled": False}, {"enabled": True, "nodeSelector": fewer}, {"enabled": True, "tolerations": []}):
        refused = playbook("central", *specification(**proxy), ok=False)
        assert refused.rc != 0
        assert "spec.leaderProxy.published to false" in " ".join(refused.failed + refused.messages)
    assert CENTRAL.pods(COMPONENT)
    assert set(published()) == set(SCHEMAS)
