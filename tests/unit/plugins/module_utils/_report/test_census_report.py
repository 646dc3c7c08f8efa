"""The lines of c5c3.ovn.census; with real rows: tests/integration/test_census.py."""

from __future__ import annotations

import pytest
from census_rows import KUBE_OVN, NETWORK, OVN_KUBERNETES, ROUTER, UUID, Northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_report import (
    census_lines,
    clash_warnings,
    kube_ovn_warnings,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_rows import CensusWarning


def test_an_empty_database() -> None:
    assert census_lines(Northbound().facts) == ["The Northbound database has no rows.", "", "No warnings."]


def test_neutron_alone_and_each_of_its_rows() -> None:
    northbound = Northbound()
    northbound.add("NB_Global")
    port = northbound.add("Logical_Switch_Port", name="port-a")
    northbound.add("Logical_Switch", NETWORK, name="neutron-a", ports=[port])
    northbound.add("Logical_Router", ROUTER, name="neutron-r", nat=[northbound.add("NAT")])
    assert census_lines(northbound.facts, ["repair"], rows=True) == [
        "rows                 neutron  c5c3",
        "Logical_Router             1     0",
        "Logical_Switch             1     0",
        "Logical_Switch_Port        1     0",
        "NAT                        1     0",
        "NB_Global                  0     1",
        "",
        "No warnings.",
        "",
        "neutron  Logical_Router  neutron-r",
        "neutron  Logical_Switch  neutron-a",
        "neutron  Logical_Switch_Port  port-a",
        "neutron  NAT  snat 192.0.2.10 10.0.0.0/24  (of neutron-r)",
        "c5c3  NB_Global  .",
    ]


def test_nothing_is_said_of_a_neutron_that_is_neither_there_nor_declared() -> None:
    northbound = Northbound()
    northbound.add("Logical_Router", KUBE_OVN)
    assert census_lines(northbound.facts)[-1] == "No warnings."
    declared = "\n".join(census_lines(northbound.facts, [False]))
    assert "update_mac_aging_settings" in declared
    assert "neutron_sync_mode" not in declared
    northbound.add("Logical_Switch", NETWORK)
    assert "update_mac_aging_settings" in "\n".join(census_lines(northbound.facts))


def test_a_warning_has_its_cause_and_next_step_below_it() -> None:
    northbound = Northbound()
    first, second = (northbound.add("Logical_Switch", ids, name="join") for ids in (KUBE_OVN, {}))
    assert census_lines(northbound.facts)[-3:] == [
        "WARNING Logical_Switch join",
        f"    2 rows have this name: Logical_Switch join of kube-ovn ({first}), Logical_Switch join of unknown ({second}). "
        "Who looks for it by name may change or delete the other one.",
        "    Rename one of them in the system that owns it.",
    ]


def test_a_wrong_mode_is_refused_also_without_rows() -> None:
    with pytest.raises(InvalidInput, match="ovn_neutron_sync_mode is 'fix'"):
        census_lines(Northbound().facts, ["fix"])


@pytest.mark.parametrize("facts", [{}, {"database": "OVN_Southbound", "tables": {}}, {"database": "OVN_Northbound"}])
def test_what_is_no_northbound_database(facts: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="Cannot take a census of"):
        census_lines(facts)


CHASSIS, WITHOUT, OLD = (
    "Chassis of the Southbound database",
    "kube-ovn without ENABLE_EXTERNAL_VPC",
    "kube-ovn before 1.15.0",
)
SHARED = "NB_Global options ls_ct_skip_dst_lport_ips, ls_dnat_mod_dl_dst, use_ct_inv_match"


def of_kube_ovn() -> Northbound:
    made = Northbound()
    made.add("NB_Global", options={"use_ct_inv_match": "false", "bfd-mult": "3"})
    for table in ("Logical_Switch", "Logical_Router", "Logical_Switch_Port", "Load_Balancer", "ACL", "Port_Group"):
        made.add(table, KUBE_OVN)
    return made


def warnings(northbound: Northbound) -> dict[str, CensusWarning]:
    found = kube_ovn_warnings(northbound.census())
    assert all(warning.cause and warning.next_step for warning in found)
    return {warning.subject: warning for warning in found}


def test_kube_ovn_alone() -> None:
    assert warnings(of_kube_ovn()) == {}


def test_no_kube_ovn() -> None:
    northbound = Northbound()
    northbound.add("Logical_Switch", NETWORK)
    northbound.add("Load_Balancer", OVN_KUBERNETES)
    assert warnings(northbound) == {}


@pytest.mark.parametrize(
    ("table", "ids", "columns", "subjects"),
    [
        ("Logical_Switch", NETWORK, {"name": "neutron-a"}, {WITHOUT}),
        ("Logical_Router", ROUTER, {"name": "neutron-b"}, {WITHOUT}),
        ("Logical_Switch_Port", {"neutron:port_name": "vm"}, {"name": UUID}, {WITHOUT}),
        ("Logical_Switch_Port", {"neutron:port_name": ""}, {"type": "localnet"}, set()),
        ("Load_Balancer", {"neutron:vip": "10.0.0.9"}, {"name": "web"}, {"1 Load_Balancer (web of octavia)"}),
        ("ACL", {"neutron:x": "y"}, {"name": "rule"}, {"1 ACL (rule of neutron)", OLD}),
        ("Port_Group", {"neutron:x": "y"}, {"name": "pg_x"}, {OLD}),
        ("Address_Set", {"neutron:x": "y"}, {}, set()),
    ],
)
def test_a_row_of_others(table: str, ids: dict[str, str], columns: dict[str, object], subjects: set[str]) -> None:
    northbound = of_kube_ovn()
    northbound.add(table, ids, **columns)
    found = warnings(northbound)
    assert set(found) == {CHASSIS, SHARED, *subjects}
    assert "(now use_ct_inv_match=false)" in found[SHARED].cause


def test_what_is_deleted_is_named_by_kinds() -> None:
    northbound = of_kube_ovn()
    northbound.add("Logical_Switch", NETWORK, name="neutron-a")
    northbound.add("Logical_Router", {}, name="edge")
    northbound.add("ACL", {"neutron:x": "y"}, name="rule")
    northbound.add("Port_Group", {"neutron:x": "y"}, name="pg_x")
    found = warnings(northbound)
    assert (
        "deletes 1 Logical_Switch (neutron-a of neutron); 1 Logical_Router (edge of unknown): " in found[WITHOUT].cause
    )
    assert found[OLD].cause == (
        "At each start it deletes 1 ACL (rule of neutron); 1 Port_Group (pg_x of neutron) since 1.13.0."
    )


def test_the_network_of_our_ping_goes_too() -> None:
    northbound = of_kube_ovn()
    northbound.add("Logical_Switch", {"c5c3-ovn-test-network": "t"}, name="t")
    found = warnings(northbound)
    assert set(found) == {WITHOUT, SHARED}
    assert "1 Logical_Switch (t of c5c3)" in found[WITHOUT].cause


Ids = dict[str, str]


def subjects(northbound: Northbound) -> list[str]:
    warnings = clash_warnings(northbound.census())
    assert all(warning.cause and warning.next_step for warning in warnings)
    return [warning.subject for warning in warnings]


@pytest.mark.parametrize("table", ["Logical_Switch", "Logical_Router", "Load_Balancer"])
@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [(KUBE_OVN, OVN_KUBERNETES, True), (KUBE_OVN, {}, True), ({}, {}, True), (KUBE_OVN, KUBE_OVN, False)],
)
def test_one_name_of_two_owners(table: str, one: Ids, other: Ids, clash: bool) -> None:
    northbound = Northbound()
    northbound.add(table, one, name="join")
    northbound.add(table, other, name="join")
    northbound.add(table, NETWORK, name="another")
    assert subjects(northbound) == ([f"{table} join"] if clash else [])


def test_a_switch_with_ports_of_two_owners() -> None:
    """kube-ovn 1.16.2 beside OVN-Kubernetes: its subnet `join` found a switch of that name."""
    northbound = Northbound()
    ports = [
        northbound.add("Logical_Switch_Port", ids, name=name) for name, ids in (("jtor-GR_n", {}), ("x", KUBE_OVN))
    ]
    northbound.add("Logical_Switch", {}, name="join", ports=ports)
    northbound.add("Logical_Switch", NETWORK, ports=[northbound.add("Logical_Switch_Port", {}, name="by-hand")])
    assert subjects(northbound) == ["Logical_Switch join"]
    (warning,) = clash_warnings(northbound.census())
    assert "It has ports of several owners: kube-ovn 1, ovn-kubernetes 1." in warning.cause


def test_neutron_and_octavia_are_one_installation() -> None:
    northbound = Northbound()
    northbound.add("Load_Balancer", {"neutron:vip": "10.0.0.9"}, name="x")
    northbound.add("Load_Balancer", {"neutron:fip_id": UUID}, name="x")
    assert subjects(northbound) == []


def test_a_port_of_a_switch_and_one_of_a_router() -> None:
    northbound = Northbound()
    northbound.add("Logical_Switch_Port", KUBE_OVN, name="edge")
    northbound.add("Logical_Router_Port", OVN_KUBERNETES, name="edge")
    assert subjects(northbound) == ["port edge"]
    northbound.tables["Logical_Router_Port"][0]["external_ids"] = KUBE_OVN
    assert subjects(northbound) == []


def test_a_set_with_the_name_of_that_of_a_port_group() -> None:
    northbound = Northbound()
    northbound.add("Port_Group", KUBE_OVN, name="web")
    northbound.add("Address_Set", OVN_KUBERNETES, name="web_ip4")
    northbound.add("Address_Set", OVN_KUBERNETES, name="web_ip5")
    northbound.add("Address_Set", KUBE_OVN, name="web_ip6")
    assert subjects(northbound) == ["Address_Set web_ip4"]


@pytest.mark.parametrize(
    ("table", "name", "ids", "scheme"),
    [
        ("Port_Group", "neutron_pg_drop", KUBE_OVN, "neutron"),
        ("Logical_Switch", f"neutron-{UUID}", KUBE_OVN, "neutron"),
        ("Logical_Switch_Port", f"provnet-{UUID}", OVN_KUBERNETES, "neutron"),
        ("Logical_Router", "ovn-cluster", ROUTER, "kube-ovn"),
        ("Logical_Switch", "ovn-default", KUBE_OVN, ""),
        ("Logical_Switch", f"neutron-{UUID}", NETWORK, ""),
        ("Logical_Switch", f"neutron-{UUID}", {}, ""),  # it counts as Neutron's then
    ],
)
def test_a_name_that_another_owner_would_make(table: str, name: str, ids: Ids, scheme: str) -> None:
    northbound = Northbound()
    northbound.add(table, ids, name=name)
    assert subjects(northbound) == ([f"{table} {name}"] if scheme else [])
    assert all(f"{scheme} makes such names" in warning.cause for warning in clash_warnings(northbound.census()))


class Routers:
    """Two routers of different owners, each with a port on a switch."""

    def __init__(self, networks: tuple[str, str], macs: tuple[str, str] = ("02:00:00:00:00:01", "02:00:00:00:00:02")):
        self.northbound = Northbound()
        for number, (ids, network, mac) in enumerate(zip((ROUTER, KUBE_OVN), networks, macs, strict=True)):
            port = self.northbound.add("Logical_Router_Port", name=f"p{number}", networks=[network], mac=mac)
            self.northbound.add("Logical_Router", ids, name=f"r{number}", ports=[port])

    def switch(self, *ports: int, physical: str = "", tag: int | None = None) -> Routers:
        add = self.northbound.add
        peers = [
            add("Logical_Switch_Port", name=f"to-p{port}", type="router", options={"router-port": f"p{port}"})
            for port in ports
        ]
        if physical:
            options = {"network_name": physical}
            peers.append(add("Logical_Switch_Port", name=f"{ports}", type="localnet", options=options, tag=tag))
        add("Logical_Switch", name=f"on{ports}", ports=peers)
        return self

    def peers(self) -> Routers:
        """Connect the two routers by a link of their own."""
        ports = self.northbound.tables["Logical_Router_Port"]
        for name, peer, router in (("l0", "l1", 0), ("l1", "l0", 1)):
            link = self.northbound.add("Logical_Router_Port", name=name, peer=peer, mac=f"02:00:00:00:01:0{router}")
            self.northbound.tables["Logical_Router"][router]["ports"].append(link)
        assert len(ports) == 4
        return self


SAME = ("10.0.0.1/24", "10.0.0.1/24")
NEIGHBORS = ("10.0.0.1/24", "10.0.0.2/24")


@pytest.mark.parametrize(
    ("routers", "expected"),
    [
        pytest.param(Routers(SAME).switch(0).switch(1), [], id="apart: two tenants"),
        pytest.param(Routers(SAME).switch(0, 1), ["address 10.0.0.1"], id="on one switch"),
        pytest.param(Routers(NEIGHBORS).switch(0, 1), [], id="neighbors on one switch"),
        pytest.param(
            Routers(SAME).switch(0).switch(1).peers(), ["address 10.0.0.1", "network 10.0.0.0/24"], id="peers"
        ),
        pytest.param(Routers(NEIGHBORS).switch(0).switch(1).peers(), ["network 10.0.0.0/24"], id="ambiguous network"),
        pytest.param(
            Routers(SAME).switch(0, physical="a", tag=5).switch(1, physical="a", tag=5),
            ["address 10.0.0.1"],
            id="one VLAN",
        ),
        pytest.param(Routers(SAME).switch(0, physical="a", tag=5).switch(1, physical="a", tag=6), [], id="two VLANs"),
        pytest.param(Routers(SAME).switch(0, physical="a").switch(1, physical="b"), [], id="two physical networks"),
        pytest.param(
            Routers(NEIGHBORS, ("02:00:00:00:00:AA", "02:00:00:00:00:aa")).switch(0, 1),
            ["MAC address 02:00:00:00:00:aa"],
            id="one MAC address on one switch",
        ),
        pytest.param(
            Routers(("10.0.0.1/24", "10.1.0.1/24"), ("02:00:00:00:00:aa", "02:00:00:00:00:aa"))
            .switch(0)
            .switch(1)
            .peers(),
            [],
            id="one MAC address on two switches",
        ),
        pytest.param(Routers(("fe80::1/64", "fe80::1/64")).switch(0, 1), [], id="link-local"),
    ],
)
def test_addresses_of_routers(routers: Routers, expected: list[str]) -> None:
    assert subjects(routers.northbound) == expected


def test_one_owner_may_do_what_it_likes() -> None:
    routers = Routers(SAME).switch(0, 1)
    for row in routers.northbound.tables["Logical_Router"]:
        row["external_ids"] = KUBE_OVN
    assert subjects(routers.northbound) == []


def test_what_is_no_address_clashes_with_nothing() -> None:
    """OVN's schema takes any text for the networks of a router's port."""
    bad = ("10.0.0.1/33", "10.0.0.1/33")
    assert subjects(Routers(bad).northbound) == []
