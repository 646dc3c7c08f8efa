# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as OVSDB operations (RFC 7047 section 5.2): all of one transaction."""

from __future__ import annotations

import typing as t

from .._ovsdb.rows import Operation, encode_map, expect
from . import ownership
from .bridges import BridgePlan
from .plan import SSL_COLUMNS, ChassisPlan, Ssl

ROOT = "Open_vSwitch"


class Rows(t.NamedTuple):
    """The rows that the plan changes: uuids, and the encoded columns that the plan was made from."""

    root: str
    maps: t.Mapping[str, t.Any]  # external_ids, other_config
    bridges: t.Mapping[str, str]  # name: uuid
    ports: t.Mapping[str, str]
    bridge_ports: t.Mapping[str, t.Any]  # name: encoded column `ports`, for bridges that may be removed
    ssl: str | None


def operations(plan: ChassisPlan, rows: Rows) -> list[Operation]:
    """Return the transaction of a plan that is not empty; its last answer is the row with the new `next_cfg`."""
    expected: list[Operation] = []
    inserted: list[Operation] = []
    mutations: list[list[t.Any]] = []
    for column, changes in (("external_ids", plan.external_ids), ("other_config", plan.other_config)):
        if changes:
            expected.append(expect(ROOT, rows.root, {column: rows.maps[column]}))
            mutations += _map_mutations(column, changes)
    mutations += _bridges(plan.bridges, rows, expected, inserted)
    ssl = _ssl(plan.ssl, rows, inserted)
    # ovs-vsctl does the same: ovs-vswitchd copies the number to cur_cfg once the configuration is applied.
    mutations.append(["next_cfg", "+=", 1])
    root = _by_uuid(rows.root)
    return [
        *expected,
        *inserted,
        *([{"op": "update", "table": ROOT, "where": root, "row": {"ssl": ssl}}] if ssl else []),
        {"op": "mutate", "table": ROOT, "where": root, "mutations": mutations},
        {"op": "comment", "comment": "c5c3.ovn.ovn_chassis"},
        {"op": "select", "table": ROOT, "where": root, "columns": ["next_cfg"]},
    ]


def _by_uuid(uuid: str) -> list[t.Any]:
    return [["_uuid", "==", ["uuid", uuid]]]


def _map_mutations(column: str, changes: t.Mapping[str, str | None]) -> list[list[t.Any]]:
    """Return the mutations of a map. Inserting a key that exists changes nothing, so each key is deleted first."""
    new = {key: value for key, value in changes.items() if value is not None}
    mutations: list[list[t.Any]] = [[column, "delete", ["set", sorted(changes)]]]
    return [*mutations, [column, "insert", encode_map(new)]] if new else mutations


def _bridges(
    plan: BridgePlan, rows: Rows, expected: list[Operation], inserted: list[Operation]
) -> t.Iterator[list[t.Any]]:
    """Yield the mutations of the root row. Names of bridges, ports and interfaces are unique in the schema: nothing comes twice."""
    for name, kind in plan.new_bridges.items():
        ports = [_new_port(inserted, name, "internal")]
        ports += [_new_port(inserted, port) for port, place in plan.new_ports.items() if place == name]
        row = {"name": name, "datapath_type": kind, "ports": ["set", ports], "external_ids": encode_map(ownership.MARK)}
        yield ["bridges", "insert", _insert(inserted, "Bridge", row)]
    for name, kind in plan.datapath_types.items():
        inserted.append(
            {"op": "update", "table": "Bridge", "where": _by_uuid(rows.bridges[name]), "row": {"datapath_type": kind}}
        )
    for port, name in plan.new_ports.items():
        if name not in plan.new_bridges:
            inserted.append(_ports_mutation(rows.bridges[name], "insert", _new_port(inserted, port)))
    for port, name in plan.old_ports.items():
        inserted.append(_ports_mutation(rows.bridges[name], "delete", ["uuid", rows.ports[port]]))
    for name in plan.old_bridges:
        expected.append(expect("Bridge", rows.bridges[name], {"ports": rows.bridge_ports[name]}))
        yield ["bridges", "delete", ["uuid", rows.bridges[name]]]


def _ports_mutation(bridge: str, mutator: str, port: list[str]) -> Operation:
    return {"op": "mutate", "table": "Bridge", "where": _by_uuid(bridge), "mutations": [["ports", mutator, port]]}


def _new_port(inserted: list[Operation], name: str, kind: str = "") -> list[str]:
    interface = _insert(inserted, "Interface", {"name": name, "type": kind})
    # A bridge's own port comes and goes with the bridge, so the bridge carries the mark.
    mark = {} if kind == "internal" else ownership.MARK
    return _insert(inserted, "Port", {"name": name, "interfaces": interface, "external_ids": encode_map(mark)})


def _insert(inserted: list[Operation], table: str, row: dict[str, t.Any]) -> list[str]:
    name = f"row{len(inserted)}"
    inserted.append({"op": "insert", "table": table, "uuid-name": name, "row": row})
    return ["named-uuid", name]


def _ssl(ssl: Ssl | t.Literal["absent"] | None, rows: Rows, inserted: list[Operation]) -> list[t.Any] | None:
    """Return the new value of the root row's column, None to keep it."""
    if ssl is None:
        return None
    if ssl == "absent":
        return ["set", []]
    paths = {column: getattr(ssl, option) for option, column in SSL_COLUMNS.items()}
    if rows.ssl is None:
        mark = encode_map(ownership.MARK)
        return _insert(inserted, "SSL", {**paths, "bootstrap_ca_cert": False, "external_ids": mark})
    where = _by_uuid(rows.ssl)
    inserted.append({"op": "update", "table": "SSL", "where": where, "row": paths})
    inserted.append(
        {"op": "mutate", "table": "SSL", "where": where, "mutations": _map_mutations("external_ids", ownership.MARK)}
    )
    return None
