"""Rows without a mark: their owner comes from the rows that they have, or that have them."""

from __future__ import annotations

import pytest
from census_rows import KUBE_OVN, NETWORK, OVN_KUBERNETES, ROUTER, Northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_rows import COLUMNS, EVERY_TABLE, take_census

HELD = [
    ("Logical_Switch", "ports", "Logical_Switch_Port"),
    ("Logical_Switch", "acls", "ACL"),
    ("Port_Group", "acls", "ACL"),
    ("Logical_Switch", "qos_rules", "QoS"),
    ("Logical_Switch", "dns_records", "DNS"),
    ("Logical_Switch", "forwarding_groups", "Forwarding_Group"),
    ("Logical_Switch", "load_balancer", "Load_Balancer"),
    ("Logical_Router", "load_balancer", "Load_Balancer"),
    ("Logical_Router", "ports", "Logical_Router_Port"),
    ("Logical_Router", "static_routes", "Logical_Router_Static_Route"),
    ("Logical_Router", "policies", "Logical_Router_Policy"),
    ("Logical_Router", "nat", "NAT"),
    ("Logical_Router_Port", "gateway_chassis", "Gateway_Chassis"),
    ("HA_Chassis_Group", "ha_chassis", "HA_Chassis"),
    ("Load_Balancer", "health_check", "Load_Balancer_Health_Check"),
    ("Meter", "bands", "Meter_Band"),
]
OPTIONAL = [
    ("Logical_Router_Static_Route", "bfd", "BFD"),
    ("Logical_Router_Port", "ha_chassis_group", "HA_Chassis_Group"),
    ("Logical_Switch_Port", "ha_chassis_group", "HA_Chassis_Group"),
    ("Logical_Switch_Port", "dhcpv4_options", "DHCP_Options"),
    ("Logical_Switch_Port", "dhcpv6_options", "DHCP_Options"),
]


@pytest.mark.parametrize(("holder", "column", "table"), [*HELD, *OPTIONAL])
def test_a_row_without_a_mark_has_the_owner_of_its_holder(holder: str, column: str, table: str) -> None:
    northbound = Northbound()
    held = northbound.add(table)
    northbound.add(holder, KUBE_OVN, **{column: held if (holder, column, table) in OPTIONAL else [held]})
    marked = northbound.add(table, {"neutron:x": "y"})
    northbound.tables[holder][0][column] = held if (holder, column, table) in OPTIONAL else [held, marked]
    owners = northbound.owners()
    assert (owners[held], owners[marked]) == ("kube-ovn", "neutron")


def test_an_owner_comes_down_more_than_one_step() -> None:
    northbound = Northbound()
    chassis = northbound.add("HA_Chassis")
    group = northbound.add("HA_Chassis_Group", ha_chassis=[chassis])
    port = northbound.add("Logical_Router_Port", ha_chassis_group=group)
    northbound.add("Logical_Router", ROUTER, ports=[port])
    owners = northbound.owners()
    assert {owners[row] for row in (chassis, group, port)} == {"neutron"}


def test_two_holders_with_different_owners_tell_nothing() -> None:
    northbound = Northbound()
    balancer = northbound.add("Load_Balancer")
    northbound.add("Logical_Switch", NETWORK, load_balancer=[balancer])
    northbound.add("Logical_Switch", KUBE_OVN, load_balancer=[balancer])
    assert northbound.owners()[balancer] == "unknown"


def test_the_port_of_another_owner_on_a_router_keeps_its_owner() -> None:
    """kube-ovn puts subnets at Neutron's routers (ENABLE_EXTERNAL_VPC)."""
    northbound = Northbound()
    guest, own = northbound.add("Logical_Router_Port", KUBE_OVN, name="x"), northbound.add("Logical_Router_Port")
    router = northbound.add("Logical_Router", ROUTER, ports=[guest, own])
    owners = northbound.owners()
    assert (owners[guest], owners[own], owners[router]) == ("kube-ovn", "neutron", "neutron")


def test_ports_tell_of_a_switch_without_a_mark() -> None:
    """OVN-Kubernetes marks neither the switch of a node nor all of its ports."""
    northbound = Northbound()
    ports = [northbound.add("Logical_Switch_Port", name=name) for name in ("stor-node1", "k8s-node1")]
    node = northbound.add("Logical_Switch", name="node1", ports=ports)
    joins = [
        northbound.add("Logical_Switch", name="join", ports=[northbound.add("Logical_Switch_Port", name="jtor-GR_a")]),
        northbound.add("Logical_Switch", KUBE_OVN, name="join"),
        northbound.add("Logical_Switch", name="join"),
    ]
    owners = northbound.owners()
    assert {owners[node], *(owners[port] for port in ports)} == {"ovn-kubernetes"}
    assert [owners[join] for join in joins] == ["ovn-kubernetes", "kube-ovn", "unknown"]


def test_ports_of_two_owners_tell_nothing_of_their_switch() -> None:
    northbound = Northbound()
    ports = [northbound.add("Logical_Switch_Port", ids) for ids in (KUBE_OVN, OVN_KUBERNETES)]
    switch = northbound.add("Logical_Switch", ports=ports)
    assert northbound.owners()[switch] == "unknown"


def test_rules_tell_of_a_port_group_without_a_mark() -> None:
    northbound = Northbound()
    rule, other = northbound.add("ACL", KUBE_OVN), northbound.add("ACL")
    group = northbound.add("Port_Group", acls=[rule, other])
    assert {northbound.owners()[row] for row in (rule, other, group)} == {"kube-ovn"}


def test_a_session_of_bfd_has_the_owner_of_its_port() -> None:
    northbound = Northbound()
    session = northbound.add("BFD", logical_port="edge")
    northbound.add("Logical_Router_Port", KUBE_OVN, name="edge")
    assert northbound.owners()[session] == "kube-ovn"


@pytest.mark.parametrize(("operated", "owner"), [(True, "c5c3"), (False, "unknown")])
def test_what_holds_for_the_whole_ovn_belongs_to_who_runs_it(operated: bool, owner: str) -> None:
    northbound = Northbound()
    northbound.add("NB_Global", {"neutron:x": "y"})
    northbound.add("Connection")
    census = northbound.census(operated=operated)
    assert {row.owner for row in census.rows} == {owner}
    assert census.families == set()


def test_rows_are_named_for_people() -> None:
    northbound = Northbound()
    for table in ("ACL", "BFD", "Connection", "DHCP_Options", "HA_Chassis", "NAT", "NB_Global", "Port_Group"):
        northbound.add(table)
    northbound.add("Logical_Router_Static_Route")
    northbound.add("Logical_Router_Policy")
    northbound.add("Load_Balancer_Health_Check")
    northbound.add("DNS", {"ls_name": "web"})
    bare = northbound.add("QoS")
    assert {row.table: row.name for row in northbound.census().rows} == {
        "ACL": "to-lport 100",
        "BFD": "lrp 192.0.2.1",
        "Connection": "pssl:6641:[::]",
        "DHCP_Options": "10.0.0.0/24",
        "DNS": "web",
        "HA_Chassis": "gateway1",
        "Load_Balancer_Health_Check": "10.0.0.9:80",
        "Logical_Router_Policy": "priority 1: ip4",
        "Logical_Router_Static_Route": "0.0.0.0/0 via 192.0.2.1",
        "NAT": "snat 192.0.2.10 10.0.0.0/24",
        "NB_Global": ".",
        "Port_Group": "pg",
        "QoS": bare,
    }


@pytest.mark.parametrize("column", ["nat", "ports", "_uuid"])
def test_a_missing_column_is_named(column: str) -> None:
    northbound = Northbound()
    northbound.add("Logical_Router")
    del northbound.tables["Logical_Router"][0][column]
    with pytest.raises(InvalidInput, match=rf"a table or column is missing \('{column}'\)"):
        northbound.census()
    with pytest.raises(InvalidInput, match=r"a table or column is missing"):
        take_census({}, operated=True)


def test_each_column_that_is_looked_at_is_read() -> None:
    """And nothing else: the rows that tests make have the same columns."""
    assert set(COLUMNS) == set(EVERY_TABLE)
    northbound = Northbound()
    for table in EVERY_TABLE:
        northbound.add(table)
    without = {"Load_Balancer_Group", "Connection", "NB_Global"}  # of these nothing is told by external_ids
    for table, columns in COLUMNS.items():
        made = set(northbound.tables[table][0]) - {"_uuid"} - ({"external_ids"} if table in without else set())
        assert set(columns) == made, table
