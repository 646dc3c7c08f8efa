"""The lines of c5c3.ovn.census; with real rows: tests/integration/test_census.py."""

from __future__ import annotations

import pytest
from census_rows import KUBE_OVN, NETWORK, ROUTER, Northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_report import census_lines


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
