"""An Open vSwitch of somebody else, with real daemons: it is used as it is, or refused with its names. Nothing in its database changes but our keys."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import typing as t

import _playbooks
import pytest
from _chassis import module_on
from _playbooks import write_inventory
from _vswitch import Vswitch
from conftest import MakeCluster, RaftCluster, RunModule, run, until


@pytest.fixture
def theirs(short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """Open vSwitch in user space with a bridge, a port, keys and a controller's address of its own, as a network plugin leaves it."""
    with Vswitch(short_dir, "theirs") as machine:
        machine.start_vswitchd()
        machine.device("eth7")
        machine.vsctl("add-br", "br-ex", "--", "set", "Bridge", "br-ex", "datapath_type=netdev")
        machine.vsctl("add-port", "br-ex", "eth7", "--", "set", "Interface", "eth7", "external_ids:pod=theirs")
        machine.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=ch1", "external_ids:theirs=1")
        yield machine


@pytest.fixture
def southbound(raft_cluster: MakeCluster) -> RaftCluster:
    cluster = raft_cluster(1, "southbound")
    run("ovn-sbctl", f"--db={cluster.sockets[0]}", "--timeout=20", "init")  # the row that ovn-controller counts on
    return cluster


def declared(southbound: RaftCluster, **options: t.Any) -> dict[str, t.Any]:
    return {
        "preserve_foreign": True,
        "system_id": "ch1",
        "remote": southbound.sockets,
        "encapsulation": {"type": ["geneve"], "ip": ["192.0.2.21"]},
        "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex"}],
        "datapath_type": "netdev",
        "southbound": southbound.sockets,
        **options,
    }


def file_of(machine: Vswitch) -> bytes:
    return (machine.directory / "conf.db").read_bytes()


def test_a_chassis_on_an_open_vswitch_of_others(
    theirs: Vswitch, southbound: RaftCluster, run_module: RunModule
) -> None:
    chassis = module_on(theirs, run_module)
    before, pid = theirs.dump(), theirs.daemons["ovs-vswitchd"].pid
    options = declared(southbound)
    predicted = chassis(options, check=True, diff=True)
    assert theirs.dump() == before
    first = chassis(options, diff=True)
    assert first["diff"] == predicted["diff"]
    assert (predicted["changed"], first["changed"]) == (True, True)
    theirs.start_controller()
    assert chassis({**options, "wait_for": "registered"})["registered"]
    assert not chassis(options)["changed"]
    assert theirs.external_ids["theirs"] == "1"
    assert theirs.bridges()["br-ex"][0] == "eth7"
    run("ovn-appctl", "-t", control_of(theirs), "exit")
    until(lambda: not theirs.daemons["ovn-controller"].running, "ovn-controller to end")
    assert theirs.vsctl("get", "Open_vSwitch", ".", "other_config:vlan-limit") == '"0"'
    theirs.vsctl("remove", "Open_vSwitch", ".", "other_config", "vlan-limit")  # ovn-controller's own, which stays
    chassis({"state": "absent", "system_id": "ch1", "southbound": southbound.sockets})
    assert without_counter(theirs.dump()) == without_counter(before)
    assert theirs.daemons["ovs-vswitchd"].running
    assert theirs.daemons["ovs-vswitchd"].pid == pid


def control_of(machine: Vswitch) -> str:
    return str(next(machine.directory.glob("ovn-controller*.ctl")))


def without_counter(dump: str) -> str:
    return "\n".join(line for line in dump.splitlines() if '"next_cfg"' not in line)


@pytest.mark.parametrize(
    ("theirs_first", "options", "message"),
    [
        (["add-br", "br-int"], {}, "Bridge br-int is there already"),
        (["set", "Open_vSwitch", ".", "external_ids:ovn-remote=tcp:203.0.113.1:6642"], {}, "ovn-remote is tcp:203.0.113.1"),
        (["set", "Open_vSwitch", ".", "external_ids:system-id=random"], {}, "the chassis can have the name random"),
        ([], {"bridge_mappings": [{"physical_network": "p", "bridge": "br-new"}]}, "Bridge br-new does not exist"),
        (
            [],
            {"bridge_mappings": [{"physical_network": "p", "bridge": "br-ex", "ports": ["p-eth7"]}]},
            "port p-eth7 on bridge br-ex",
        ),
    ],
    ids=["kube-ovn's br-int", "another control plane", "another name", "a bridge that is missing", "a port on theirs"],
)  # fmt: skip
def test_changes_of_a_foreign_vswitch_are_refused(
    theirs: Vswitch,
    southbound: RaftCluster,
    run_module: RunModule,
    theirs_first: list[str],
    options: dict[str, t.Any],
    message: str,
) -> None:
    if theirs_first:
        theirs.vsctl(*theirs_first)
    before = file_of(theirs)
    refused = module_on(theirs, run_module)(declared(southbound, **options), may_fail=True)
    assert message in refused["msg"]
    assert file_of(theirs) == before
    assert os.path.exists(f"/proc/{theirs.daemons['ovs-vswitchd'].pid}")


def test_a_declared_bridge_is_created_and_goes_again(
    theirs: Vswitch, southbound: RaftCluster, run_module: RunModule
) -> None:
    chassis = module_on(theirs, run_module)
    before = theirs.dump()
    chassis(declared(southbound, bridges=[{"name": "br-ours", "ports": []}]))
    assert set(theirs.bridges()) == {"br-ex", "br-ours"}
    chassis({"state": "absent"})
    assert without_counter(theirs.dump()) == without_counter(before)


def found_on(machine: Vswitch, run_module: RunModule, **options: t.Any) -> dict[str, t.Any]:
    options = {"database": "unix:/nowhere/db.sock", "database_file": "/nowhere/conf.db", **options}
    ran = run_module("ovn_host_info", {"openvswitch": options}, prefix=machine.prefix)
    assert not ran["changed"]
    return t.cast("dict[str, t.Any]", ran["openvswitch"])


def test_ours_does_not_start_beside_theirs(theirs: Vswitch, run_module: RunModule, tmp_path: pathlib.Path) -> None:
    before, pids = file_of(theirs), {name: one.pid for name, one in theirs.daemons.items()}
    for options in ({}, {"database": theirs.endpoint}):  # our own directories, and those of Kolla, which are the host's
        problem = found_on(theirs, run_module, **options)["problem"]
        for name, pid in pids.items():
            assert f"{name} (pid {pid}," in problem
        assert "bridges br-ex" in problem
        assert "ovn_hypervisor_openvswitch: existing" in problem
    chassis_unit = tmp_path / "c5c3-ovn-controller.service"
    chassis_unit.touch()
    assert found_on(theirs, run_module, chassis_unit=str(chassis_unit))["problem"] == ""
    assert file_of(theirs) == before
    assert all(os.path.exists(f"/proc/{pid}") for pid in pids.values())


def test_an_open_vswitch_that_can_be_used(theirs: Vswitch, run_module: RunModule) -> None:
    assert found_on(theirs, run_module, mode="existing", database=theirs.endpoint)["problem"] == ""
    missing = found_on(theirs, run_module, mode="existing")["problem"]
    assert "No Open vSwitch answers at unix:/nowhere/db.sock" in missing


def test_an_ovn_controller_of_others_is_named(theirs: Vswitch, southbound: RaftCluster, run_module: RunModule) -> None:
    """kube-ovn and ovn-kubernetes: an integration bridge with an ovn-controller that is not ours."""
    keys = {"ovn-remote": southbound.sockets[0], "ovn-encap-type": "geneve", "ovn-encap-ip": "192.0.2.21"}
    theirs.vsctl("set", "Open_vSwitch", ".", *(f'external_ids:{key}="{value}"' for key, value in keys.items()))
    controller = theirs.start_controller()
    until(
        lambda: "ovn-startup-ts" in theirs.dump(),
        "their integration bridge, with all that its ovn-controller writes at first",
    )
    before = theirs.dump()
    problem = found_on(theirs, run_module, mode="existing", database=theirs.endpoint)["problem"]
    assert f"ovn-controller (pid {controller.pid}," in problem
    assert theirs.dump() == before
    assert controller.running


def test_ports_that_a_stopped_open_vswitch_has_left_in_the_kernel(
    short_dir: pathlib.Path, run_module: RunModule
) -> None:
    """A bridge of Linux has the name of the kernel's datapath here, for want of the module."""
    machine = Vswitch(short_dir, "left")
    try:
        machine.device("eth7", "eth8")
        run("ip", "-n", machine.namespace, "link", "add", "ovs-system", "type", "bridge")
        for name in ("eth7", "eth8"):
            run("ip", "-n", machine.namespace, "link", "set", name, "master", "ovs-system")
        assert "no database here knows: eth7, eth8" in found_on(machine, run_module)["problem"]
        machine.start()
        machine.vsctl(
            "--no-wait", "add-br", "br-ex", "--", "add-port", "br-ex", "eth7", "--", "add-port", "br-ex", "eth8"
        )
        machine.daemons["ovsdb-server"].kill()
        file = str(machine.directory / "conf.db")
        assert found_on(machine, run_module, database_file=file)["problem"] == ""
    finally:
        machine.stop()


def run_role(machine: Vswitch, folder: pathlib.Path, *tasks_from: str, **variables: t.Any) -> tuple[int, str]:
    """The role in check mode on a machine with the network of `machine`; `tasks_from`: these tasks of it alone."""
    name: dict[str, t.Any] = {"name": "c5c3.ovn.ovn_hypervisor"}
    tasks = [{"ansible.builtin.include_role": {**name, **({"tasks_from": one} if one else {})}} for one in tasks_from]
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "h1", "gather_facts": False, "tasks": tasks}]))
    hosts = {"ovn_hypervisors": {"hosts": {"h1": {}}}}
    own = {
        "ovn_encapsulation_ip": "192.0.2.21",
        "ovn_tls": False,
        "ovn_hypervisor_distribution": {"packages": []},
        **variables,
    }
    inventory = write_inventory(folder / "hosts.yml", hosts, **own)
    command = [*machine.prefix, *_playbooks.command("--check", "-i", str(inventory), str(playbook))]
    done = subprocess.run(
        command, env=_playbooks.environment(folder), capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_role_refuses_theirs_and_uses_it_if_it_may(
    theirs: Vswitch, southbound: RaftCluster, tmp_path: pathlib.Path
) -> None:
    before = file_of(theirs)
    code, output = run_role(theirs, tmp_path, "check.yml")
    assert code != 0
    assert f"ovs-vswitchd (pid {theirs.daemons['ovs-vswitchd'].pid}," in output
    assert "bridges br-ex" in output
    use = {"ovn_hypervisor_openvswitch": "existing", "ovn_hypervisor_openvswitch_database": theirs.endpoint}
    code, output = run_role(theirs, tmp_path, "check.yml", **use)
    assert code == 0, output
    missing = {**use, "ovn_hypervisor_openvswitch_database": "unix:/nowhere/db.sock"}
    code, output = run_role(theirs, tmp_path, "check.yml", **missing)
    assert code != 0
    assert "No Open vSwitch answers at unix:/nowhere/db.sock" in output
    assert file_of(theirs) == before
