"""A real Neutron in a pod: what its API creates reaches OVN through the leader proxy of its node, and calls go on without a leader or a proxy."""

from __future__ import annotations

import time
import typing as t
import uuid

import pytest
from cloud_outages import Load
from clusters import (
    CENTRAL,
    HYPERVISORS,
    SOCKETS,
    Guest,
    client,
    hypervisor_nodes,
    leader,
    playbook,
    pod_of,
    wait_for,
)
from metadata import answers, ask_for_address, build_image, on_node, start_nova, stop_nova
from metadata import specification as with_agents
from neutron import (
    NEUTRON,
    connect,
    leader_proxies,
    proxy_on,
    published,
    save_log,
    specification,
    start_api,
    switches,
)
from pods import named, nodes

if t.TYPE_CHECKING:
    from cloud_neutron import Api

# Seconds without an answer. An election with the default timer takes 5 to 10, and a pod some more on a busy host.
ALLOWED = 30.0
AGENT = "OVN Controller "  # "agent" or "Gateway agent"


@pytest.fixture(scope="module")
def neutron() -> t.Iterator[Api]:
    """The API of a Neutron on the last node."""
    build_image(CENTRAL)
    with leader_proxies():
        assert connect().changed
        try:
            yield start_api(named(nodes(CENTRAL)[-1]))
        finally:
            save_log()


@pytest.fixture
def agents(neutron: Api) -> t.Iterator[Api]:
    """With metadata agents on the nodes of hypervisors; the end of the proxies is theirs as well."""
    variables = specification(with_agents()["ovn_cluster_spec"], enabled=True)
    build_image(HYPERVISORS)
    start_nova()
    try:
        playbook("hypervisors", *variables)
        playbook("central", *variables)
        yield neutron
    finally:
        stop_nova()


def test_what_the_api_creates_is_in_ovn(neutron: Api) -> None:
    """And what OVN has is in the API: chassis are agents, by the Southbound."""
    told = {agent["host"] for agent in neutron.call("GET", "agents")["agents"] if agent["agent_type"].startswith(AGENT)}
    assert told == hypervisor_nodes()
    network = neutron.create("network", name="one")
    try:
        neutron.create("subnet", network_id=network["id"], ip_version=4, cidr="10.1.0.0/24")
        host = {"binding:host_id": min(told)}
        port = neutron.create("port", network_id=network["id"], device_owner="compute:nova", **host)
        assert port["binding:vif_type"] == "ovs"
        assert f"neutron-{network['id']}" in switches()
        address = port["fixed_ips"][0]["ip_address"]
        assert f"{port['mac_address']} {address}" in client("northbound", "lsp-get-addresses", port["id"])
        neutron.call("DELETE", f"ports/{port['id']}")
    finally:
        neutron.call("DELETE", f"networks/{network['id']}")
    assert f"neutron-{network['id']}" not in switches()


@pytest.mark.usefixtures("neutron")
def test_a_second_run_changes_nothing_for_neutron() -> None:
    again = connect()
    assert again.changed == [], again.log
    (settings,) = (NEUTRON.get("configmap", "ovn-neutron") or {})["data"].values()
    for database, option in (("northbound", "ovn_nb_connection"), ("southbound", "ovn_sb_connection")):
        (line,) = [line for line in settings.splitlines() if line.startswith(f"{option} = ")]
        assert set(line.partition(" = ")[2].split(",")) == {published()[database]}


@pytest.mark.parametrize("event", ["the leader is killed", "the proxy is deleted"])
@pytest.mark.usefixtures("healthy_after")
def test_api_calls_go_on(event: str, neutron: Api) -> None:
    with Load(neutron) as load:
        wait_for("calls are answered", lambda: len(load.acknowledged) >= 10, 60)
        load.hit = time.monotonic()
        if event == "the leader is killed":
            killed = pod_of("northbound", leader("northbound"))
            load.hit = time.monotonic()
            CENTRAL.exec(killed, "sh", "-c", f"kill -9 $(cat /run/ovn/{SOCKETS['northbound']}.pid)")
        else:
            CENTRAL.kubectl("delete", "pod", proxy_on(named(nodes(CENTRAL)[-1])))
        before = len(load.acknowledged)
        wait_for("calls are answered again", lambda: len(load.acknowledged) >= before + 20, 120)
    print(f"{event}: {len(load.acknowledged)} networks, no answer for {load.gap():.1f} s, median {load.median():.2f} s")
    assert load.failed == []
    assert load.gap() < ALLOWED
    created = {f"neutron-{call.network}" for call in load.acknowledged}
    for index in range(3):
        wait_for(f"member {index} has each network", lambda i=index: created <= switches(i), 30)
    for call in load.acknowledged:
        neutron.call("DELETE", f"networks/{call.network}")


def test_a_guest_has_its_address_and_metadata(agents: Api) -> None:
    """From the call to the packet: Neutron, both databases, the other cluster's ovn-controller, DHCP of OVN, the metadata agent."""
    guest = Guest(min(hypervisor_nodes()), 1)
    network = agents.create("network", name="guests")
    subnet = agents.create("subnet", network_id=network["id"], ip_version=4, cidr="198.19.0.0/24")
    fields = {
        "mac_address": guest.mac,
        "fixed_ips": [{"subnet_id": subnet["id"], "ip_address": guest.address}],
        "device_owner": "compute:nova",
        "device_id": str(uuid.uuid4()),
        "binding:host_id": guest.node,
    }
    port = agents.create("port", network_id=network["id"], **fields)
    namespace = f"ovnmeta-{network['id']}"
    try:
        guest.connect(port["id"])
        wait_for("ACTIVE", lambda: agents.call("GET", f"ports/{port['id']}")["port"]["status"] == "ACTIVE", 60)
        ask_for_address(guest)
        wait_for("metadata", lambda: answers(guest, port["device_id"]), 120, pause=0.2)
    finally:
        guest.unplug()
        agents.call("DELETE", f"ports/{port['id']}")
        agents.call("DELETE", f"networks/{network['id']}")
    wait_for("no namespace without a guest", lambda: namespace not in on_node(guest.node, "ip", "netns"), 60)
