# SPDX-License-Identifier: GPL-3.0-or-later
"""An overview of a database as text, as the commands `ovn-nbctl show`, `ovn-sbctl show` and `ovs-vsctl show` print it. Pure."""

from __future__ import annotations

import copy
import ipaddress
import json
import re
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import InvalidInput

# The report as an artifact of a run. AWX stores artifacts in its database and hands them to each later job of a workflow, so their size has a limit.

LIMIT = 64 * 1024  # bytes of JSON
FIRST = 20  # items that stay of what is too long
# What grows with the installation, in the order in which it is shortened; the verdicts stay.
_GROWING: tuple[tuple[str, ...], ...] = (
    ("chassis", "details"),
    ("certificates", "chassis"),
    ("chassis", "lookups"),
    ("lines",),
    ("northbound", "members"),
    ("southbound", "members"),
    ("chassis", "misplaced_ports"),
    ("chassis", "alive"),
    ("chassis", "expected"),
    ("chassis", "unexpected"),
    ("addresses",),
    ("chassis", "late"),
    ("chassis", "missing"),
    ("northbound", "reasons"),
    ("southbound", "reasons"),
    ("warnings",),
    ("problems",),
    ("findings",),
)


def _size(value: t.Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode())


def report_artifact(report: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the report as `ovn_report`, and in `ovn_report_left_out` how many items each shortened key lacks to stay within `LIMIT`. Pure.

    What is long keeps its first items, then none; if that is not enough, only numbers and yes or no are left of the report.
    """
    kept: dict[str, t.Any] = copy.deepcopy(dict(report))
    left_out: dict[str, int] = {}
    for most in (FIRST, 0):
        for path in _GROWING:
            if _size(kept) <= LIMIT:
                return {"ovn_report": kept, "ovn_report_left_out": left_out}
            if missing := _shorten(kept, path, most):
                name = ".".join(path)
                left_out[name] = left_out.get(name, 0) + missing
    if _size(kept) > LIMIT:
        left_out |= {key: _items(value) for key, value in report.items() if not _is_small(value)}
        kept = {key: value for key, value in kept.items() if _is_small(value)}
    return {"ovn_report": kept, "ovn_report_left_out": left_out}


def _shorten(report: dict[str, t.Any], path: tuple[str, ...], most: int) -> int:
    """Leave the first items of a list or dictionary; return how many are gone."""
    place: t.Any = report
    for section in path[:-1]:
        place = place.get(section) if isinstance(place, dict) else None
    value = place.get(path[-1]) if isinstance(place, dict) else None
    if not isinstance(value, (list, dict)) or len(value) <= most:
        return 0
    place[path[-1]] = value[:most] if isinstance(value, list) else dict(list(value.items())[:most])
    return len(value) - most


def _is_small(value: t.Any) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _items(value: t.Any) -> int:
    return len(value) if isinstance(value, (list, dict)) else 1


Row = t.Mapping[str, t.Any]
Tables = t.Mapping[str, t.Sequence[Row]]

_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class _Shown(t.NamedTuple):
    """What is shown of a row: the column that names it, if any, and its columns; one with the rows of a table has that table's name."""

    name: str
    columns: t.Mapping[str, str]


_SHOWN = {
    "Chassis": _Shown("name", {"hostname": "", "encaps": "Encap", "bindings": "Port_Binding"}),
    "Encap": _Shown("type", {"ip": "", "options": ""}),
    "Port_Binding": _Shown("logical_port", {}),
    "Open_vSwitch": _Shown("", {"manager_options": "Manager", "bridges": "Bridge", "ovs_version": ""}),
    "Manager": _Shown("target", {"is_connected": ""}),
    "Bridge": _Shown("name", {"controller": "Controller", "fail_mode": "", "datapath_type": "", "ports": "Port"}),
    "Controller": _Shown("target", {"is_connected": ""}),
    "Port": _Shown("name", {"tag": "", "trunks": "", "interfaces": "Interface"}),
    "Interface": _Shown("name", {"type": "", "options": "", "error": "", "bfd_status": ""}),
}


# What is read of a database for its overview, with options of ovn_database_info
QUESTIONS: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "northbound": {
        "tables": ["Logical_Switch", "Logical_Router"],
        "columns": {
            "Logical_Switch": ["name", "external_ids", "ports"],
            "Logical_Switch_Port": ["name", "external_ids", "type", "parent_name", "tag", "addresses", "options"],
            "Logical_Router": ["name", "external_ids", "ports", "nat"],
            "Logical_Router_Port": ["name", "mac", "networks", "gateway_chassis", "options", "peer"],
            "Gateway_Chassis": ["name", "chassis_name", "priority"],
            "NAT": ["external_ip", "external_port_range", "logical_ip", "type"],
        },
        "expand": ["Logical_Switch.ports", "Logical_Router.ports.gateway_chassis", "Logical_Router.nat"],
    },
    "southbound": {
        "tables": ["Chassis", "Port_Binding"],
        "columns": {
            "Chassis": ["name", "hostname", "encaps"],
            "Encap": ["type", "ip", "options"],
            "Port_Binding": ["logical_port", "chassis"],
        },
        "expand": ["Chassis.encaps"],
    },
}


def show_lines(facts: t.Mapping[str, t.Any]) -> list[str]:
    """Return the overview of a result of ovn_database_info, whose references have to be expanded; one line if the database is empty."""
    database, tables = str(facts.get("database") or ""), facts.get("tables")
    if database not in _OVERVIEWS or not isinstance(tables, t.Mapping):
        raise InvalidInput(
            f"Cannot show {str(facts)[:100]}: it is no result of ovn_database_info with one of {', '.join(_OVERVIEWS)}."
        )
    try:
        return _OVERVIEWS[database](tables)
    except (KeyError, TypeError, AttributeError) as e:
        raise InvalidInput(
            f"Cannot show {database}: a table or column is missing, or a reference is not expanded ({e}). "
            "Read it with the options of playbooks/show.yml."
        ) from None


def _northbound(tables: Tables) -> list[str]:
    lines = [line for row in tables["Logical_Switch"] for line in _switch(row)]
    lines += [line for row in tables["Logical_Router"] for line in _router(row)]
    return lines or ["The Northbound database has neither logical switches nor logical routers."]


def _title(word: str, row: Row, alias: str) -> str:
    also = row["external_ids"].get(alias)
    return f"{word} {row['_uuid']} ({row['name']})" + (f" (aka {also})" if also else "")


def _switch(row: Row) -> t.Iterator[str]:
    yield _title("switch", row, "neutron:network_name")
    for port in row["ports"]:
        also = port["external_ids"].get("neutron:port_name")
        yield f"    port {port['name']}" + (f" (aka {also})" if also else "")
        if port["type"]:
            yield f"        type: {port['type']}"
        if port["parent_name"] is not None:
            yield f"        parent: {port['parent_name']}"
        if port["tag"] is not None:
            yield f"        tag: {port['tag']}"
        if port["addresses"] not in ([], ["router"]):
            yield f"        addresses: {_quoted(port['addresses'])}"
        if "router-port" in port["options"]:
            yield f"        router-port: {port['options']['router-port']}"


def _router(row: Row) -> t.Iterator[str]:
    yield _title("router", row, "neutron:router_name")
    for port in row["ports"]:
        yield f"    port {port['name']}"
        yield f'        mac: "{port["mac"]}"'
        if _MAC.fullmatch(port["mac"]):  # as ovn-nbctl 24.09 and newer prints it
            yield f'        ipv6-lla: "{_link_local(port["mac"])}"'
        if port["networks"]:
            yield f"        networks: {_quoted(port['networks'])}"
        if "route_table" in port["options"]:
            yield f"        route-table: {port['options']['route_table']}"
        if port["peer"] is not None:
            yield f"        peer: {port['peer']}"
        if port["gateway_chassis"]:
            by_rank = sorted(port["gateway_chassis"], key=lambda row: (row["priority"], row["name"]), reverse=True)
            yield f"        gateway chassis: [{' '.join(gateway['chassis_name'] for gateway in by_rank)}]"
    for nat in row["nat"]:
        yield f"    nat {nat['_uuid']}"
        yield f'        external ip: "{nat["external_ip"]}"'
        if nat["external_port_range"]:
            yield f'        external port(s): "{nat["external_port_range"]}"'
        yield f'        logical ip: "{nat["logical_ip"]}"'
        yield f'        type: "{nat["type"]}"'


def _link_local(mac: str) -> str:
    """Return the link-local IPv6 address of a MAC address (RFC 4291, appendix A)."""
    octets = bytes.fromhex(mac.replace(":", ""))
    interface = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + interface))


def _quoted(items: t.Iterable[str]) -> str:
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


def _southbound(tables: Tables) -> list[str]:
    bound: dict[str, list[Row]] = {}
    for binding in sorted(tables["Port_Binding"], key=lambda row: str(row["logical_port"])):
        bound.setdefault(binding["chassis"], []).append(binding)
    rows = ({**row, "bindings": bound.get(row["_uuid"], [])} for row in tables["Chassis"])
    lines = [line for row in rows for line in _tree("Chassis", row)]
    return lines or ["The Southbound database has no chassis."]


def _open_vswitch(tables: Tables) -> list[str]:
    lines = [line for row in tables["Open_vSwitch"] for line in _tree("Open_vSwitch", row)]
    return lines or ["The Open_vSwitch database is empty: it was never initialized."]


def _tree(table: str, row: Row, indent: str = "") -> t.Iterator[str]:
    """Yield a row, and below it its columns and the rows that it refers to."""
    shown = _SHOWN[table]
    yield indent + (f"{table} {_atom(row[shown.name])}" if shown.name else row["_uuid"])
    indent += "    "
    for column, target in shown.columns.items():
        value = row[column]
        if target:
            for below in value if isinstance(value, list) else [value] if value else []:
                yield from _tree(target, below, indent)
        elif value is not None and value is not False and value not in ("", [], {}):
            yield f"{indent}{column}: {_value(value)}"


def _value(value: t.Any) -> str:
    if isinstance(value, t.Mapping):
        return "{" + ", ".join(f"{_atom(key)}={_atom(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_atom, value))}]"
    return _atom(value)


def _atom(value: t.Any) -> str:
    """One value in the notation of ovs-vsctl(8): text in quotes unless it is a plain word."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    if _BARE.fullmatch(value) and not _UUID.fullmatch(value) and value not in ("true", "false"):
        return value
    return json.dumps(value, ensure_ascii=False)


_OVERVIEWS: dict[str, t.Callable[[Tables], list[str]]] = {
    DATABASE_NAMES["northbound"]: _northbound,
    DATABASE_NAMES["southbound"]: _southbound,
    "Open_vSwitch": _open_vswitch,
}
