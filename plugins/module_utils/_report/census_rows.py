# SPDX-License-Identifier: GPL-3.0-or-later
"""A warning of the census, and how several rows are named in one. Pure."""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t

from .._base.errors import InvalidInput, list_names
from .owner_marks import OURS, OWNERS, UNKNOWN, Row, external_ids, family, owner_of

# The owner of every row that was read of the Northbound database: as the row says, or else by the rows that it has, or that have it. Pure.

# What tells whose rows there are, and of what; also in the playbook c5c3.ovn.census
COLUMNS: t.Mapping[str, list[str]] = {
    "ACL": ["external_ids", "name", "direction", "priority"],
    "Address_Set": ["external_ids", "name"],
    "BFD": ["external_ids", "logical_port", "dst_ip"],
    "Connection": ["target"],
    "DHCP_Options": ["external_ids", "cidr"],
    "DNS": ["external_ids"],
    "Forwarding_Group": ["external_ids", "name"],
    "Gateway_Chassis": ["external_ids", "name"],
    "HA_Chassis": ["external_ids", "chassis_name"],
    "HA_Chassis_Group": ["external_ids", "name", "ha_chassis"],
    "Load_Balancer": ["external_ids", "name", "health_check"],
    "Load_Balancer_Group": ["name", "load_balancer"],
    "Load_Balancer_Health_Check": ["external_ids", "vip"],
    "Logical_Router": ["external_ids", "name", "options", "ports", "static_routes", "policies", "nat", "load_balancer"],
    "Logical_Router_Policy": ["external_ids", "priority", "match"],
    "Logical_Router_Port": ["external_ids", "name", "mac", "networks", "peer", "gateway_chassis", "ha_chassis_group"],
    "Logical_Router_Static_Route": ["external_ids", "ip_prefix", "nexthop", "bfd"],
    "Logical_Switch": [
        "external_ids",
        "name",
        "ports",
        "acls",
        "qos_rules",
        "dns_records",
        "forwarding_groups",
        "load_balancer",
    ],
    "Logical_Switch_Port": [
        "external_ids",
        "name",
        "type",
        "tag",
        "options",
        "dhcpv4_options",
        "dhcpv6_options",
        "ha_chassis_group",
    ],
    "Meter": ["external_ids", "name", "bands"],
    "Meter_Band": ["external_ids"],
    "NAT": ["external_ids", "type", "external_ip", "logical_ip"],
    "NB_Global": ["options"],
    "Port_Group": ["external_ids", "name", "acls"],
    "QoS": ["external_ids"],
}

Tables = t.Mapping[str, t.Sequence[Row]]

# What holds what, from the top: an owner without a mark comes down from the holder, so holders are decided before what they hold.
_HOLDERS: tuple[tuple[str, str, str], ...] = (
    ("Logical_Switch", "ports", "Logical_Switch_Port"),
    ("Logical_Switch", "acls", "ACL"),
    ("Port_Group", "acls", "ACL"),
    ("Logical_Switch", "qos_rules", "QoS"),
    ("Logical_Switch", "dns_records", "DNS"),
    ("Logical_Switch", "forwarding_groups", "Forwarding_Group"),
    ("Logical_Switch", "load_balancer", "Load_Balancer"),
    ("Logical_Router", "load_balancer", "Load_Balancer"),
    ("Load_Balancer_Group", "load_balancer", "Load_Balancer"),
    ("Logical_Router", "ports", "Logical_Router_Port"),
    ("Logical_Router", "static_routes", "Logical_Router_Static_Route"),
    ("Logical_Router", "policies", "Logical_Router_Policy"),
    ("Logical_Router", "nat", "NAT"),
    ("Logical_Router_Static_Route", "bfd", "BFD"),
    ("Logical_Router_Port", "gateway_chassis", "Gateway_Chassis"),
    ("Logical_Router_Port", "ha_chassis_group", "HA_Chassis_Group"),
    ("Logical_Switch_Port", "ha_chassis_group", "HA_Chassis_Group"),
    ("Logical_Switch_Port", "dhcpv4_options", "DHCP_Options"),
    ("Logical_Switch_Port", "dhcpv6_options", "DHCP_Options"),
    ("HA_Chassis_Group", "ha_chassis", "HA_Chassis"),
    ("Load_Balancer", "health_check", "Load_Balancer_Health_Check"),
    ("Meter", "bands", "Meter_Band"),
)
# What tells of its holder: OVN-Kubernetes marks no switch of a node, and any owner's rules are marked.
_TELLING = (("Logical_Switch", "ports"), ("Logical_Router", "ports"), ("Port_Group", "acls"))
# They hold for the whole OVN, so they belong to who runs the databases.
WHOLE_OVN = ("NB_Global", "Connection")
TABLES = tuple(dict.fromkeys(table for holder, _column, held in _HOLDERS for table in (holder, held)))
EVERY_TABLE = (*sorted({*TABLES, "Address_Set"}), *WHOLE_OVN)


@dataclasses.dataclass(frozen=True)
class OwnedRow:
    """`name` tells the row from others of its table, for people. `holders` are the UUIDs of the rows that have it."""

    table: str
    uuid: str
    name: str
    owner: str
    row: Row
    holders: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        return family(self.owner)


class Census:
    """All rows with their owners, sorted by table and name."""

    def __init__(self, rows: t.Iterable[OwnedRow]) -> None:
        self.rows = sorted(rows, key=lambda row: (EVERY_TABLE.index(row.table), row.name, row.uuid))
        self.by_uuid = {row.uuid: row for row in self.rows}

    @functools.cached_property
    def _by_table(self) -> dict[str, list[OwnedRow]]:
        found = collections.defaultdict(list)
        for row in self.rows:
            found[row.table].append(row)
        return found

    def of(self, table: str) -> list[OwnedRow]:
        return self._by_table.get(table, [])

    @property
    def families(self) -> set[str]:
        """The owners of the logical network."""
        return {row.family for row in self.rows if row.table not in WHOLE_OVN}

    def counts(self) -> dict[str, collections.Counter[str]]:
        """How many rows each owner has of each table that has rows."""
        return {table: collections.Counter(row.owner for row in rows) for table, rows in self._by_table.items()}


def take_census(tables: Tables, *, operated: bool) -> Census:
    """Return the owner of each row. `operated` says whether we run these databases; then what holds for the whole OVN is ours.

    Raises InvalidInput if a table or column is missing.
    """
    try:
        rows = {(table, row["_uuid"]): row for table in EVERY_TABLE for row in tables[table]}
        held = _holders(rows)
    except (KeyError, TypeError) as e:
        raise InvalidInput(
            f"Cannot tell whose the rows are: a table or column is missing ({e}). Read the database with the options of playbooks/census.yml."
        ) from None
    owners = {key: owner_of(key[0], row) for key, row in rows.items()}
    owners.update({key: OURS if operated else UNKNOWN for key in rows if key[0] in WHOLE_OVN})
    _ask_what_they_hold(rows, owners)
    _ask_their_holders(rows, owners, held)
    return Census(
        OwnedRow(
            table,
            uuid,
            _name(table, row),
            owners[table, uuid],
            row,
            tuple(holder for _uuid, holder in held[table, uuid]),
        )
        for (table, uuid), row in rows.items()
    )


_Key = tuple[str, str]


def _references(value: t.Any) -> t.Sequence[str]:
    return value if isinstance(value, (list, tuple)) else [value] if value else []


def _holders(rows: t.Mapping[_Key, Row]) -> dict[_Key, list[_Key]]:
    """Return the holders of each row."""
    held: dict[_Key, list[_Key]] = collections.defaultdict(list)
    for (table, uuid), row in rows.items():
        for holder, column, target in _HOLDERS:
            if holder == table:
                for reference in _references(row[column]):
                    held[target, reference].append((table, uuid))
    return held


def _ask_what_they_hold(rows: t.Mapping[_Key, Row], owners: dict[_Key, str]) -> None:
    targets = {(holder, column): target for holder, column, target in _HOLDERS}
    for table, column in _TELLING:
        for key in [key for key in rows if key[0] == table and owners[key] == UNKNOWN]:
            told = {owners.get((targets[table, column], uuid), UNKNOWN) for uuid in rows[key][column]} - {UNKNOWN}
            if len(told) == 1:
                owners[key] = told.pop()


def _ask_their_holders(rows: t.Mapping[_Key, Row], owners: dict[_Key, str], held: t.Mapping[_Key, list[_Key]]) -> None:
    ports = {row["name"]: owners[key] for key, row in rows.items() if key[0] == "Logical_Router_Port"}
    for table in dict.fromkeys(target for _holder, _column, target in _HOLDERS):
        for key in [key for key in rows if key[0] == table and owners[key] == UNKNOWN]:
            told = {owners[holder] for holder in held.get(key, ())}
            if table == "BFD" and not told:
                told = {ports.get(rows[key]["logical_port"], UNKNOWN)}
            if len(told) == 1:
                owners[key] = told.pop()
            if table == "Logical_Router_Port":
                ports[rows[key]["name"]] = owners[key]


def _name(table: str, row: Row) -> str:
    """Return what tells the row from others of its table."""
    if table == "NB_Global":
        return "."
    for column in ("name", "target", "cidr", "chassis_name"):
        if row.get(column):
            return str(row[column])
    if table == "NAT":
        return f"{row['type']} {row['external_ip']} {row['logical_ip']}"
    if table == "Logical_Router_Static_Route":
        return f"{row['ip_prefix']} via {row['nexthop']}"
    if table == "Logical_Router_Policy":
        return f"priority {row['priority']}: {row['match']}"
    if table == "ACL":
        return f"{row['direction']} {row['priority']}"
    if table == "BFD":
        return f"{row['logical_port']} {row['dst_ip']}"
    if table == "Load_Balancer_Health_Check":
        return str(row["vip"])
    return external_ids(row).get("ls_name") or str(row["_uuid"])


MOST = 3  # names of rows in one sentence


@dataclasses.dataclass(frozen=True)
class CensusWarning:
    """`subject` is the setting or the rows that it is about; `cause` has lines of sentences, and `next_step` is one."""

    subject: str
    cause: str
    next_step: str

    def lines(self) -> list[str]:
        return [f"WARNING {self.subject}", *(f"    {line}" for line in (*self.cause.splitlines(), self.next_step))]


def owners_of(rows: t.Iterable[OwnedRow]) -> str:
    """Return the owners with their numbers of rows: "kube-ovn 12, unknown 3"."""
    counts = collections.Counter(row.owner for row in rows)
    return ", ".join(f"{owner} {counts[owner]}" for owner in OWNERS if counts[owner])


def named(rows: t.Sequence[OwnedRow]) -> str:
    """Return the rows as "2 Port_Group (a of kube-ovn, b of unknown)"."""
    return f"{len(rows)} {rows[0].table} ({list_names([f'{row.name} of {row.owner}' for row in rows], MOST)})"
