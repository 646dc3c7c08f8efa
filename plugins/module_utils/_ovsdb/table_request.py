# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user wants to read of a database, checked against its schema."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .expand import Tree, expanded_columns, parse_expand
from .schema import Schema
from .where import Clause, parse_where


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
