"""Whether our Open vSwitch may start on a host, or ovn-controller with the one that is there."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.other_switches import (
    DISTRIBUTION_UNITS,
    OWN_UNIT,
    HostSwitches,
    Program,
    existing_problem,
    managed_findings,
    managed_problem,
    parse_datapath_ports,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Kind, Supervisor

CONF_DB = "ovsdb-server /etc/openvswitch/conf.db"


def program(name: str, kind: Kind, place: str = "", arguments: str = "") -> Program:
    return Program(7, name, arguments, Supervisor(kind, place))


def host(*programs: Program, **found: t.Any) -> HostSwitches:
    return HostSwitches(**{"bridges": [], "ports": [], "known": None, "answers": False, **found, "programs": programs})


DISTRIBUTION = program("ovs-vswitchd", "unit", "ovs-vswitchd.service")
KOLLA = program("ovs-vswitchd", "container", "1a2b")


@pytest.mark.parametrize(
    ("found", "findings"),
    [
        pytest.param(host(), [], id="an empty machine"),
        pytest.param(host(DISTRIBUTION, ports=["eth7"], known=[]), [], id="the distribution's keeps the datapath"),
        pytest.param(host(program("ovs-vswitchd", "unit", "my.service")), [], id="a unit that is named"),
        pytest.param(host(KOLLA), ["ovs-vswitchd (pid 7, container 1a2b)"], id="Kolla"),
        pytest.param(host(program("ovs-vswitchd", "pod")), ["ovs-vswitchd (pid 7, a pod)"], id="a network plugin"),
        pytest.param(
            host(program("ovsdb-server", "none", arguments=CONF_DB)), ["ovsdb-server (pid 7, started by hand)"],
            id="a database by hand",
        ),
        pytest.param(host(program("ovsdb-server", "none", arguments="ovnnb_db.db")), [], id="a database of OVN"),
        pytest.param(host(program("ovn-controller", "pod")), [], id="ovn-controller is another matter"),
        pytest.param(
            host(KOLLA, bridges=["br-ex", "br-int"], ports=["br-int", "tap1"], known=["tap1"]),
            ["ovs-vswitchd (pid 7, container 1a2b)", "bridges br-ex, br-int", "ports of the kernel's datapath br-int, tap1"],
            id="with all its names",
        ),
        pytest.param(
            host(ports=["eth7", "tap1"], known=["tap1"]),
            ["ports of the kernel's datapath (ovs-system) that no database here knows: eth7"], id="a datapath that was left",
        ),
        pytest.param(
            host(ports=[f"tap{n}" for n in range(10)]),
            ["ports of the kernel's datapath (ovs-system) that no database here knows: "
             "tap0, tap1, tap2, tap3, tap4, tap5, tap6, tap7 and 2 more"], id="many of them",
        ),
        pytest.param(host(ports=["tap1"], known=["tap1"]), [], id="our own datapath, while we are stopped"),
    ],
)  # fmt: skip
def test_managed(found: HostSwitches, findings: list[str]) -> None:
    units = [*DISTRIBUTION_UNITS, "my.service"]
    assert managed_findings(found, units) == findings
    problem = managed_problem(found, units)
    assert bool(problem) == bool(findings)
    assert all(text in problem for text in [*findings, *(["ovn_hypervisor_openvswitch: existing"] if findings else [])])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(host(KOLLA, answers=True), "", id="Kolla's is used"),
        pytest.param(host(answers=False), "No Open vSwitch answers at unix:/x", id="there is none"),
        pytest.param(host(program("ovn-controller", "unit", OWN_UNIT), answers=True), "", id="ours"),
        pytest.param(
            host(program("ovn-controller", "pod"), answers=True), "ovn-controller (pid 7, a pod)", id="kube-ovn's"
        ),
        pytest.param(
            host(program("ovn-controller", "unit", "ovn-controller.service"), answers=True),
            "ovn-controller (pid 7, ovn-controller.service)", id="the distribution's",
        ),
    ],
)  # fmt: skip
def test_existing(found: HostSwitches, message: str) -> None:
    problem = existing_problem(found, "unix:/x")
    assert message in problem
    assert bool(problem) == bool(message)


def test_ports_of_the_datapath() -> None:
    links = [
        {"ifname": "lo"},
        {"ifname": "ovs-system", "linkinfo": {"info_kind": "openvswitch"}},
        {"ifname": "br-int", "linkinfo": {"info_kind": "openvswitch"}},
        {"ifname": "eth7", "master": "ovs-system", "linkinfo": {"info_kind": "veth"}},
        {"ifname": "genev_sys_6081", "master": "ovs-system", "linkinfo": {"info_kind": "geneve"}},
        {"ifname": "eth8", "master": "br0"},
    ]
    assert parse_datapath_ports(json.dumps(links)) == ["br-int", "eth7"]
    assert parse_datapath_ports("") == []
