"""ovn_hypervisors waits as long as nodes make progress: `wait_timeout` counts from the last one. Pods are those of `_daemon_sets.py`."""

from __future__ import annotations

import re
import threading
import typing as t

import pytest
from _beside import beside
from _daemon_sets import DaemonSets
from _hypervisors import Hypervisors
from conftest import MakeCluster, Ran, run, until, within

NODES = [f"worker-{number}" for number in range(1, 9)]
UPDATE = {part: {"resources": {"requests": {"cpu": "77m"}}} for part in ("ovs", "controller")}


@pytest.fixture(autouse=True)
def nodes(hypervisors: Hypervisors) -> None:
    for number, node in enumerate(NODES, 1):
        hypervisors.node(node, f"192.0.2.{number}")


@pytest.fixture
def daemon_sets(hypervisors: Hypervisors) -> DaemonSets:
    """All pods run."""
    hypervisors()
    made = DaemonSets(hypervisors, NODES)
    made.roll_out(NODES)
    return made


@pytest.fixture
def limit() -> float:
    """Seconds without progress: far fewer than all nodes take, more than one takes."""
    return min(within(3), 10.0)  # a module has a minute


def update(hypervisors: Hypervisors, limit: float) -> Ran:
    return hypervisors(wait=True, wait_timeout=limit, spec=UPDATE, may_fail=True)


def await_update(hypervisors: Hypervisors, before: dict[str, int]) -> None:
    until(
        lambda: all(now > before[name] for name, now in hypervisors.generations().items()),
        "the update of both DaemonSets",
    )


def assert_stalled(message: str, limit: float, finished: int) -> None:
    """It says how far it got, since when nothing moved, and what is pending."""
    numbers = f"is finished on {finished} of {len(NODES)} nodes ({finished + 1} up to date, {len(NODES) - 1} ready)"
    for words in (
        f"DaemonSet ovs {numbers}, DaemonSet ovn-controller {numbers}",
        f"Node {NODES[finished]}: pod ovs-{NODES[finished]} is not ready",
        "Run again",
    ):
        assert words in message
    stalled = re.search(r"no progress for (\d+) s \(since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\)", message)
    assert stalled
    assert limit - 1 < int(stalled[1]) < limit + within(3)


def test_a_rollout_may_take_longer_than_the_limit(
    hypervisors: Hypervisors, daemon_sets: DaemonSets, limit: float
) -> None:
    before = hypervisors.generations()
    pause = limit / 3
    assert pause * len(NODES) > 2 * limit
    waited: list[bool] = []

    def roll_out(ended: threading.Event) -> None:
        await_update(hypervisors, before)
        daemon_sets.roll_out(NODES, lambda: waited.append(not ended.wait(pause)))

    with beside(roll_out):
        ran = update(hypervisors, limit)
    assert not ran.failed, ran["msg"]
    assert waited == [True] * len(NODES)


def test_a_first_rollout_may_take_longer_than_the_limit(hypervisors: Hypervisors, limit: float) -> None:
    """All pods exist at once, and become ready one after the other."""
    waited: list[bool] = []

    def become_ready(ended: threading.Event) -> None:
        daemon_sets = DaemonSets(hypervisors, NODES)
        until(lambda: len(hypervisors.generations()) == 2, "both DaemonSets")
        for node in NODES:
            daemon_sets.replace(node)
        for node in NODES:
            waited.append(not ended.wait(limit / 3))
            daemon_sets.set_ready(node)

    with beside(become_ready):
        ran = hypervisors(wait=True, wait_timeout=limit, may_fail=True)
    assert not ran.failed, ran["msg"]
    assert waited == [True] * len(NODES)


@pytest.mark.parametrize("flapping", [False, True], ids=["nothing moves", "pods flap"])
def test_a_rollout_that_stops_is_given_up(
    hypervisors: Hypervisors, daemon_sets: DaemonSets, limit: float, flapping: bool
) -> None:
    """The new pod of the fourth node does not become ready. Pods that were finished, and some of the old template, may go up and down meanwhile."""
    before = hypervisors.generations()

    def roll_out(ended: threading.Event) -> None:
        await_update(hypervisors, before)
        daemon_sets.roll_out(NODES[:3], lambda: ended.wait(limit / 3))
        daemon_sets.replace(NODES[3])
        while flapping and not ended.is_set():
            for node in (NODES[0], NODES[-1]):
                daemon_sets.set_ready(node, ready=False)
                daemon_sets.set_ready(node)
                # What the message says must not depend on the moment: it is mostly as before.
                ended.wait(limit / 10)

    with beside(roll_out):
        ran = update(hypervisors, limit)
    assert ran.failed
    if flapping:
        assert "no progress for" in ran["msg"]
    else:
        assert_stalled(ran["msg"], limit, finished=3)


def test_chassis_may_take_longer_than_the_limit_to_register(
    hypervisors: Hypervisors, daemon_sets: DaemonSets, raft_cluster: MakeCluster, limit: float
) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints

    def register(nodes: t.Iterable[int]) -> t.Callable[[threading.Event], None]:
        def work(ended: threading.Event) -> None:
            for number in nodes:
                ended.wait(limit / 3)
                add = ("chassis-add", f"worker-{number}", "geneve", f"192.0.2.{number}")
                run("ovn-sbctl", f"--db={endpoint}", "--timeout=20", *add)

        return work

    options = {"southbound": [endpoint], "wait": True, "wait_timeout": limit, "may_fail": True}
    hypervisors(southbound=[endpoint])
    daemon_sets.report()
    with beside(register(range(1, 7))):
        ran = hypervisors(**options)
    assert ran.failed
    for words in (
        "2 of 8 hypervisors are not registered in the Southbound database, with no progress for",
        'chassis "worker-7" of node worker-7: it has no row there',
    ):
        assert words in ran["msg"]
    with beside(register((7, 8))):
        assert not hypervisors(**options).failed
