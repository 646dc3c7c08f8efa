# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the Southbound database that belong to a chassis: how they are read, matched and deleted by every caller. Pure, and part of the archive for pods."""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as t

from .._base.ip_addresses import canonical
from .._ovsdb.rows import Operation, as_list
from .cms_options import owner_in
from .external_ids import CMS_OPTIONS

Encapsulation = tuple[str, str]  # (type, ip)
Condition = list[t.Any]  # RFC 7047 section 5.1: [column, function, value]
Columns = t.Mapping[str, t.Sequence[str]]  # table: columns
Tables = t.Callable[[str], t.Iterable[t.Any]]  # table: its rows, dictionaries of decoded values or rows of ovs.db.idl

# Who a chassis is and where its tunnels end.
IDENTITY: Columns = {"Chassis": ["name", "hostname", "other_config"], "Encap": ["chassis_name", "type", "ip"]}
# The settings in other_config would be most of the result, and a machine is compared without them.
NAMES_AND_TUNNELS: Columns = {**IDENTITY, "Chassis": ["name", "hostname"]}
HEARTBEAT: Columns = {"Chassis_Private": ["name", "nb_cfg", "nb_cfg_timestamp"], "SB_Global": ["nb_cfg"]}
# What a chassis publishes of itself. Versions before 20.09 have no Chassis_Private and write nb_cfg to Chassis.
DETAILS: Columns = {
    **IDENTITY,
    **HEARTBEAT,
    "Chassis": [*IDENTITY["Chassis"], "external_ids", "transport_zones", "nb_cfg"],
}
# Gateways of routers and groups, as northd copies them from Gateway_Chassis and HA_Chassis of the Northbound database.
GATEWAYS: Columns = {"HA_Chassis": ["_uuid", "external_ids"], "HA_Chassis_Group": ["name", "ha_chassis"]}
ANY_ROW: Condition = ["_uuid", "!=", ["uuid", "00000000-0000-0000-0000-000000000000"]]
# Tables with rows of a chassis, and the column with its name.
NAME_COLUMNS = {"Chassis": "name", "Chassis_Private": "name", "Encap": "chassis_name"}


_NAMED = 5  # gateways in a message


@dataclasses.dataclass(frozen=True)
class ChassisRow:
    """A row of Chassis with its encapsulations. `nb_cfg` is what a version before 20.09 writes here."""

    name: str
    hostname: str = ""
    encapsulations: frozenset[Encapsulation] = frozenset()
    settings: t.Mapping[str, str] = dataclasses.field(default_factory=dict)  # other_config over external_ids
    transport_zones: tuple[str, ...] = ()
    nb_cfg: int = 0

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(ip for _kind, ip in self.encapsulations)

    @property
    def owner(self) -> str:
        """The Kubernetes cluster that the chassis belongs to; empty for a machine."""
        return owner_in(self.settings.get(CMS_OPTIONS, ""))


@dataclasses.dataclass(frozen=True)
class PrivateRow:
    """A row of Chassis_Private: the answer to a heartbeat."""

    name: str
    nb_cfg: int = 0
    timestamp: int = 0  # milliseconds since 1970 by the chassis' own clock


def value_of(row: t.Any, column: str, default: t.Any) -> t.Any:
    """Return a column of a dictionary or of a row of ovs.db.idl; `default` if it was not asked for or the schema lacks it."""
    if isinstance(row, collections.abc.Mapping):
        return row.get(column, default)
    return getattr(row, column, default)


def chassis_rows(tables: Tables) -> dict[str, ChassisRow]:
    """Return every chassis that has a row in Chassis, by name."""
    return _registered(tables, _encapsulations(tables))


def chassis_and_address_owners(tables: Tables, name: str) -> list[ChassisRow]:
    """Return chassis `name` if it is registered, and every other chassis that has a row in Encap, sorted by name.

    `tables` may hold only the rows that meet `conditions_of`: then others have no row in Chassis, and their host names are unknown.
    """
    encapsulations = _encapsulations(tables)
    registered = _registered(tables, encapsulations)
    others = {other: ChassisRow(other, encapsulations=frozenset(encapsulations[other])) for other in encapsulations}
    others.pop(name, None)
    return [row for _name, row in sorted({**others, **registered}.items())]


def private_rows(tables: Tables) -> dict[str, PrivateRow]:
    """Return the rows of Chassis_Private by name, those without a row in Chassis included."""
    found = (
        PrivateRow(value_of(row, "name", ""), value_of(row, "nb_cfg", 0), value_of(row, "nb_cfg_timestamp", 0))
        for row in tables("Chassis_Private")
    )
    return {row.name: row for row in found}


def last_heartbeat(tables: Tables) -> int:
    """Return the heartbeat number that northd has passed on to the chassis, 0 before the first one."""
    return max((value_of(row, "nb_cfg", 0) for row in tables("SB_Global")), default=0)


def gateways_by_chassis(tables: Tables) -> dict[str, list[str]]:
    """Return for each chassis, registered or not, the gateway ports and groups that name it, sorted."""
    known = {value_of(row, "_uuid", None): row for row in tables("HA_Chassis")}
    found: dict[str, set[str]] = {}
    for group in tables("HA_Chassis_Group"):
        for one in as_list(value_of(group, "ha_chassis", [])):
            member = known.get(one) if isinstance(one, str) else one  # rows of ovs.db.idl refer to rows
            chassis = value_of(member, "external_ids", {}).get("chassis-name") if member else None
            if chassis:
                found.setdefault(chassis, set()).add(value_of(group, "name", ""))
    return {chassis: sorted(names) for chassis, names in found.items()}


def gateway_warning(chassis: str, gateways: t.Sequence[str]) -> str:
    """Return the warning that rows of the Northbound database still name a chassis that is not registered."""
    more = f" and {len(gateways) - _NAMED} more" if len(gateways) > _NAMED else ""
    return (
        f'Chassis "{chassis}" is not registered, but is still a gateway of {", ".join(gateways[:_NAMED])}{more}. '
        "Let Neutron schedule them elsewhere, or delete its rows of Gateway_Chassis and HA_Chassis in the Northbound database "
        f"(ovn-nbctl lrp-del-gateway-chassis PORT {chassis}, ovn-nbctl ha-chassis-group-remove-chassis GROUP {chassis})."
    )


def _registered(tables: Tables, encapsulations: t.Mapping[str, set[Encapsulation]]) -> dict[str, ChassisRow]:
    found = (_chassis_row(row, encapsulations) for row in tables("Chassis"))
    return {row.name: row for row in found}


def _encapsulations(tables: Tables) -> dict[str, set[Encapsulation]]:
    found: dict[str, set[Encapsulation]] = {}
    for row in tables("Encap"):
        found.setdefault(value_of(row, "chassis_name", ""), set()).add(
            (value_of(row, "type", ""), canonical(value_of(row, "ip", "")))
        )
    return found


def _chassis_row(row: t.Any, encapsulations: t.Mapping[str, set[Encapsulation]]) -> ChassisRow:
    name = value_of(row, "name", "")
    return ChassisRow(
        name=name,
        hostname=value_of(row, "hostname", ""),
        encapsulations=frozenset(encapsulations.get(name, ())),
        # Before OVN 22.09 the settings were copied to external_ids only.
        settings={**value_of(row, "external_ids", {}), **value_of(row, "other_config", {})},
        transport_zones=tuple(as_list(value_of(row, "transport_zones", []))),
        nb_cfg=value_of(row, "nb_cfg", 0),
    )


def conditions_of(name: str, addresses: t.Iterable[str] = ()) -> dict[str, list[Condition]]:
    """Return what the rows of chassis `name`, and Encap rows that may have one of `addresses`, meet: one of the conditions of their table."""
    conditions: dict[str, list[Condition]] = {table: [[column, "==", name]] for table, column in NAME_COLUMNS.items()}
    # A server compares texts, and an IPv6 address may be registered in another spelling: then one condition for all rows.
    found = sorted(addresses)
    conditions["Encap"] += [["ip", "!=", ""]] if ":" in "".join(found) else [["ip", "==", ip] for ip in found]
    return conditions


def select_operations(conditions: t.Mapping[str, t.Sequence[Condition]], columns: Columns) -> list[Operation]:
    """Return one select for each condition of the tables in `columns`."""
    return [
        {"op": "select", "table": table, "where": [condition], "columns": list(names)}
        for table, names in columns.items()
        for condition in conditions[table]
    ]


def delete_operations(names: t.Iterable[str]) -> list[Operation]:
    """Return what deletes all rows of these chassis, as `ovn-sbctl chassis-del` does, and also what is left without a row in Chassis."""
    return [
        {"op": "delete", "table": table, "where": [[column, "==", name]]}
        for name in names
        for table, column in NAME_COLUMNS.items()
    ]


def expect_chassis(name: str, rows: t.Sequence[t.Mapping[str, t.Any]]) -> Operation:
    """Return the guard of a deletion: the rest happens only if Chassis still has these rows (decoded `_uuid` and `hostname`) of that name."""
    return {
        "op": "wait",
        "timeout": 0,
        "table": "Chassis",
        "where": [["name", "==", name]],
        "columns": ["_uuid", "hostname"],
        "until": "==",
        "rows": [{"_uuid": ["uuid", row["_uuid"]], "hostname": row["hostname"]} for row in rows],
    }
