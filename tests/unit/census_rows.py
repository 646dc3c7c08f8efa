"""Rows of a Northbound database as ovn_database_info returns them, for tests of the census."""

from __future__ import annotations

import itertools
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._report.census_rows import EVERY_TABLE, Census, take_census

Row = dict[str, t.Any]
KUBE_OVN = {"vendor": "kube-ovn"}
OVN_KUBERNETES = {"k8s.ovn.org/network": "blue"}
NETWORK, ROUTER = {"neutron:network_name": "web"}, {"neutron:router_name": "r1"}
UUID = "6f4a6c0c-3d5b-4a53-8d5c-0a8a2f7c9b11"
UUID_WITH_UNDERSCORES = UUID.replace("-", "_")

_DEFAULTS: dict[str, Row] = {
    "ACL": {"name": None, "direction": "to-lport", "priority": 100},
    "Address_Set": {"name": "as"},
    "BFD": {"logical_port": "lrp", "dst_ip": "192.0.2.1"},
    "Connection": {"target": "pssl:6641:[::]"},
    "DHCP_Options": {"cidr": "10.0.0.0/24"},
    "DNS": {},
    "Forwarding_Group": {"name": "fg"},
    "Gateway_Chassis": {"name": "gc"},
    "HA_Chassis": {"chassis_name": "gateway1"},
    "HA_Chassis_Group": {"name": "hcg", "ha_chassis": []},
    "Load_Balancer": {"name": "lb", "health_check": []},
    "Load_Balancer_Group": {"name": "lbg", "load_balancer": []},
    "Load_Balancer_Health_Check": {"vip": "10.0.0.9:80"},
    "Logical_Router": {
        "name": "lr",
        "options": {},
        "ports": [],
        "static_routes": [],
        "policies": [],
        "nat": [],
        "load_balancer": [],
    },
    "Logical_Router_Policy": {"priority": 1, "match": "ip4"},
    "Logical_Router_Port": {
        "name": "lrp",
        "mac": "02:00:00:00:00:01",
        "networks": [],
        "peer": None,
        "gateway_chassis": [],
        "ha_chassis_group": None,
    },
    "Logical_Router_Static_Route": {"ip_prefix": "0.0.0.0/0", "nexthop": "192.0.2.1", "bfd": None},
    "Logical_Switch": {
        "name": "ls",
        "ports": [],
        "acls": [],
        "qos_rules": [],
        "dns_records": [],
        "forwarding_groups": [],
        "load_balancer": [],
    },
    "Logical_Switch_Port": {
        "name": "lsp",
        "type": "",
        "tag": None,
        "options": {},
        "dhcpv4_options": None,
        "dhcpv6_options": None,
        "ha_chassis_group": None,
    },
    "Meter": {"name": "meter", "bands": []},
    "Meter_Band": {},
    "NAT": {"type": "snat", "external_ip": "192.0.2.10", "logical_ip": "10.0.0.0/24"},
    "NB_Global": {"options": {}},
    "Port_Group": {"name": "pg", "acls": []},
    "QoS": {},
}
_NUMBERS = itertools.count(1)


class Northbound:
    """Tables that grow: `add("NAT", type="snat")` returns the UUID of the row, which other rows may name."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Row]] = {table: [] for table in EVERY_TABLE}

    def add(self, table: str, ids: t.Mapping[str, str] | None = None, **columns: t.Any) -> str:
        assert set(columns) <= set(_DEFAULTS[table]), f"{table} has no column {set(columns) - set(_DEFAULTS[table])}"
        uuid = f"{next(_NUMBERS):08x}-0000-4000-8000-000000000000"
        self.tables[table].append({"_uuid": uuid, "external_ids": dict(ids or {}), **_DEFAULTS[table], **columns})
        return uuid

    @property
    def facts(self) -> Row:
        return {"database": "OVN_Northbound", "tables": self.tables}

    def census(self, *, operated: bool = True) -> Census:
        return take_census(self.tables, operated=operated)

    def owners(self) -> dict[str, str]:
        """The owner of each row by its UUID."""
        return {row.uuid: row.owner for row in self.census().rows}
