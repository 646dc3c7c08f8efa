"""Heartbeats between runs: the observer with real databases, northd and ovn-controllers, of which one freezes."""

from __future__ import annotations

import json
import pathlib
import signal
import time
import typing as t

import pytest
from _installation import Installation, heartbeat_number
from _vswitch import require_vswitch
from _waits import stays
from conftest import run, until
from test_observer import World

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from conftest import MakeCluster

INTERVAL = 6.0


class Chassis:
    """Two chassis, and the observer's world around them."""

    def __init__(self, world: World, installation: Installation) -> None:
        self.world, self.installation = world, installation

    @property
    def number(self) -> int:
        """The last heartbeat, in the Northbound database."""
        return heartbeat_number(self.installation.northbound)

    def set_option(self, value: str) -> None:
        options = ["options", "insert", ["map", [["enable_chassis_nb_cfg_update", value]]]]
        delete = ["options", "delete", ["set", ["enable_chassis_nb_cfg_update"]]]
        mutate = {"op": "mutate", "table": "NB_Global", "where": [], "mutations": [delete, options]}
        socket = self.installation.northbound.leader.socket
        run("ovsdb-client", "-t", "10", "transact", socket, json.dumps(["OVN_Northbound", mutate]))

    def send(self, chassis: str, number: signal.Signals) -> float:
        self.installation.chassis[chassis].daemons["ovn-controller"].signal(number)
        return time.monotonic()

    def is_ready(self) -> str:
        return self.world.is_ready("ControllersReady")


@pytest.fixture
def chassis(
    api_server: ApiServer, namespace: str, raft_cluster: MakeCluster, short_dir: pathlib.Path
) -> t.Iterator[Chassis]:
    require_vswitch()
    clusters = {database: raft_cluster(1, database, tls=True) for database in DATABASES}
    world = World(api_server, namespace, short_dir / "world", clusters)
    installation = Installation(clusters["northbound"], clusters["southbound"], short_dir)
    try:
        world.prepare()
        installation.start_northd()
        for index, name in enumerate(("one", "two"), 1):
            installation.start_chassis(name, f"198.51.100.{index}")
        yield Chassis(world, installation)
    finally:
        world.stop()
        installation.stop()


def test_a_frozen_chassis_is_found_within_two_intervals_without_a_run(chassis: Chassis) -> None:
    chassis.world.observe(OVN_HEARTBEAT_SECONDS=str(INTERVAL))
    until(lambda: chassis.world.status.get("activeControllers") == 2, "both chassis", timeout=40)
    until(lambda: chassis.is_ready() == "True", "both to answer", timeout=20)
    first = chassis.number
    until(lambda: chassis.number > first, "a heartbeat", timeout=2 * INTERVAL)

    chassis.send("two", signal.SIGSTOP)
    message = "1 of 2 chassis answer. No answer: two."
    until(
        lambda: chassis.world.condition("ControllersReady")["message"] == message,
        "the frozen one alone",
        timeout=2 * INTERVAL,
    )
    assert chassis.is_ready() == "False"
    assert chassis.world.status["activeControllers"] == 1
    assert chassis.world.status["chassisCount"] == 2

    chassis.send("two", signal.SIGCONT)
    until(lambda: chassis.is_ready() == "True", "it to answer again", timeout=2 * INTERVAL)
    assert chassis.world.status["activeControllers"] == 2


def test_no_heartbeat_is_sent_with_an_interval_of_zero(chassis: Chassis) -> None:
    chassis.world.observe(OVN_HEARTBEAT_SECONDS="0")
    until(lambda: chassis.world.status.get("chassisCount") == 2, "both chassis", timeout=40)
    before = chassis.number
    stays(lambda: chassis.number == before, "no further heartbeat", INTERVAL)


def test_chassis_that_are_told_not_to_answer_are_unknown(chassis: Chassis) -> None:
    chassis.world.observe(OVN_HEARTBEAT_SECONDS="2")
    until(lambda: chassis.world.status.get("activeControllers") == 2, "both chassis", timeout=40)
    chassis.set_option("false")
    until(lambda: chassis.world.condition("ControllersReady")["reason"] == "HeartbeatsDisabled", "Unknown", timeout=20)
    assert chassis.is_ready() == "Unknown"
    assert "activeControllers" not in chassis.world.status
    number = chassis.number
    stays(lambda: chassis.number == number, "no further heartbeat", 5)
    chassis.set_option("true")
    until(lambda: chassis.is_ready() == "True", "answers again", timeout=20)


def test_conflicting_claims_are_reported_until_they_are_gone(chassis: Chassis) -> None:
    chassis.world.observe(OVN_CLAIMS_SECONDS="1")
    until(lambda: chassis.world.status.get("chassisCount") == 2, "both chassis", timeout=40)
    until(lambda: chassis.world.is_ready("ClaimsConsistent") == "True", "no conflict", timeout=20)
    northbound, southbound = (",".join(chassis.installation.options[name]) for name in DATABASES)
    run("ovn-nbctl", f"--db={northbound}", "ls-add", "net", "--", "lsp-add", "net", "vm")
    run("ovn-nbctl", f"--db={northbound}", "set", "Logical_Switch_Port", "vm", "options:requested-chassis=gone")
    sbctl = ("ovn-sbctl", f"--db={southbound}")
    uuid = run(*sbctl, "--bare", "--columns=_uuid", "find", "Chassis", "name=two").strip()
    until(lambda: run(*sbctl, "--bare", "find", "Port_Binding", "logical_port=vm").strip(), "the port")
    # The real controller releases it at once, unless it cannot.
    chassis.send("two", signal.SIGSTOP)
    run(*sbctl, "set", "Port_Binding", "vm", f"chassis={uuid}")
    until(lambda: chassis.world.is_ready("ClaimsConsistent") == "False", "the conflict", timeout=20)
    message = chassis.world.condition("ClaimsConsistent")["message"]
    assert message == "Port vm is requested on gone, but bound by two."
    run(*sbctl, "clear", "Port_Binding", "vm", "chassis")
    until(lambda: chassis.world.is_ready("ClaimsConsistent") == "True", "no conflict again", timeout=20)
