"""Metadata agents on the hypervisors: the real one in its pods, and guests that ask 169.254.169.254. Nova and Neutron's API have stand-ins."""

from __future__ import annotations

import json
import time
import typing as t

import pytest
from clusters import HYPERVISORS, Guest, Object, client, extra, hypervisor_nodes, playbook, pod_on, wait_for
from metadata import Network, answers, build_image, is_serving, on_node, specification, start_nova, stop_nova

COMPONENT = "metadata-agent"
OWN = extra({"ovn_node_certificates": "own"})  # the stricter case: relays let a node write what is of its own chassis

Instances = tuple[Network, dict[str, Guest]]


@pytest.fixture(scope="module", autouse=True)
def agents() -> t.Iterator[None]:
    build_image()
    try:
        start_nova()
        playbook("hypervisors", *with_agents())
        playbook("central", *with_agents())
        yield
    finally:
        playbook("central")
        playbook("hypervisors")
        stop_nova()
    assert playbook("site").changed == []


@pytest.fixture(scope="module")
def instances() -> t.Iterator[Instances]:
    """A network with a guest on each of two nodes, by the identifiers of the instances."""
    network = Network()
    guests = [Guest(node, number) for number, node in enumerate(sorted(hypervisor_nodes())[:2], 1)]
    try:
        network.create()
        yield network, {network.plug(guest): guest for guest in guests}
    finally:
        for guest in guests:
            guest.unplug()
        network.delete()


def with_agents() -> tuple[str, ...]:
    """The arguments of a run."""
    return (*OWN, *extra(specification()))


def wait_answers(guests: dict[str, Guest]) -> None:
    """Wait until each guest is told its own identifier."""
    for instance, guest in guests.items():
        wait_for(f"metadata on {guest.node}", lambda: answers(guest, instance), 120, pause=0.2)  # noqa: B023 called at once


def registered() -> dict[str, Object]:
    """What stands in the rows of chassis that agents write, by node."""
    columns = "--columns=name,external_ids"
    shown = json.loads(client("southbound", "--format=json", columns, "list", "Chassis_Private"))
    return {name: dict(found[1]) for name, found in shown["data"]}


def repeated(node: str) -> int:
    """The number of Neutron that the agent of the node has repeated last."""
    return int(registered().get(node, {}).get("neutron:ovn-metadata-sb-cfg", 0))


def agent_processes(node: str) -> str:
    """Process identifiers of what belongs to an agent there, one a line, and the exit code of pgrep: "1" is none, and not that pgrep is missing."""
    # Brackets, so that the command line of this shell is not one of them.
    return on_node(node, "sh", "-c", "pgrep --full '[h]aproxy|[n]eutron|[p]rivsep'; echo $?").strip()


def containers(node: str) -> set[str]:
    """Identifiers of those that run the agent there."""
    pods = [pod for pod in HYPERVISORS.pods(COMPONENT) if pod["spec"].get("nodeName") == node]
    statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
    return {status["containerID"] for status in statuses if "running" in status["state"]}


def test_each_guest_is_told_what_is_its_own(instances: Instances) -> None:
    network, guests = instances
    wait_answers(guests)
    for guest in guests.values():
        assert is_serving(guest.node, network)


def test_neutron_sees_that_they_live(instances: Instances) -> None:
    """Neutron raises the number, as it does to ask, and each agent repeats it."""
    before = int(client("southbound", "get", "SB_Global", ".", "nb_cfg"))
    client("northbound", "--wait=sb", "sync")
    for node in hypervisor_nodes():
        assert "neutron:ovn-metadata-id" in registered().get(node, {}), node
        wait_for(f"the agent on {node}", lambda: repeated(node) > before, 30)  # noqa: B023 called at once


def test_a_second_run_changes_nothing() -> None:
    again = playbook("site", *with_agents())
    assert again.changed == [], again.log
    told = " ".join(playbook("verify", *with_agents()).messages)
    assert "OVN is healthy" in told
    assert "it can write none of its rows" not in told


@pytest.mark.parametrize("how", ["agent", "pod"])
def test_an_agent_that_died_is_back(how: str, instances: Instances) -> None:
    network, guests = instances
    node = min(guest.node for guest in guests.values())
    pod = pod_on(COMPONENT, node)
    former = containers(node)
    start = time.monotonic()
    if how == "pod":
        HYPERVISORS.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
    else:
        HYPERVISORS.exec(pod, "pkill", "--signal", "KILL", "--oldest", "--full", "^neutron-ovn-metadata-agent")
    assert network.namespace in on_node(node, "ip", "netns"), "it is the node's"
    wait_for("another container", lambda: containers(node) - former, 60, pause=0.2)
    wait_answers(guests)
    print(f"{how}: answered {time.monotonic() - start:.1f} s after it was killed")


def test_without_agents_and_with_them_again(instances: Instances) -> None:
    """No process stays on the nodes. What their kernels keep is for the next agent: it takes over what is needed, and removes the rest."""
    network, guests = instances
    playbook("hypervisors", *OWN)
    for guest in guests.values():
        assert network.namespace in on_node(guest.node, "ip", "netns")
        assert agent_processes(guest.node) == "1"
    gone = max(guests, key=lambda instance: guests[instance].node)
    node = guests[gone].node
    guests.pop(gone).unplug()
    playbook("hypervisors", *with_agents())
    wait_answers(guests)
    wait_for("no namespace without a guest", lambda: network.namespace not in on_node(node, "ip", "netns"), 60)
