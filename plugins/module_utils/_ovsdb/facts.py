# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows in the notation of RFC 7047 become plain facts of Python, by the types of their columns."""

from __future__ import annotations

import typing as t

from .rows import as_list, decode
from .schema import BaseType, ColumnType

HIDDEN = "********"
# Values of maps that are secrets in clear text: the pre-shared key of an IPsec tunnel (ovs-vswitchd.conf.db(5)).
_SECRETS = {("Interface", "options"): {"psk"}}
_PRIVATE_KEY = "PRIVATE KEY-----"  # as the first line of a key in PEM ends

Facts = dict[str, t.Any]


def row_facts(table: str, row: t.Mapping[str, t.Any], types: t.Mapping[str, ColumnType]) -> Facts:
    """Return the columns of one row by name, in the order of the names; secrets are `HIDDEN`."""
    return {column: _hide(table, column, column_facts(row[column], types[column])) for column in sorted(row)}


def column_facts(value: t.Any, kind: ColumnType) -> t.Any:
    """Return a value as Python has it: a map is a dictionary, a set a sorted list, what is optional a value or None, a UUID text.

    Keys of dictionaries are text, for JSON has no others.
    """
    decoded = decode(value)
    if kind.value is not None:
        pairs = [(_atom(key, kind.key), _atom(item, kind.value)) for key, item in decoded.items()]
        return {str(key): item for key, item in sorted(pairs, key=lambda pair: pair[0])}
    atoms = [_atom(item, kind.key) for item in as_list(decoded)]
    if kind.is_single:
        return atoms[0] if atoms else None
    return sorted(atoms)


def sort_rows(rows: t.Iterable[Facts]) -> list[Facts]:
    """Return the rows by their names, where they have one, and by their UUIDs."""
    return sorted(rows, key=lambda row: (str(row.get("name") or ""), row["_uuid"]))


def _atom(value: t.Any, base: BaseType) -> t.Any:
    return float(value) if base.kind == "real" else value


def _hide(table: str, column: str, value: t.Any) -> t.Any:
    if isinstance(value, dict):
        secrets = _SECRETS.get((table, column), set())
        return {key: HIDDEN if key in secrets or _is_private_key(item) else item for key, item in value.items()}
    if isinstance(value, list):
        return [HIDDEN if _is_private_key(item) else item for item in value]
    return HIDDEN if _is_private_key(value) else value


def _is_private_key(value: t.Any) -> bool:
    return isinstance(value, str) and _PRIVATE_KEY in value
