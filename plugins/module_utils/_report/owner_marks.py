# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a row of the Northbound database is, as the row itself says: by the keys of its `external_ids`, or else by its name. Pure.

The marks are those that the systems write. Sources, as of their releases of 2026, older ones where a rule says so:

- Neutron: neutron/common/ovn/constants.py (keys and names), neutron/common/ovn/utils.py (names of switches, ports, groups, address sets),
  ovn_client.py of the mechanism driver (DHCP_Options have `subnet_id`, DNS has `ls_name`, both without a prefix),
  neutron/services/portforwarding/drivers/ovn/driver.py (load balancers of port forwardings), neutron/services/bgp/constants.py.
- ovn-octavia-provider: common/constants.py, and `_build_external_ids` in helper.py.
- kube-ovn: the rows that 1.16.2 writes, of which all have `vendor` but NAT, BFD and Gateway_Chassis; pkg/ovs/ovn-nb-migration.go and util.go (keys and names
  of rows of releases before 1.15, which lack it).
- OVN-Kubernetes: go-controller/pkg/types/const.go (names, `k8s.ovn.org/`), pkg/libovsdb/ops/db_object_ids.go, pkg/util/util.go (`HashForOVN`),
  pkg/ovn/gateway.go, pkg/ovn/topology/topologyfactory.go.
- Ours: _connectivity_test/network.py.
"""

from __future__ import annotations

import re
import typing as t

from .._connectivity_test.network import MARK

Row = t.Mapping[str, t.Any]

NEUTRON, OCTAVIA, KUBE_OVN, OVN_KUBERNETES, OURS, UNKNOWN = (
    "neutron",
    "octavia",
    "kube-ovn",
    "ovn-kubernetes",
    "c5c3",
    "unknown",
)
OWNERS = (NEUTRON, OCTAVIA, KUBE_OVN, OVN_KUBERNETES, OURS, UNKNOWN)

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_UUID_WITH_UNDERSCORES = _UUID.replace("-", "_").replace("0_9a_f", "0-9a-f")
_NEUTRONS_OWN_KEYS = {"DHCP_Options": "subnet_id"}
# In releases before 1.15 they are all that tells.
_KUBE_OVN_KEYS = {"ACL": {"parent"}, "Port_Group": {"np", "sg"}, "Address_Set": {"np", "sg"}}
_OVN_KUBERNETES_KEYS = frozenset(
    {"k8s-cluster-router", "physical_ip", "physical_ips", "gateway-physical-ip", "ic-node"}
)

# The hash that OVN-Kubernetes makes of a name: names of address sets and port groups have few characters.
_HASH = r"a\d{12,20}"
_NAMES: dict[str, dict[str, str]] = {
    "Logical_Switch": {
        NEUTRON: rf"neutron-{_UUID}|evpn-ls-.+",
        KUBE_OVN: r"ovn-default",
        OVN_KUBERNETES: r"(?:ext|join)_.+|exgw-.+|transit_switch|ovn_(?:layer2|localnet)_switch",
    },
    "Logical_Switch_Port": {
        NEUTRON: rf"provnet-{_UUID}",
        KUBE_OVN: r"localnet\..+",
        OVN_KUBERNETES: r"(?:stor|jtor|etor|tstor|stotr|trtos)-.+",
    },
    "Logical_Router": {
        NEUTRON: rf"neutron-{_UUID}|bgp-lr-main",
        KUBE_OVN: r"ovn-cluster",
        OVN_KUBERNETES: r"ovn_cluster_router|GR_.+|transit_router|connect_router_.+",
    },
    "Logical_Router_Port": {
        NEUTRON: rf"lrp-{_UUID}",
        KUBE_OVN: r"ovn-cluster-.+",
        OVN_KUBERNETES: r"(?:rtos|rtoj|rtoe|rtots|rtotr|trtor|rtocr|crtor)-.+",
    },
    "Gateway_Chassis": {NEUTRON: rf"lrp-{_UUID}_.+"},
    "Port_Group": {
        NEUTRON: rf"neutron_pg_drop|pg_{_UUID_WITH_UNDERSCORES}",
        KUBE_OVN: r"ovn\.sg\..+|VEG\.[0-9a-f]{12}",
        OVN_KUBERNETES: _HASH,
    },
    "Address_Set": {
        # Those of security groups have the names of their port groups since port groups are used; as_… is older.
        NEUTRON: rf"(?:pg|ag)_{_UUID_WITH_UNDERSCORES}_ip[46]|as_ip[46]_{_UUID_WITH_UNDERSCORES}",
        KUBE_OVN: r"ovn\.sg\..+\.associated\.v[46]|.+\.(?:in|e)gress\.(?:allow|except)\.IPv[46]\.(?:\d+|all)|VEG\.[0-9a-f]{12}\.ipv[46]",
        OVN_KUBERNETES: _HASH,
    },
    "Load_Balancer": {
        NEUTRON: rf"pf-floatingip-{_UUID}-.+",
        KUBE_OVN: r"cluster-(?:tcp|udp|sctp)(?:-session)?-loadbalancer|vpc-.+-(?:tcp|udp|sctp)-(?:sess-)?load",
        OVN_KUBERNETES: r"Service_.+/.+",
    },
    "Load_Balancer_Group": {OVN_KUBERNETES: r"(?:.+_)?cluster(?:Switch|Router)?LBGroup|cnc_svc_.+"},
    "HA_Chassis_Group": {NEUTRON: rf"neutron-(?:extport-)?{_UUID}|default_ha_chassis_group|evpn-hcg-.+"},
    "Meter": {NEUTRON: r"acl_log_meter", OVN_KUBERNETES: r"acl-logging|.+-rate-limiter"},
}
_SCHEMES = {table: {owner: re.compile(name) for owner, name in names.items()} for table, names in _NAMES.items()}


def family(owner: str) -> str:
    """Return the owner whose settings decide about the row: load balancers of Octavia's OVN provider belong to Neutron's installation."""
    return NEUTRON if owner == OCTAVIA else owner


def external_ids(row: Row) -> t.Mapping[str, str]:
    return row.get("external_ids") or {}


def owner_by_mark(table: str, row: Row) -> str:
    """Return the owner that the keys of the row's `external_ids` name, or `UNKNOWN`."""
    ids = external_ids(row)
    if MARK in ids:
        return OURS
    if ids.get("vendor") == KUBE_OVN:
        return KUBE_OVN
    if any(key.startswith("k8s.ovn.org/") for key in ids) or _OVN_KUBERNETES_KEYS & set(ids):
        return OVN_KUBERNETES
    if table == "Logical_Switch_Port" and ids.get("pod") == "true":  # kube-ovn has the name of the pod there
        return OVN_KUBERNETES
    if _KUBE_OVN_KEYS.get(table, set()) & set(ids):
        return KUBE_OVN
    if any(key.startswith("octavia:") for key in ids) or (table == "Load_Balancer" and "neutron:vip" in ids):
        return OCTAVIA
    if any(key.startswith(("neutron:", "neutron-")) for key in ids) or _NEUTRONS_OWN_KEYS.get(table) in ids:
        return NEUTRON
    if table == "DNS" and ids.get("ls_name", "").startswith("neutron-"):
        return NEUTRON
    return UNKNOWN


def owner_by_name(table: str, name: str) -> str:
    """Return the owner whose scheme makes such a name in this table, or `UNKNOWN`."""
    return next((owner for owner, scheme in _SCHEMES.get(table, {}).items() if scheme.fullmatch(name)), UNKNOWN)


def owner_of(table: str, row: Row) -> str:
    """Return the owner that the row itself tells: by its marks, or else by its name."""
    marked = owner_by_mark(table, row)
    return marked if marked != UNKNOWN else owner_by_name(table, str(row.get("name") or ""))
