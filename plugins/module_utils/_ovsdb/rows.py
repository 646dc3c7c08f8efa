# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows without a replica: a few selects and one guarded transaction over one connection (RFC 7047 section 5.2).

For the handful of rows that are settings of a database. `session.py` is for tables that grow and for waiting on events.
"""

from __future__ import annotations

import typing as t

from .._base.errors import BadAnswer, Conflict, Refused

Operation = dict[str, t.Any]


class Caller(t.Protocol):
    """What sends a request to a database server: a connection of wire.py, or a command in a pod."""

    @property
    def name(self) -> str: ...

    def call(self, method: str, params: list[t.Any]) -> t.Any: ...


def decode(value: t.Any) -> t.Any:
    """Return a column's value (RFC 7047 section 5.1) in Python: sets are lists, maps are dicts, UUIDs are strings, a set of one may be a bare value."""
    if isinstance(value, list) and len(value) == 2:
        kind, content = value
        if kind == "set":
            return [decode(item) for item in content]
        if kind == "map":
            return {decode(key): decode(item) for key, item in content}
        if kind in ("uuid", "named-uuid"):
            return content
    return value


def as_list(value: t.Any) -> list[t.Any]:
    """Return a decoded set as a list; a bare value is a set of one."""
    return value if isinstance(value, list) else [value]


def as_optional(value: t.Any) -> t.Any:
    """Return the value of a decoded set of at most one, None if it is empty."""
    return next(iter(as_list(value)), None)


def encode_map(value: t.Mapping[str, str]) -> list[t.Any]:
    return ["map", [[key, item] for key, item in sorted(value.items())]]


def encode_optional(value: t.Any) -> t.Any:
    return ["set", []] if value is None else value


def expect(table: str, uuid: str, columns: t.Mapping[str, t.Any]) -> Operation:
    """Return an operation that aborts the transaction unless the row still has these (encoded) values."""
    return {
        "op": "wait",
        "timeout": 0,
        "table": table,
        "where": [["_uuid", "==", ["uuid", uuid]]],
        "columns": sorted(columns),
        "until": "==",
        "rows": [dict(columns)],
    }


def expect_empty(table: str) -> Operation:
    """Return an operation that aborts the transaction unless the table has no row."""
    return {"op": "wait", "timeout": 0, "table": table, "where": [], "columns": ["_uuid"], "until": "==", "rows": []}


def select(
    connection: Caller, database: str, tables: t.Mapping[str, t.Sequence[str]]
) -> dict[str, list[dict[str, t.Any]]]:
    """Return all rows of `tables` with the named columns, decoded, by table. One request, so one state of the database."""
    operations = [
        {"op": "select", "table": table, "where": [], "columns": list(columns)} for table, columns in tables.items()
    ]
    answers = transact(connection, database, operations)
    return {
        table: [{column: decode(value) for column, value in row.items()} for row in answer["rows"]]
        for table, answer in zip(tables, answers)
    }


def write(connection: Caller, database: str, operations: t.Sequence[Operation], comment: str) -> None:
    """Commit all operations or none; `Conflict` if an expectation failed. After `TimedOut` they may or may not be committed."""
    transact(
        connection, database, [*operations, {"op": "comment", "comment": comment}, {"op": "commit", "durable": True}]
    )


def transact(connection: Caller, database: str, operations: t.Sequence[Operation]) -> list[dict[str, t.Any]]:
    """Return one answer per operation of one transaction. The first error is raised: `Conflict` if another client was faster, else `Refused`."""
    answers = connection.call("transact", [database, *operations])
    if not isinstance(answers, list):
        raise BadAnswer(f"{connection.name} answered a transaction with {str(answers)[:200]}: it is no OVSDB server.")
    for answer in answers:
        if answer and answer.get("error"):
            message = f"{answer['error']}: {answer.get('details', '')}".rstrip(": ")
            # "transaction causes …" is a duplicate index value or a second row of a table of one: another client was faster.
            if answer["error"] == "timed out" or answer.get("details", "").lower().startswith("transaction causes"):
                raise Conflict(
                    f"{connection.name}: another client changed {database} at the same time ({message}). Nothing was written."
                )
            raise Refused(f"{connection.name} refused a request to {database}: {message}.", error=answer["error"])
    return t.cast("list[dict[str, t.Any]]", answers)
