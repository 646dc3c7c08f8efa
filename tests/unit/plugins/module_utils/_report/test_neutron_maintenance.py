"""Tasks of Neutron's maintenance that write rows without a look at their owner."""

from __future__ import annotations

import pytest
from census_rows import KUBE_OVN, NETWORK, ROUTER, UUID, Northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._report.neutron_maintenance import maintenance_warnings


def of_neutron() -> Northbound:
    """A row of Neutron for each task, and our test network."""
    made = Northbound()
    made.add("NB_Global", options={"bfd-mult": "3", "northd_probe_interval": "5000"})
    made.add("Logical_Switch", NETWORK)
    made.add("Logical_Switch", {"c5c3-ovn-test-network": "t"})
    made.add("Logical_Router", ROUTER)
    made.add("Logical_Switch_Port", {"neutron:port_name": ""}, type="localnet")
    made.add("DHCP_Options", {"subnet_id": UUID})
    return made


def subjects(northbound: Northbound) -> list[str]:
    return [warning.subject for warning in maintenance_warnings(northbound.census())]


def test_neutron_alone() -> None:
    assert subjects(of_neutron()) == []


@pytest.mark.parametrize(
    ("table", "columns", "subject", "words"),
    [
        (
            "Logical_Router",
            {"name": "ovn-cluster", "options": {"mac_binding_age_threshold": "300"}},
            "1 Logical_Router (ovn-cluster of kube-ovn)",
            "update_mac_aging_settings writes options:mac_binding_age_threshold of every router (now 300)",
        ),
        (
            "Logical_Switch_Port",
            {"name": "localnet.a", "type": "localnet", "options": {"network_name": "a"}},
            "1 Logical_Switch_Port (localnet.a of kube-ovn) with type localnet",
            "check_localnet_port_has_learn_fdb writes options:localnet_learn_fdb of every such port (now unset)",
        ),
        (
            "Logical_Switch",
            {"name": "ovn-default"},
            "1 Logical_Switch (ovn-default of kube-ovn)",
            "check_for_igmp_snoop_support in releases before 25.2.3, 26.0.3, 27.0.2 and 28.0.0 writes",
        ),
        (
            "DHCP_Options",
            {"cidr": "10.16.0.0/16"},
            "1 DHCP_Options (10.16.0.0/16 of kube-ovn)",
            "writes an error into Neutron's log for each of them, and changes nothing",
        ),
    ],
)
def test_rows_that_a_task_touches(table: str, columns: dict[str, object], subject: str, words: str) -> None:
    northbound = of_neutron()
    northbound.add(table, KUBE_OVN, **columns)
    warning, shared = maintenance_warnings(northbound.census())
    assert warning.subject == subject
    assert words in warning.cause
    assert warning.next_step
    assert shared.subject.startswith("NB_Global options bfd-min-rx, ")
    assert "(now bfd-mult=3)" in shared.cause  # northd_probe_interval is not Neutron's


def test_an_ordinary_port_is_not_touched() -> None:
    northbound = of_neutron()
    northbound.add("Logical_Switch_Port", KUBE_OVN, name="web.default")
    assert [subject.split()[0] for subject in subjects(northbound)] == ["NB_Global"]


def test_options_with_neutrons_key_end_a_task_for_all() -> None:
    northbound = of_neutron()
    northbound.add("DHCP_Options", {**KUBE_OVN, "subnet_id": "blue"}, cidr="10.1.0.0/24")
    northbound.add("DHCP_Options", KUBE_OVN, cidr="10.2.0.0/24")
    warning = maintenance_warnings(northbound.census())[0]
    assert warning.subject == "1 DHCP_Options (10.1.0.0/24 of kube-ovn)"
    assert "fails for all rows" in warning.cause


def test_only_names_with_neutrons_key_are_touched() -> None:
    northbound = of_neutron()
    northbound.add("DNS", {"ls_name": "neutron-a"})
    northbound.add("DNS", KUBE_OVN)
    northbound.add("DNS", {**KUBE_OVN, "ls_name": "pods"})
    warning = maintenance_warnings(northbound.census())[0]
    assert warning.subject == "1 DNS (pods of kube-ovn)"
    assert "set_ovn_owned_dns_option (since 26.0.0) writes options:ovn-owned" in warning.cause


def test_different_values_are_all_named() -> None:
    northbound = of_neutron()
    for number, options in enumerate(({}, {"mac_binding_age_threshold": "300"}, {"mac_binding_age_threshold": "60"})):
        northbound.add("Logical_Router", KUBE_OVN, name=f"r{number}", options=options)
    assert "(now 300, 60, unset)" in maintenance_warnings(northbound.census())[0].cause
