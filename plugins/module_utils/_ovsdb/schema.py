# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows in the notation of RFC 7047 become plain facts of Python, by the types of their columns."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import BadAnswer, InvalidInput
from .rows import as_list, decode

# The schema of a database (RFC 7047 section 3.2): tables, columns and their types, and sentences about names that it lacks.

_PLURALS = {"integer": "integers", "real": "reals", "boolean": "booleans", "string": "strings", "uuid": "UUIDs"}


class BaseType(t.NamedTuple):
    """The type of one value. `kind` is integer, real, boolean, string or uuid; `ref_table` is the table that a UUID leads to."""

    kind: str
    ref_table: str = ""
    enum: tuple[t.Any, ...] = ()

    def describe(self, plural: bool = False) -> str:
        """Return the name of the type for a person, for example `reference to Port`."""
        if self.ref_table:
            return f"{'references' if plural else 'reference'} to {self.ref_table}"
        if self.kind == "uuid" and not plural:
            return "UUID"
        return _PLURALS[self.kind] if plural else self.kind


class ColumnType(t.NamedTuple):
    """The type of a column: a scalar, an optional scalar, a set, or with `value` a map. `maximum` None is unlimited."""

    key: BaseType
    value: BaseType | None = None
    minimum: int = 1
    maximum: int | None = 1

    @property
    def is_single(self) -> bool:
        """Whether it holds at most one value and is no map."""
        return self.value is None and self.maximum == 1

    @property
    def ref_table(self) -> str:
        """The table that the column refers to, with the values if it is a map; empty if it holds no references."""
        return (self.value or self.key).ref_table

    def describe(self) -> str:
        """Return the type for a person, for example `set of up to 5 strings`."""
        if self.value is not None:
            return f"map of {self.key.describe()} to {self.value.describe()}"
        if self.maximum == 1:
            return self.key.describe() if self.minimum else f"optional {self.key.describe()}"
        limit = "" if self.maximum is None else f"up to {self.maximum} "
        return f"set of {limit}{self.key.describe(plural=True)}"


_ROW_ID = ColumnType(BaseType("uuid"))


@dataclasses.dataclass(frozen=True)
class Schema:
    """Tables by name, each with the types of its columns; `_uuid` and `_version` are among them."""

    name: str
    version: str
    tables: t.Mapping[str, t.Mapping[str, ColumnType]]

    def columns(self, table: str) -> t.Mapping[str, ColumnType]:
        """Return the columns of a table; `InvalidInput` names tables with a similar name if there is no such table."""
        if table not in self.tables:
            raise InvalidInput(
                f'{self.name} has no table "{table}". {similar_names(table, self.tables)} '
                f"The schema of the server has version {self.version}."
            )
        return self.tables[table]

    def column(self, table: str, column: str) -> ColumnType:
        """Return the type of a column; `InvalidInput` names columns with a similar name if there is no such column."""
        columns = self.columns(table)
        if column not in columns:
            raise InvalidInput(
                f'Table {table} of {self.name} has no column "{column}". {similar_names(column, columns)} '
                f"The schema of the server has version {self.version}."
            )
        return columns[column]


def similar_names(name: str, known: t.Iterable[str]) -> str:
    """Return a sentence with up to three names that resemble `name`, or with all of them if none does."""
    import difflib  # only a wrong name needs it

    by_lower = {other.lower(): other for other in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    if found:
        return f"Did you mean {' or '.join(by_lower[match] for match in found)}?"
    return f"There are {', '.join(sorted(by_lower.values()))}."


def parse_schema(answer: t.Any) -> Schema:
    """Return the schema in the answer to `get_schema`; anything else is `BadAnswer`."""
    try:
        tables = {
            table: {
                "_uuid": _ROW_ID,
                "_version": _ROW_ID,
                **{column: _column_type(described["type"]) for column, described in content["columns"].items()},
            }
            for table, content in answer["tables"].items()
        }
        return Schema(answer["name"], answer.get("version", ""), tables)
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        raise BadAnswer(f"The server answered get_schema with {str(answer)[:200]}: this is no schema.") from e


def _column_type(described: t.Any) -> ColumnType:
    if isinstance(described, str):
        return ColumnType(_base_type(described))
    maximum = described.get("max", 1)
    return ColumnType(
        key=_base_type(described["key"]),
        value=_base_type(described["value"]) if "value" in described else None,
        minimum=int(described.get("min", 1)),
        maximum=None if maximum == "unlimited" else int(maximum),
    )


def _base_type(described: t.Any) -> BaseType:
    if isinstance(described, str):
        described = {"type": described}
    if described["type"] not in _PLURALS:
        raise ValueError(described["type"])
    enum = described.get("enum", ())
    if isinstance(enum, list):  # ["set", [...]]
        enum = tuple(enum[1])
    elif enum != ():
        enum = (enum,)
    return BaseType(described["type"], described.get("refTable", ""), enum)


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
