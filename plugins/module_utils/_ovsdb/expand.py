# SPDX-License-Identifier: GPL-3.0-or-later
"""References that become the rows that they lead to: which columns, and which rows are needed for it."""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .schema import Facts, Schema, similar_names, sort_rows

Tree = dict[str, "Tree"]  # column to the columns that are expanded in the rows that it leads to


def parse_expand(paths: t.Sequence[str], tables: t.Sequence[str], schema: Schema) -> dict[str, Tree]:
    """Return what is expanded in each of `tables`.

    A path is `Table.column`, or `column` in each of `tables` that has it; more columns may follow, separated by dots. A path that leads
    nowhere, or through a column without references, is `InvalidInput`.
    """
    trees: dict[str, Tree] = {table: {} for table in tables}
    for path in paths:
        first, *rest = path.split(".")
        if first in trees and rest:
            _add(trees[first], first, rest, path, schema)
            continue
        if first in trees:
            references = ", ".join(_references(first, schema)) or "none"
            raise InvalidInput(
                f'expand: "{path}" is a table: name a column of it. Columns of {first} with references: {references}.'
            )
        having = [table for table in tables if first in schema.columns(table)]
        if not having:
            known = [column for table in tables for column in [table, *_references(table, schema)]]
            raise InvalidInput(
                f'expand: "{path}" begins with neither a table of tables nor a column of it. {similar_names(first, known)}'
            )
        for table in having:
            _add(trees[table], table, [first, *rest], path, schema)
    return trees


def _add(tree: Tree, table: str, columns: t.Sequence[str], path: str, schema: Schema) -> None:
    for column in columns:
        kind = schema.column(table, column)
        if not kind.ref_table:
            references = ", ".join(_references(table, schema)) or "none"
            raise InvalidInput(
                f'expand: "{path}" needs references, but {table}.{column} is of type {kind.describe()}. '
                f"Columns of {table} with references: {references}."
            )
        tree, table = tree.setdefault(column, {}), kind.ref_table


def _references(table: str, schema: Schema) -> list[str]:
    return sorted(column for column, kind in schema.columns(table).items() if kind.ref_table)


def expanded_columns(trees: t.Mapping[str, Tree], schema: Schema) -> dict[str, set[str]]:
    """Return the tables that are needed, each with the columns that are followed in it."""
    needed: dict[str, set[str]] = {}
    todo = list(trees.items())
    for table, tree in todo:
        needed.setdefault(table, set()).update(tree)
        todo += [(schema.column(table, column).ref_table, below) for column, below in tree.items()]
    return needed


class Expander:
    """Puts rows in the place of references. `rows` holds those that were read, by table and UUID; `missing` collects those that were not."""

    def __init__(self, rows: t.Mapping[str, t.Mapping[str, Facts]], schema: Schema) -> None:
        self._rows, self._schema = rows, schema
        self.missing: dict[str, set[str]] = {}

    def expand(self, table: str, row: Facts, tree: Tree, above: frozenset[str] = frozenset()) -> Facts:
        """Return a copy of the row. A reference to the row itself or to one `above` it stays a UUID, as does one to a missing row.

        Rows of a set are sorted by name and UUID, what stays a UUID is behind them.
        """
        above |= {row["_uuid"]}
        expanded = dict(row)
        for column, below in tree.items():
            target = self._schema.column(table, column).ref_table
            expanded[column] = self._follow(row[column], target, below, above)
        return expanded

    def _follow(self, value: t.Any, target: str, below: Tree, above: frozenset[str]) -> t.Any:
        if isinstance(value, dict):
            return {key: self._follow(item, target, below, above) for key, item in value.items()}
        if isinstance(value, list):
            items = [self._follow(item, target, below, above) for item in value]
            rows = sort_rows(item for item in items if isinstance(item, dict))
            return [*rows, *(item for item in items if not isinstance(item, dict))]
        if value is None or value in above:
            return value
        row = self._rows.get(target, {}).get(value)
        if row is None:
            self.missing.setdefault(target, set()).add(value)
            return value
        return self.expand(target, row, below, above)
