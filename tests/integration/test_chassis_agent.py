"""`c5c3-ovn.pyz chassis` as a process of its own, against a real ovsdb-server, ovs-vswitchd, ovn-controller and Southbound database."""

from __future__ import annotations

import os
import pathlib
import time
import typing as t

import pytest
from _agent import NODE, Agent
from _vswitch import Vswitch
from _waits import stays
from conftest import Daemon, MakeCluster, RaftCluster, run, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive


@pytest.fixture
def agent(daemons: None, short_dir: pathlib.Path) -> t.Iterator[Agent]:
    with Vswitch(short_dir, "ch1") as machine:
        agent = Agent(machine, short_dir)
        try:
            yield agent
        finally:
            agent.stop()


@pytest.fixture
def southbound(raft_cluster: MakeCluster) -> RaftCluster:
    return raft_cluster(1, "southbound")


def default(southbound: RaftCluster, **options: t.Any) -> dict[str, t.Any]:
    return {
        "remote": southbound.sockets,
        "encapsulation": {"type": ["geneve"]},
        "bridge_mappings": [],
        "datapath_type": "netdev",
        "gateway": False,
        **options,
    }


def sbctl(southbound: RaftCluster, *arguments: str) -> str:
    return run("ovn-sbctl", f"--db={southbound.sockets[0]}", "--timeout=20", *arguments).strip()


def test_a_new_node_becomes_a_chassis(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound, bridge_mappings=[{"physical_network": "physnet1", "bridge": "br-ex"}]))
    agent.start()
    agent.until_ready()
    assert agent.settled
    assert agent.vswitch.external_ids["system-id"] == agent.vswitch.external_ids["hostname"] == NODE
    assert agent.vswitch.external_ids["ovn-encap-ip"] == "192.0.2.21"
    assert agent.vswitch.external_ids["ovn-bridge-datapath-type"] == "netdev"
    assert agent.vswitch.vsctl("get", "Bridge", "br-ex", "datapath_type") == "netdev"
    assert agent.vswitch.next_cfg == 1, "one transaction"
    agent.vswitch.start_controller()
    sbctl(southbound, "wait-until", "Chassis", NODE, f"hostname={NODE}")
    assert sbctl(southbound, "--bare", "--columns=ip", "find", "Encap", f"chassis_name={NODE}") == "192.0.2.21"


def test_settings_follow_the_files_and_others_keep_theirs(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.vswitch.vsctl("set", "Open_vSwitch", ".", "external_ids:theirs=1", 'external_ids:ovn-cms-options="theirs"')
    agent.write(default(southbound, gateway=True, external_ids={"ovn-limit-lflow-cache": 1000}))
    agent.start()
    agent.until_ready()
    assert agent.vswitch.external_ids["ovn-cms-options"] == "theirs,enable-chassis-as-gw"
    agent.write(default(southbound), {"monitor_all": True, "encapsulation": {"ip": ["192.0.2.22"]}})
    until(lambda: agent.vswitch.external_ids.get("ovn-monitor-all") == "true", "the new settings")
    after = agent.vswitch.external_ids
    assert after["theirs"] == "1"
    assert after["ovn-cms-options"] == "theirs"
    assert after["ovn-encap-ip"] == "192.0.2.22"
    assert "ovn-limit-lflow-cache" not in after


def test_a_bridge_that_leads_nowhere_is_in_the_log(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.device("eth1")
    run("ip", "-n", agent.vswitch.namespace, "link", "set", "p-eth1", "up")
    run("ip", "-n", agent.vswitch.namespace, "link", "set", "eth1", "up")
    agent.vswitch.start_vswitchd()
    mapping = {"physical_network": "physnet1", "bridge": "br-ex"}
    agent.write(default(southbound, bridge_mappings=[mapping]))
    agent.start()
    agent.until_ready()
    warning = f"chassis: Chassis {NODE}: bridge br-ex (physnet1) has no port that leads out"
    until(lambda: warning in agent.log.read_text(), "the warning")
    agent.write(default(southbound, bridge_mappings=[{**mapping, "ports": ["eth1"]}]))
    until(lambda: "provider networks: works again" in agent.log.read_text(), "the end of it")
    assert agent.log.read_text().count(warning) == 1


def test_settings_changed_by_hand_are_restored_at_once(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound, bridge_mappings=[{"physical_network": "physnet1", "bridge": "br-ex"}]))
    agent.start()
    agent.until_ready()
    for command in (("set", "Open_vSwitch", ".", "external_ids:ovn-encap-type=vxlan"), ("del-br", "br-ex")):
        agent.vswitch.vsctl(*command)
        until(
            lambda: agent.vswitch.external_ids["ovn-encap-type"] == "geneve" and "br-ex" in agent.vswitch.bridges(),
            "our value and our bridge",
            3,
        )


def test_a_second_node_with_the_address_is_refused_until_it_is_free(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    sbctl(southbound, "chassis-add", "worker-0", "geneve", "192.0.2.21")
    agent.write(default(southbound))
    agent.start()
    agent.until_trouble('belongs to chassis "worker-0"')
    assert not agent.settled
    assert not agent.ready
    assert "system-id" not in agent.vswitch.external_ids
    sbctl(southbound, "chassis-del", "worker-0")
    agent.until_ready()
    until(lambda: agent.trouble == "", "no trouble any more")
    assert agent.vswitch.external_ids["system-id"] == NODE


def test_a_known_node_does_not_wait_for_the_southbound_database(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound))
    agent.start()
    agent.until_ready()
    agent.stop()
    southbound.kill_all()
    for file in agent.run.iterdir():  # a new pod
        file.unlink()
    agent.write(default(southbound, remote=[*southbound.sockets, "unix:/nowhere"]))
    agent.start()
    until(lambda: agent.settled, "what ovn-controller waits for")
    agent.until_trouble("No server of the Southbound database")
    assert not agent.ready


def test_a_new_node_waits_for_the_southbound_database(agent: Agent, southbound: RaftCluster) -> None:
    southbound.kill_all()
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound))
    agent.start()
    agent.until_trouble("is not reachable")
    assert not agent.settled
    southbound.members[0].start()
    agent.until_ready()


@pytest.mark.parametrize("place", [{"interface": "eth1"}, {"cidr": "198.51.100.0/24"}])
def test_tunnels_end_where_the_address_is(agent: Agent, southbound: RaftCluster, place: dict[str, str]) -> None:
    vswitch = agent.vswitch
    vswitch.start_vswitchd()
    vswitch.device("eth1")
    agent.write(default(southbound, encapsulation={"type": ["geneve"], **place}))
    agent.start()
    agent.until_trouble("The tunnels have no local address")
    run("ip", "-n", vswitch.namespace, "address", "add", "198.51.100.21/24", "dev", "eth1")
    agent.until_ready()
    assert vswitch.external_ids["ovn-encap-ip"] == "198.51.100.21"
    run("ip", "-n", vswitch.namespace, "address", "add", "198.51.100.22/24", "dev", "eth1")
    run("ip", "-n", vswitch.namespace, "address", "delete", "198.51.100.21/24", "dev", "eth1")
    until(lambda: vswitch.external_ids["ovn-encap-ip"].startswith("198.51.100.2"), "an address")


def test_a_missing_port_is_reported_and_taken_when_it_appears(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound, bridge_mappings=[{"physical_network": "p", "bridge": "br-ex", "ports": ["eth7"]}]))
    agent.start()
    agent.until_trouble("No such network device on this node: eth7 (for bridge br-ex)")
    agent.vswitch.device("eth7")
    agent.until_ready()
    assert agent.vswitch.bridges()["br-ex"] == ["eth7"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        ('{"gatway": true}', "'gatway' is no setting of a node"),
        ('{"bridge_mappings": "p:b"}', "has to be a list of objects"),
        ('{"bridge_mappings": [{"physical_network": "p", "bridge": "a-name-that-is-too-long"}]}', "at most 15"),
    ],
)
def test_unusable_settings_are_reported(agent: Agent, southbound: RaftCluster, content: str, words: str) -> None:
    agent.write(default(southbound))
    (agent.settings / NODE).write_text(content)
    agent.start()
    agent.until_trouble(words)
    assert not agent.settled


def test_the_database_may_come_late_and_go(agent: Agent, southbound: RaftCluster) -> None:
    vswitch = agent.vswitch
    vswitch.daemons["ovsdb-server"].kill()
    (vswitch.directory / "db.sock").unlink()
    agent.write(default(southbound))
    agent.start()
    agent.until_trouble("is not reachable")
    vswitch.start()
    vswitch.start_vswitchd()
    agent.until_ready()
    vswitch.daemons["ovsdb-server"].kill()
    agent.until_trouble("is not reachable")
    vswitch.start()
    agent.until_ready()


def test_idle_agent_needs_no_processor_time(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound))
    agent.start()
    agent.until_ready()
    time.sleep(within(1))  # it looks once more after a change, which nothing shows
    before = _ticks(agent.pid)
    most = os.sysconf("SC_CLK_TCK") // 20
    stays(lambda: _ticks(agent.pid) - before <= most, "the agent is idle", 3)
    log = agent.log.read_text()
    assert len(log.splitlines()) <= 4, log


def _ticks(pid: int) -> int:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_new_code_starts_without_a_new_pod(agent: Agent, southbound: RaftCluster) -> None:
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound))
    agent.start()
    agent.until_ready()
    new = agent.archive.with_suffix(".new")
    new.write_bytes(build_archive())
    new.replace(agent.archive)
    until(lambda: "new code" in agent.log.read_text(), "another start")
    agent.write(default(southbound), {"gateway": True})
    until(lambda: "enable-chassis-as-gw" in agent.vswitch.external_ids.get("ovn-cms-options", ""), "the new settings")


def controller_of_ours(agent: Agent) -> Daemon:
    """ovn-controller with its sockets where the agent of its pod looks for them."""
    command = ["ovn-controller", agent.vswitch.endpoint, "--no-chdir", "-vconsole:off"]
    log = agent.run.parent / "ours.out"
    return Daemon(
        [*agent.vswitch.prefix, "env", f"OVN_RUNDIR={agent.run}", f"OVS_RUNDIR={agent.vswitch.directory}", *command],
        log,
    )


def test_the_open_vswitch_of_the_node_is_used_as_it_is(agent: Agent, southbound: RaftCluster) -> None:
    vswitch = agent.vswitch
    sbctl(southbound, "init")
    vswitchd = vswitch.start_vswitchd()
    vswitch.device("pod1")
    vswitch.vsctl("add-br", "br-plugin", "--", "set", "Bridge", "br-plugin", "datapath_type=netdev")
    vswitch.vsctl("add-port", "br-plugin", "pod1", "--", "set", "Open_vSwitch", ".", "external_ids:theirs=1")
    mapping = [{"physical_network": "physnet1", "bridge": "br-plugin"}]
    agent.write(default(southbound, preserve_foreign=True, bridge_mappings=mapping))
    agent.start()
    agent.until_ready()
    controller = controller_of_ours(agent)
    try:
        sbctl(southbound, "wait-until", "Chassis", NODE, f"hostname={NODE}")
        until(lambda: "br-int" in vswitch.bridges(), "the integration bridge")
        written = vswitch.next_cfg
        agent.write(default(southbound, preserve_foreign=True, bridge_mappings=mapping, monitor_all=True))
        until(lambda: vswitch.external_ids.get("ovn-monitor-all") == "true", "the new setting")
        agent.until_ready()
        assert vswitch.next_cfg > written
    finally:
        controller.kill()
    assert vswitch.bridges()["br-plugin"][0] == "pod1"
    assert vswitch.external_ids["theirs"] == "1"
    assert vswitchd.running


def test_an_ovn_controller_of_a_network_plugin_is_refused(agent: Agent, southbound: RaftCluster) -> None:
    """kube-ovn and ovn-kubernetes: nothing is written into a database with which another ovn-controller works."""
    vswitch = agent.vswitch
    sbctl(southbound, "init")
    vswitch.start_vswitchd()
    keys = {
        "ovn-remote": southbound.sockets[0],
        "ovn-encap-type": "geneve",
        "ovn-encap-ip": "192.0.2.31",
        "system-id": "p",
    }
    vswitch.vsctl("set", "Open_vSwitch", ".", *(f'external_ids:{key}="{value}"' for key, value in keys.items()))
    theirs = vswitch.start_controller()
    until(lambda: "br-int" in vswitch.bridges(), "their integration bridge")
    until(lambda: sbctl(southbound, "--bare", "--columns=name", "list", "Chassis") == "p", "their chassis")
    until(lambda: "ovn-startup-ts" in vswitch.dump(), "all that their ovn-controller writes at first")
    before = vswitch.dump()
    agent.write(default(southbound, preserve_foreign=True))
    agent.start()
    agent.until_trouble("This node has another ovn-controller: it listens at")
    assert not agent.settled
    assert vswitch.dump() == before
    theirs.kill()
    agent.until_trouble("Keys of others are in external_ids")
    assert vswitch.dump() == before


def test_the_refusal_of_the_launcher_is_that_of_the_agent(agent: Agent, southbound: RaftCluster) -> None:
    refused = agent.vswitch.directory / "vswitchd.refused"
    refused.write_text("ovs-vswitchd is not started, because this node has another Open vSwitch.\n")
    agent.vswitch.start_vswitchd()
    agent.write(default(southbound))
    agent.start()
    agent.until_trouble("this node has another Open vSwitch")
    assert "ovn-remote" not in agent.vswitch.external_ids
    refused.unlink()
    agent.until_ready()
