# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The test network in the Northbound database: one logical switch with a port per hypervisor. Requests and their meaning; no socket here.

Every row carries our mark. Rows without it are never touched, whatever their names are.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._databases import DATABASE_NAMES
from .._errors import Refused
from .._ovsdb.rows import decode

DATABASE = DATABASE_NAMES["northbound"]
MARK = "c5c3-ovn-test-network"

Operation = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class SwitchPort:
    name: str
    addresses: str  # "MAC IP", as in Logical_Switch_Port.addresses


@dataclasses.dataclass(frozen=True)
class ObservedNetwork:
    """Rows by name: uuid, for ports also the addresses. `foreign` are the wanted names that somebody else's rows have."""

    switch: str | None = None
    ports: t.Mapping[str, tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=dict)
    foreign: tuple[str, ...] = ()


def _marked(name: str) -> list[t.Any]:
    return ["external_ids", "includes", ["map", [[MARK, name]]]]


def _mark(name: str) -> list[t.Any]:
    return ["map", [[MARK, name]]]


def queries(name: str, ports: t.Sequence[SwitchPort]) -> list[Operation]:
    """Our rows, and the rows that have a wanted name."""
    return [
        {"op": "select", "table": "Logical_Switch", "where": [_marked(name)], "columns": ["_uuid"]},
        {
            "op": "select",
            "table": "Logical_Switch_Port",
            "where": [_marked(name)],
            "columns": ["_uuid", "name", "addresses"],
        },
        {
            "op": "select",
            "table": "Logical_Switch",
            "where": [["name", "==", name]],
            "columns": ["_uuid", "external_ids"],
        },
        *(
            {
                "op": "select",
                "table": "Logical_Switch_Port",
                "where": [["name", "==", port.name]],
                "columns": ["name", "external_ids"],
            }
            for port in ports
        ),
    ]


def actual_of(name: str, answers: t.Sequence[dict[str, t.Any]]) -> ObservedNetwork:
    switches, ports, named, *others = (
        [{k: decode(v) for k, v in row.items()} for row in answer["rows"]] for answer in answers
    )
    if len(switches) > 1:
        raise Refused(
            f"There are {len(switches)} logical switches of the test network {name}. Remove it with state: absent, then run again."
        )
    foreign = [name for row in named if row["external_ids"].get(MARK) != name]
    foreign += [row["name"] for rows in others for row in rows if row["external_ids"].get(MARK) != name]
    return ObservedNetwork(
        switch=switches[0]["_uuid"] if switches else None,
        ports={row["name"]: (row["_uuid"], _texts(row["addresses"])) for row in ports},
        foreign=tuple(foreign),
    )


def _texts(value: t.Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def operations(name: str, ports: t.Sequence[SwitchPort], actual: ObservedNetwork) -> tuple[list[Operation], list[str]]:
    """What to write so that the switch and all `ports` exist, and the same in words. Ports of other hypervisors stay."""
    if actual.foreign:
        raise Refused(
            f"The Northbound database already has {', '.join(sorted(set(actual.foreign)))}, which is not part of a test network of ours. Choose another name."
        )
    todo: list[Operation] = []
    words: list[str] = []
    new: list[list[str]] = []
    for number, port in enumerate(ports):
        if port.name not in actual.ports:
            row = {"name": port.name, "addresses": port.addresses, "external_ids": _mark(name)}
            todo.append({"op": "insert", "table": "Logical_Switch_Port", "row": row, "uuid-name": f"port{number}"})
            new.append(["named-uuid", f"port{number}"])
            words.append(f"port {port.name} ({port.addresses})")
            continue
        uuid, addresses = actual.ports[port.name]
        if addresses != (port.addresses,):
            where = [["_uuid", "==", ["uuid", uuid]]]
            todo.append(
                {"op": "update", "table": "Logical_Switch_Port", "where": where, "row": {"addresses": port.addresses}}
            )
            words.append(f"port {port.name} ({port.addresses})")
    if actual.switch is None:
        # Names of logical switches are not unique: two runs at once must not make two.
        nobody = {
            "op": "wait",
            "timeout": 0,
            "table": "Logical_Switch",
            "where": [_marked(name)],
            "columns": ["name"],
            "until": "==",
            "rows": [],
        }
        row = {"name": name, "external_ids": _mark(name), "ports": ["set", new]}
        return [nobody, *todo, {"op": "insert", "table": "Logical_Switch", "row": row}], [f"switch {name}", *words]
    if new:
        where = [["_uuid", "==", ["uuid", actual.switch]]]
        todo.append(
            {
                "op": "mutate",
                "table": "Logical_Switch",
                "where": where,
                "mutations": [["ports", "insert", ["set", new]]],
            }
        )
    return todo, words


def removal(name: str, actual: ObservedNetwork) -> tuple[list[Operation], list[str]]:
    """Our switch goes; the ports go with it, because nothing else holds them."""
    if actual.switch is None:
        return [], []
    return [{"op": "delete", "table": "Logical_Switch", "where": [_marked(name)]}], [
        f"switch {name}",
        *(f"port {port}" for port in sorted(actual.ports)),
    ]
