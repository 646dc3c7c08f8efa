# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user wants to read of a database, checked against its schema."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from .._base.errors import InvalidInput
from .expand import Tree, expanded_columns, parse_expand
from .schema import BaseType, ColumnType, Schema

# Conditions of a user become conditions of RFC 7047 section 5.1, checked against the schema.

FUNCTIONS = ("==", "!=", "<", "<=", ">", ">=", "includes", "excludes")
_ORDERED = ("<", "<=", ">", ">=")
_KEYS = {"table", "column", "op", "value"}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)

Clause = list[t.Any]  # [column, function, value]


def parse_where(where: t.Any, tables: t.Sequence[str], schema: Schema) -> dict[str, list[Clause]]:
    """Return the clauses of each table that has some; a row has to meet all of them.

    `where` is a dictionary of columns and the values that they equal, or a list of {table, column, op, value}. `table` may be left out if
    `tables` has one item, `op` is `==` by default. Whatever cannot work is `InvalidInput`.
    """
    if isinstance(where, str):  # JSON, as templates and the command line give it
        try:
            where = json.loads(where)
        except ValueError:
            raise InvalidInput(
                f"where is {where!r}, which is no JSON. Give a dictionary of columns and values, or a list of conditions."
            ) from None
    if isinstance(where, t.Mapping):
        where = [{"column": column, "value": value} for column, value in where.items()]
    if not isinstance(where, (list, tuple)):
        raise InvalidInput(f"where is {where!r}. Give a dictionary of columns and values, or a list of conditions.")
    clauses: dict[str, list[Clause]] = {}
    for condition in where:
        table = _table_of(condition, tables)
        clauses.setdefault(table, []).append(_clause(condition, table, schema))
    return clauses


def _table_of(condition: t.Any, tables: t.Sequence[str]) -> str:
    if not isinstance(condition, t.Mapping) or not {"column", "value"} <= set(condition) <= _KEYS:
        raise InvalidInput(
            f"where has the condition {condition!r}. Give each one column and value, and if needed table and op."
        )
    table = condition.get("table")
    if table is None and len(tables) == 1:
        return tables[0]
    if table not in tables:
        named = f"the table {table!r}" if table else "no table"
        raise InvalidInput(
            f"where has a condition on {condition['column']} with {named}. Name one of tables: {', '.join(tables)}."
        )
    return str(table)


def _clause(condition: t.Mapping[str, t.Any], table: str, schema: Schema) -> Clause:
    column, function = str(condition["column"]), condition.get("op", "==")
    kind = schema.column(table, column)
    about = f"where: {table}.{column} is of type {kind.describe()}"
    if function not in FUNCTIONS:
        raise InvalidInput(f'where: "{function}" on {table}.{column} is no operator. Use {", ".join(FUNCTIONS)}.')
    if function in _ORDERED and not (kind.is_single and kind.key.kind in ("integer", "real")):
        raise InvalidInput(f'{about}, but "{function}" compares one integer or real. Use ==, !=, includes or excludes.')
    return [column, function, encode(condition["value"], kind, function, about)]


def encode(value: t.Any, kind: ColumnType, function: str, about: str) -> t.Any:
    """Return a value in the notation of RFC 7047; `about` begins the message of `InvalidInput`."""
    if kind.value is not None:
        if not isinstance(value, t.Mapping):
            raise InvalidInput(f"{about}, {value!r} is none. Give a dictionary.")
        pairs = [[_atom(key, kind.key, about), _atom(item, kind.value, about)] for key, item in value.items()]
        return ["map", pairs]
    if isinstance(value, t.Mapping):
        raise InvalidInput(f"{about}, a dictionary is none.")
    values = list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
    if kind.is_single and kind.minimum == 1:
        if len(values) != 1 or isinstance(value, (list, tuple)):
            raise InvalidInput(f"{about}, {value!r} is none.")
        return _atom(values[0], kind.key, about)
    if function not in ("includes", "excludes") and kind.maximum is not None and len(values) > kind.maximum:
        raise InvalidInput(f"{about}, {len(values)} values are too many.")
    return ["set", [_atom(item, kind.key, about) for item in values]]


def _atom(value: t.Any, base: BaseType, about: str) -> t.Any:
    """Return one value. Numbers and booleans may be text, as templates often return them."""
    atom = _READERS[base.kind](value)
    if atom is None:
        hint = " Put it in quotes." if base.kind == "string" and isinstance(value, (int, float)) else ""
        raise InvalidInput(f"{about}, {value!r} is no {base.describe() if base.kind != 'uuid' else 'UUID'}.{hint}")
    if base.enum and atom not in base.enum:
        raise InvalidInput(f"{about}, {value!r} is none of its values {', '.join(map(str, sorted(base.enum)))}.")
    return atom


def _integer(value: t.Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    return int(value) if re.fullmatch(r"[+-]?\d+", str(value).strip()) else None


def _real(value: t.Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _boolean(value: t.Any) -> bool | None:
    return {"true": True, "false": False}.get(str(value).lower()) if isinstance(value, (bool, str)) else None


def _string(value: t.Any) -> str | None:
    return str(value) if isinstance(value, str) else None


def _uuid(value: t.Any) -> list[str] | None:
    return ["uuid", value.lower()] if isinstance(value, str) and _UUID.fullmatch(value) else None


_READERS: dict[str, t.Callable[[t.Any], t.Any]] = {
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "string": _string,
    "uuid": _uuid,
}


@dataclasses.dataclass(frozen=True)
class TableRequest:
    """`columns` has the tables that `expand` leads to as well, each with `_uuid`; `where` and `expand` have what concerns `tables`."""

    tables: tuple[str, ...]
    columns: t.Mapping[str, t.Sequence[str]]
    where: t.Mapping[str, t.Sequence[Clause]]
    expand: t.Mapping[str, Tree]


def parse_request(options: t.Mapping[str, t.Any], schema: Schema) -> TableRequest:
    """Return the request of the options `tables`, `columns`, `where` and `expand`; whatever the schema lacks is `InvalidInput`."""
    tables = tuple(dict.fromkeys(options["tables"]))
    if not tables:
        raise InvalidInput(f"tables is empty. Name at least one table of {schema.name}.")
    for table in tables:
        schema.columns(table)
    expand = parse_expand(options["expand"] or (), tables, schema)
    followed = expanded_columns(expand, schema)
    return TableRequest(
        tables=tables,
        columns=_columns(options["columns"], tables, followed, schema),
        where=parse_where(options["where"] or {}, tables, schema),
        expand=expand,
    )


def _columns(
    given: t.Any, tables: t.Sequence[str], followed: t.Mapping[str, set[str]], schema: Schema
) -> dict[str, list[str]]:
    """Return the columns to read of each table: those that are named, or all; `_uuid` and what is followed always."""
    named = _named_columns(given, tables)
    for table, columns in named.items():
        if table not in followed:
            schema.columns(table)
            raise InvalidInput(f"columns has {table}, which is neither in tables nor reached by expand.")
        for column in columns:
            schema.column(table, column)
    return {
        table: sorted({"_uuid", *expanded, *named.get(table, set(schema.columns(table)) - {"_version"})})
        for table, expanded in followed.items()
    }


def _named_columns(given: t.Any, tables: t.Sequence[str]) -> dict[str, list[str]]:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        given = given.split(",")
    if isinstance(given, (list, tuple)):
        if len(tables) > 1:
            raise InvalidInput(
                f"columns is a list, but tables has {len(tables)} items. Give a dictionary of tables and lists of columns."
            )
        given = {tables[0]: given}
    if isinstance(given, t.Mapping):
        lists = {
            str(table): columns.split(",") if isinstance(columns, str) else columns for table, columns in given.items()
        }
        if all(isinstance(columns, (list, tuple)) for columns in lists.values()):
            return {table: [str(column).strip() for column in columns] for table, columns in lists.items()}
    raise InvalidInput("columns is neither a list of columns nor a dictionary of tables and lists of columns.")
