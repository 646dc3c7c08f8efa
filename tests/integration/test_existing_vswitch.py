"""An Open vSwitch of somebody else, with real daemons: it is used as it is, or refused with its names. Nothing in its database changes but our keys."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest
from _chassis import module_on
from _vswitch import Vswitch, require_vswitch
from conftest import MakeCluster, RaftCluster, RunModule, run, until


@pytest.fixture
def theirs(short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """Open vSwitch in user space with a bridge, a port, keys and a controller's address of its own, as a network plugin leaves it."""
    require_vswitch()
    machine = Vswitch(short_dir, "theirs")
    try:
        machine.start()
        machine.start_vswitchd()
        machine.device("eth7")
        machine.vsctl("add-br", "br-ex", "--", "set", "Bridge", "br-ex", "datapath_type=netdev")
        machine.vsctl("add-port", "br-ex", "eth7", "--", "set", "Interface", "eth7", "external_ids:pod=theirs")
        machine.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=ch1", "external_ids:theirs=1")
        yield machine
    finally:
        machine.stop()


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
    theirs.vsctl("del-br", "br-int")  # as the role does
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
def test_what_would_change_theirs_is_refused(
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
