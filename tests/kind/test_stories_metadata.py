"""Metadata agents on the hypervisors: the real ones in their pods, and guests that ask 169.254.169.254. Nova and Neutron's API have stand-ins."""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import subprocess
import threading
import time
import typing as t

import pytest
from clusters import HYPERVISORS, Guest, Object, client, extra, hypervisor_nodes, playbook, pod_on, wait_for
from metadata import (
    KEYS,
    METADATA_AGENT,
    OVN_AGENT,
    Network,
    answers,
    build_image,
    is_serving,
    on_node,
    specification,
    start_nova,
    stop_nova,
)

COMPONENT, DAEMON_SET = "metadata-agent", "ovn-metadata-agent"
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


def with_agents(**agent: t.Any) -> tuple[str, ...]:
    """The arguments of a run."""
    return (*OWN, *extra(specification(**agent)))


def wait_answers(guests: dict[str, Guest]) -> None:
    """Wait until each guest is told its own identifier."""
    for instance, guest in guests.items():
        wait_for(f"metadata on {guest.node}", functools.partial(answers, guest, instance), 120, pause=0.2)


def registered() -> dict[str, Object]:
    """What stands in the rows of chassis that agents write, by node."""
    columns = "--columns=name,external_ids"
    shown = json.loads(client("southbound", "--format=json", columns, "list", "Chassis_Private"))
    return {name: dict(found[1]) for name, found in shown["data"]}


def is_registered(node: str, program: str) -> bool:
    return f"{KEYS[program]}-id" in registered().get(node, {})


def has_repeated(node: str, program: str, number: int) -> bool:
    """Return whether the agent of the node has repeated this number of Neutron, or a later one."""
    return int(registered().get(node, {}).get(f"{KEYS[program]}-sb-cfg", 0)) >= number


def expect_that_they_live(program: str) -> None:
    """Neutron raises the number, as it does to ask, and each agent repeats it. No row names an agent of the other program."""
    before = int(client("southbound", "get", "SB_Global", ".", "nb_cfg"))
    client("northbound", "--wait=sb", "sync")
    (other,) = {*KEYS} - {program}
    for node in hypervisor_nodes():
        # It listens, and is ready by that, before it registers.
        wait_for(f"{program} in the row of {node}", functools.partial(is_registered, node, program), 30)
        assert not [key for key in registered()[node] if key.startswith(KEYS[other])], node
        wait_for(f"the agent on {node}", functools.partial(has_repeated, node, program, before + 1), 30)


def processes(node: str, pattern: str) -> set[str]:
    """Their identifiers. Exit code 1 of pgrep is none, and not that pgrep is missing."""
    return set(on_node(node, "sh", "-c", f"pgrep --full '{pattern}' || [ $? = 1 ]").split())


def has_other_processes(node: str, former: set[str]) -> bool:
    return bool(processes(node, f"^{OVN_AGENT}") - former)


def agent_processes(node: str) -> set[str]:
    """Those of what belongs to an agent there."""
    # Brackets, so that the command line of this shell is not one of them.
    return processes(node, "[h]aproxy|[n]eutron|[p]rivsep")


@contextlib.contextmanager
def counted_agents() -> t.Iterator[set[int]]:
    """How many pods of agents a node has had at a time, meanwhile, but for those that have ended: a DaemonSet does not wait until they are out of the API."""
    seen, over = set[int](), threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                pods = [
                    pod for pod in HYPERVISORS.pods(COMPONENT) if pod["status"]["phase"] not in ("Succeeded", "Failed")
                ]
                nodes = [pod["spec"].get("nodeName") for pod in pods]
                seen.update(collections.Counter(filter(None, nodes)).values())

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield seen
    finally:
        over.set()
        looker.join()


def generation() -> int:
    found = HYPERVISORS.get("daemonset", DAEMON_SET)
    assert found is not None
    return int(found["metadata"]["generation"])


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
    expect_that_they_live(METADATA_AGENT)


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


def replaced(program: str, guests: dict[str, Guest]) -> None:
    """Have another program answer: one rollout, and a node never has two agents."""
    (other,) = {*KEYS} - {program}
    before = generation()
    with counted_agents() as counted:
        ran = playbook("hypervisors", *with_agents(program=program))
    assert generation() == before + 1
    assert counted == {1}, ran.log
    wait_answers(guests)
    for node in hypervisor_nodes():
        assert processes(node, f"^{other}") == set(), "it has ended"
    expect_that_they_live(program)
    assert playbook("hypervisors", *with_agents(program=program)).changed == []


def test_the_other_program_takes_over(instances: Instances) -> None:
    """Guests get their metadata from it as they did, also when it was killed; and from the first one again."""
    network, guests = instances
    replaced(OVN_AGENT, guests)
    node = min(guest.node for guest in guests.values())
    assert is_serving(node, network)
    former = containers(node)
    # It is two processes, and the first one starts the second again.
    for which, same in (("--newest", True), ("--oldest", False)):
        before, start = processes(node, f"^{OVN_AGENT}"), time.monotonic()
        HYPERVISORS.exec(pod_on(COMPONENT, node), "pkill", "--signal", "KILL", which, "--full", f"^{OVN_AGENT}")
        wait_for("another process", functools.partial(has_other_processes, node, before), 60, pause=0.2)
        wait_answers(guests)
        print(f"{which}: answered {time.monotonic() - start:.1f} s after it was killed")
        if same:
            assert containers(node) == former
        else:
            wait_for("another container", lambda: containers(node) - former, 30)
    expect_that_they_live(OVN_AGENT)
    replaced(METADATA_AGENT, guests)


def test_without_agents_and_with_them_again(instances: Instances) -> None:
    """No process stays on the nodes. What their kernels keep is for the next agent: it takes over what is needed, and removes the rest."""
    network, guests = instances
    playbook("hypervisors", *OWN)
    for guest in guests.values():
        assert network.namespace in on_node(guest.node, "ip", "netns")
        assert agent_processes(guest.node) == set()
    gone = max(guests, key=lambda instance: guests[instance].node)
    node = guests[gone].node
    guests.pop(gone).unplug()
    playbook("hypervisors", *with_agents())
    wait_answers(guests)
    wait_for("no namespace without a guest", lambda: network.namespace not in on_node(node, "ip", "netns"), 60)
