"""Overviews as text, which tests/integration/test_show.py compares with those of the commands; and the report as an artifact: whole if it is small, with
the first items of what grows if it is not.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._report.show import LIMIT, report_artifact, show_lines


def report(chassis: int = 2, findings: int = 1) -> dict[str, t.Any]:
    names = [f"chassis-{number:06}" for number in range(chassis)]
    return {
        "format_version": 1,
        "healthy": False,
        "findings": [{"code": "late", "message": "It did not answer." * 9}] * findings,
        "lines": [f"  {name} alive" for name in names],
        "northbound": {"verdict": "healthy", "members": [{"member": "central1"}]},
        "chassis": {"alive": names, "late": [], "details": [{"name": name, "hostname": name} for name in names]},
        "certificates": {"days_left": 9, "chassis": dict.fromkeys(names, 9)},
    }


def test_a_small_report_is_whole() -> None:
    assert report_artifact(report()) == {"ovn_report": report(), "ovn_report_left_out": {}}


def test_the_report_itself_stays_as_it_is() -> None:
    given = report(900)
    assert report_artifact(given)["ovn_report_left_out"] == {"chassis.details": 880}
    assert given == report(900)


@pytest.mark.parametrize(
    ("large", "left_out"),
    [
        pytest.param(report(900), {"chassis.details": 880}, id="900 chassis"),
        pytest.param(
            report(3000), {"chassis.details": 2980, "certificates.chassis": 2980, "lines": 2980}, id="3000 chassis"
        ),
        pytest.param(report(2, 1000), {"findings": 980}, id="1000 findings"),
    ],
)
def test_what_grows_keeps_its_first_items(large: dict[str, t.Any], left_out: dict[str, int]) -> None:
    artifact = report_artifact(large)
    assert artifact["ovn_report_left_out"] == left_out
    assert len(json.dumps(artifact["ovn_report"])) <= LIMIT
    assert artifact["ovn_report"]["healthy"] is False
    for key in left_out:
        *sections, last = key.split(".")
        kept, whole = artifact["ovn_report"], large
        for section in sections:
            kept, whole = kept[section], whole[section]
        assert list(kept[last]) == list(whole[last])[:20]


def test_long_items_are_left_out() -> None:
    artifact = report_artifact({"healthy": False, "findings": [{"message": "x" * 9000}] * 15})
    assert artifact == {
        "ovn_report": {"healthy": False, "findings": []},
        "ovn_report_left_out": {"findings": 15},
    }


def test_what_nobody_expected_to_grow_leaves_the_verdict() -> None:
    artifact = report_artifact({"healthy": True, "format_version": 1, "text": "x" * LIMIT, "other": {"a": 1, "b": 2}})
    assert artifact == {
        "ovn_report": {"healthy": True, "format_version": 1},
        "ovn_report_left_out": {"text": 1, "other": 2},
    }


def test_a_report_that_knows_nothing() -> None:
    empty = {"healthy": None, "chassis": None, "certificates": None, "lines": ["Nothing was verified." * 400] * 9}
    assert report_artifact(empty) == {
        "ovn_report": {"healthy": None, "chassis": None, "certificates": None, "lines": []},
        "ovn_report_left_out": {"lines": 9},
    }


ID = "ad4ae12a-5b56-4b8a-8b5b-2f5b3a3f0c11"
Row = dict[str, t.Any]


def lines(database: str, **tables: list[Row]) -> list[str]:
    return show_lines({"database": database, "tables": tables})


def switch_port(**changes: t.Any) -> Row:
    port = {
        "name": "p1",
        "external_ids": {},
        "type": "",
        "parent_name": None,
        "tag": None,
        "addresses": [],
        "options": {},
    }
    return {**port, **changes}


@pytest.mark.parametrize(
    ("changes", "below"),
    [
        ({}, []),
        (
            {"type": "router", "addresses": ["router"], "options": {"router-port": "l0"}},
            ["type: router", "router-port: l0"],
        ),
        ({"parent_name": "p0", "tag": 0}, ["parent: p0", "tag: 0"]),
        ({"addresses": ["router", "unknown"]}, ['addresses: ["router", "unknown"]']),
    ],
)
def test_a_port_of_a_switch(changes: Row, below: list[str]) -> None:
    switch = {"_uuid": ID, "name": "sw0", "external_ids": {}, "ports": [switch_port(**changes)]}
    found = lines("OVN_Northbound", Logical_Switch=[switch], Logical_Router=[])
    assert found == [f"switch {ID} (sw0)", "    port p1", *(f"        {line}" for line in below)]


def test_names_of_neutron() -> None:
    port = switch_port(external_ids={"neutron:port_name": "web"})
    switch = {"_uuid": ID, "name": "n-1", "external_ids": {"neutron:network_name": "net"}, "ports": [port]}
    assert lines("OVN_Northbound", Logical_Switch=[switch], Logical_Router=[]) == [
        f"switch {ID} (n-1) (aka net)",
        "    port p1 (aka web)",
    ]


def test_a_router() -> None:
    gateways = [("c0", 10), ("c1", 5), ("c2", 10)]
    port = {
        "name": "l0",
        "mac": "02:00:00:00:00:01",
        "options": {"route_table": "rt1"},
        "peer": "l9",
        "networks": ["10.0.0.1/24", "fd00::1/64"],
        "gateway_chassis": [{"name": f"l0-{c}", "chassis_name": c, "priority": p} for c, p in gateways],
    }
    nat = {
        "_uuid": ID,
        "external_ip": "192.0.2.1",
        "external_port_range": "",
        "logical_ip": "10.0.0.0/24",
        "type": "snat",
    }
    ranged = {**nat, "external_port_range": "1-2"}
    router = {"_uuid": ID, "name": "lr0", "external_ids": {}, "ports": [port], "nat": [nat, ranged]}
    assert lines("OVN_Northbound", Logical_Switch=[], Logical_Router=[router]) == [
        f"router {ID} (lr0)",
        "    port l0",
        '        mac: "02:00:00:00:00:01"',
        '        ipv6-lla: "fe80::ff:fe00:1"',
        '        networks: ["10.0.0.1/24", "fd00::1/64"]',
        "        route-table: rt1",
        "        peer: l9",
        "        gateway chassis: [c2 c0 c1]",
        f"    nat {ID}",
        '        external ip: "192.0.2.1"',
        '        logical ip: "10.0.0.0/24"',
        '        type: "snat"',
        f"    nat {ID}",
        '        external ip: "192.0.2.1"',
        '        external port(s): "1-2"',
        '        logical ip: "10.0.0.0/24"',
        '        type: "snat"',
    ]


def test_chassis_and_their_ports() -> None:
    encap = {"type": "geneve", "ip": "192.0.2.1", "options": {"csum": "true"}}
    chassis = [
        {"_uuid": "1", "name": "c1", "hostname": "host-1.example.com", "encaps": [encap]},
        {"_uuid": "2", "name": ID, "hostname": "", "encaps": []},
    ]
    bindings = [
        {"logical_port": port, "chassis": chassis} for port, chassis in (("p2", "1"), ("p 1", "1"), ("p3", None))
    ]
    assert lines("OVN_Southbound", Chassis=chassis, Port_Binding=bindings) == [
        "Chassis c1",
        "    hostname: host-1.example.com",
        "    Encap geneve",
        '        ip: "192.0.2.1"',
        '        options: {csum="true"}',
        '    Port_Binding "p 1"',
        "    Port_Binding p2",
        f'Chassis "{ID}"',
    ]


def test_open_vswitch() -> None:
    interface = {
        "name": "t0",
        "type": "geneve",
        "options": {"key": "flow", "psk": "********"},
        "error": None,
        "bfd_status": {},
    }
    port = {"name": "t0", "tag": 0, "trunks": [1, 2], "interfaces": [interface]}
    controller = {"target": "tcp:127.0.0.1:6653", "is_connected": True}
    bridge = {"name": "br-int", "controller": [controller], "fail_mode": "secure", "datapath_type": "", "ports": [port]}
    manager = {"target": "ptcp:6640", "is_connected": False}
    row = {"_uuid": ID, "manager_options": [manager], "bridges": [bridge], "ovs_version": "3.1.0"}
    assert lines("Open_vSwitch", Open_vSwitch=[row]) == [
        ID,
        '    Manager "ptcp:6640"',
        "    Bridge br-int",
        '        Controller "tcp:127.0.0.1:6653"',
        "            is_connected: true",
        "        fail_mode: secure",
        "        Port t0",
        "            tag: 0",
        "            trunks: [1, 2]",
        "            Interface t0",
        "                type: geneve",
        '                options: {key=flow, psk="********"}',
        '    ovs_version: "3.1.0"',
    ]


@pytest.mark.parametrize(
    ("database", "tables", "expected"),
    [
        ("OVN_Northbound", ["Logical_Switch", "Logical_Router"], "has neither logical switches nor logical routers"),
        ("OVN_Southbound", ["Chassis", "Port_Binding"], "has no chassis"),
        ("Open_vSwitch", ["Open_vSwitch"], "was never initialized"),
    ],
)
def test_an_empty_database_says_so(database: str, tables: list[str], expected: str) -> None:
    (line,) = lines(database, **{table: [] for table in tables})
    assert expected in line


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"msg": "no answer"}, "it is no result of ovn_database_info with one of OVN_Northbound, "),
        (
            {"database": "OVN_Southbound", "tables": {"Chassis": []}},
            "a table or column is missing, or a reference is not expanded ('Port_Binding')",
        ),
        (
            {"database": "Open_vSwitch", "tables": {"Open_vSwitch": [{"_uuid": ID, "manager_options": [ID]}]}},
            "Read it with the options of playbooks/show.yml.",
        ),
    ],
)
def test_what_cannot_be_shown(facts: Row, message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        show_lines(facts)
    assert message in str(e.value)
