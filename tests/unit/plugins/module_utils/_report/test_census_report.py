"""The lines of c5c3.ovn.census; with real rows: tests/integration/test_census.py."""

from __future__ import annotations

import pytest
from census_rows import KUBE_OVN, NETWORK, OVN_KUBERNETES, ROUTER, UUID, Northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_report import census_lines, kube_ovn_warnings
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
