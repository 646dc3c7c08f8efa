"""What a row tells of its owner. tests/integration/test_census.py has the rows as the systems write them."""

from __future__ import annotations

import pytest
from census_rows import UUID, UUID_WITH_UNDERSCORES

from ansible_collections.c5c3.ovn.plugins.module_utils._report.owner_marks import (
    family,
    owner_by_mark,
    owner_by_name,
    owner_of,
)

MARKS = [
    ("Logical_Switch", {"neutron:network_name": "web"}, "neutron"),
    ("Logical_Switch_Port", {"neutron:port_name": "", "neutron:device_owner": "compute:nova"}, "neutron"),
    ("NAT", {"neutron:fip_id": UUID}, "neutron"),
    ("ACL", {"neutron:security_group_rule_id": UUID}, "neutron"),
    ("Logical_Router_Port", {"neutron-bgp-network-name": "physnet1"}, "neutron"),
    ("DHCP_Options", {"subnet_id": UUID}, "neutron"),
    ("DNS", {"ls_name": f"neutron-{UUID}"}, "neutron"),
    ("Load_Balancer", {"neutron:device_owner": "port_forwarding_plugin", "neutron:fip_id": UUID}, "neutron"),
    ("Load_Balancer", {"neutron:vip": "10.0.0.9", "enabled": "True", "neutron:vip_port_id": UUID}, "octavia"),
    ("Load_Balancer_Health_Check", {"octavia:healthmonitor": UUID}, "octavia"),
    ("Logical_Switch", {"vendor": "kube-ovn"}, "kube-ovn"),
    ("Logical_Switch_Port", {"vendor": "kube-ovn", "pod": "default/web", "ls": "ovn-default"}, "kube-ovn"),
    ("DHCP_Options", {"vendor": "kube-ovn", "ls": "ovn-default", "protocol": "IPv4"}, "kube-ovn"),
    # As kube-ovn 1.12 to 1.14 writes them.
    ("ACL", {"parent": "web.default"}, "kube-ovn"),
    ("Port_Group", {"np": "default/web"}, "kube-ovn"),
    ("Port_Group", {"type": "security_group", "sg": "web"}, "kube-ovn"),
    ("Address_Set", {"np": "default/web/ingress"}, "kube-ovn"),
    ("Logical_Switch_Port", {"pod": "true", "namespace": "default"}, "ovn-kubernetes"),
    ("Logical_Router", {"k8s-cluster-router": "yes"}, "ovn-kubernetes"),
    ("Logical_Router", {"physical_ip": "192.0.2.31", "physical_ips": "192.0.2.31"}, "ovn-kubernetes"),
    ("Logical_Router_Port", {"gateway-physical-ip": "yes"}, "ovn-kubernetes"),
    ("Logical_Router_Static_Route", {"ic-node": "node2"}, "ovn-kubernetes"),
    ("Address_Set", {"k8s.ovn.org/owner-type": "Namespace"}, "ovn-kubernetes"),
    ("Logical_Switch", {"c5c3-ovn-test-network": "c5c3-ping"}, "c5c3"),
    ("Logical_Switch_Port", {"c5c3-ovn-test-network": "c5c3-ping"}, "c5c3"),
    # Keys that only look alike.
    ("Logical_Switch", {"vendor": "somebody"}, "unknown"),
    ("Logical_Switch", {"subnet_id": UUID}, "unknown"),
    ("Logical_Switch", {"parent": "web"}, "unknown"),
    ("Logical_Switch_Port", {"pod": "default/web"}, "unknown"),
    ("DNS", {"ls_name": "ovn-default"}, "unknown"),
    ("Logical_Switch", {"network": "neutron:web"}, "unknown"),
    ("Logical_Switch", {"k8s": "yes"}, "unknown"),
    ("Logical_Switch", {}, "unknown"),
]

NAMES = [
    ("Logical_Switch", f"neutron-{UUID}", "neutron"),
    ("Logical_Switch", "evpn-ls-10", "neutron"),
    ("Logical_Switch_Port", f"provnet-{UUID}", "neutron"),
    ("Logical_Router", f"neutron-{UUID}", "neutron"),
    ("Logical_Router", "bgp-lr-main", "neutron"),
    ("Logical_Router_Port", f"lrp-{UUID}", "neutron"),
    ("Gateway_Chassis", f"lrp-{UUID}_gateway1", "neutron"),
    ("Port_Group", "neutron_pg_drop", "neutron"),
    ("Port_Group", f"pg_{UUID_WITH_UNDERSCORES}", "neutron"),
    ("Address_Set", f"pg_{UUID_WITH_UNDERSCORES}_ip4", "neutron"),
    ("Address_Set", f"ag_{UUID_WITH_UNDERSCORES}_ip6", "neutron"),
    ("Address_Set", f"as_ip4_{UUID_WITH_UNDERSCORES}", "neutron"),
    ("Load_Balancer", f"pf-floatingip-{UUID}-tcp", "neutron"),
    ("HA_Chassis_Group", f"neutron-extport-{UUID}", "neutron"),
    ("HA_Chassis_Group", "default_ha_chassis_group", "neutron"),
    ("Meter", "acl_log_meter", "neutron"),
    ("Logical_Switch", "ovn-default", "kube-ovn"),
    ("Logical_Router", "ovn-cluster", "kube-ovn"),
    ("Logical_Router_Port", "ovn-cluster-ovn-default", "kube-ovn"),
    ("Logical_Switch_Port", "localnet.vlan10", "kube-ovn"),
    ("Port_Group", "ovn.sg.web", "kube-ovn"),
    ("Port_Group", "VEG.0123456789ab", "kube-ovn"),
    ("Address_Set", "ovn.sg.web.associated.v6", "kube-ovn"),
    ("Address_Set", "web.default.ingress.allow.IPv4.0", "kube-ovn"),
    ("Address_Set", "np0deny.blue.ingress.except.IPv6.all", "kube-ovn"),
    ("Load_Balancer", "cluster-udp-session-loadbalancer", "kube-ovn"),
    ("Load_Balancer", "vpc-blue-tcp-sess-load", "kube-ovn"),
    ("Logical_Switch", "ext_node1", "ovn-kubernetes"),
    ("Logical_Switch", "exgw-ext_node1", "ovn-kubernetes"),
    ("Logical_Switch", "transit_switch", "ovn-kubernetes"),
    ("Logical_Router", "ovn_cluster_router", "ovn-kubernetes"),
    ("Logical_Router", "GR_node1", "ovn-kubernetes"),
    ("Logical_Router_Port", "rtoj-GR_node1", "ovn-kubernetes"),
    ("Logical_Switch_Port", "stor-node1", "ovn-kubernetes"),
    ("Address_Set", "a4743249366342378346", "ovn-kubernetes"),
    ("Port_Group", "a17018166157963590072", "ovn-kubernetes"),
    ("Load_Balancer", "Service_default/kubernetes_TCP_node_switch_node1", "ovn-kubernetes"),
    ("Load_Balancer_Group", "clusterSwitchLBGroup", "ovn-kubernetes"),
    ("Meter", "acl-logging", "ovn-kubernetes"),
    # Names that two systems use, or that only look alike.
    ("Logical_Switch", "join", "unknown"),
    ("Logical_Switch", "neutron-1", "unknown"),
    ("Logical_Switch", f"neutron-{UUID}-old", "unknown"),
    ("Logical_Switch", UUID, "unknown"),
    ("Logical_Router", "ovn-default", "unknown"),
    ("Port_Group", "pg_web", "unknown"),
    ("Address_Set", "a1", "unknown"),
    ("QoS", f"neutron-{UUID}", "unknown"),
]


@pytest.mark.parametrize(("table", "ids", "owner"), MARKS)
def test_a_mark(table: str, ids: dict[str, str], owner: str) -> None:
    assert owner_by_mark(table, {"external_ids": ids}) == owner


@pytest.mark.parametrize(("table", "name", "owner"), NAMES)
def test_a_name(table: str, name: str, owner: str) -> None:
    assert owner_by_name(table, name) == owner


def test_a_mark_counts_more_than_a_name() -> None:
    row = {"name": f"neutron-{UUID}-pods", "external_ids": {"vendor": "kube-ovn"}}
    assert owner_of("Logical_Router_Port", row) == "kube-ovn"
    assert owner_of("Port_Group", {"name": "neutron_pg_drop", "external_ids": {"vendor": "kube-ovn"}}) == "kube-ovn"
    assert owner_of("Port_Group", {"name": "neutron_pg_drop", "external_ids": {}}) == "neutron"


def test_a_row_without_names_and_marks_is_unknown() -> None:
    assert owner_of("QoS", {"external_ids": {}}) == "unknown"
    assert owner_of("ACL", {"name": None, "external_ids": {}}) == "unknown"
    assert owner_of("Load_Balancer_Group", {"name": "lbg"}) == "unknown"


def test_octavias_provider_belongs_to_neutrons_installation() -> None:
    assert [family(owner) for owner in ("octavia", "neutron", "kube-ovn", "unknown")] == [
        "neutron",
        "neutron",
        "kube-ovn",
        "unknown",
    ]
