# SPDX-License-Identifier: GPL-3.0-or-later
"""What members hold: a digest of each table, together with the log index at which it was read. Members at one index hold the same, unless one of
them came back with an old file (R25): then they differ although every status looks healthy.

Each member reads its own tables one after the other, and the digest counts only if the log index stayed the same from before the first to after
the last. `compare` is pure, so that the answers of several hosts can be compared where they come together.
"""

from __future__ import annotations

import hashlib
import json
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError, TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.select import Row, TableReader
from .._ovsdb.server import read_databases
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import ask_all

# Servers fill these in themselves. A cluster has no ephemeral columns, so its schema does not show it.
_OF_THE_SERVER = {("Connection", "is_connected"), ("Connection", "status")}
# An index that is this old, in seconds, is also that of the rows: the leader may show it a moment before them.
_SETTLE_SECONDS = 0.2
ATTEMPTS = 4
_MODULUS = 1 << 128
_encode = json.JSONEncoder(separators=(",", ":")).encode  # the same octets with every version of Python


class Contents(t.NamedTuple):
    """`tables` maps each table to its digest at the log index `log_index`. `problem`: why there is none."""

    log_index: int | None = None
    tables: t.Mapping[str, str] = {}
    problem: str = ""

    @classmethod
    def from_dict(cls, data: t.Any) -> Contents:
        contents = cls(**data)
        if not (isinstance(contents.tables, dict) and isinstance(contents.problem, str)):
            raise TypeError("contents are a dictionary of tables and a text")
        if contents.log_index is not None and not isinstance(contents.log_index, int):
            raise TypeError("an index is a number")
        return contents


class Difference(t.NamedTuple):
    """Members at one log index that differ in `tables`; the first group has the leader or is the largest."""

    log_index: int
    tables: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


class Comparison(t.NamedTuple):
    """`apart` maps members whose digests are of another index than those of most members to that index; `unread` maps the others to the cause."""

    differences: tuple[Difference, ...] = ()
    apart: t.Mapping[str, int] = {}
    unread: t.Mapping[str, str] = {}


def compare(contents: t.Mapping[str, Contents], leader: str | None = None) -> Comparison:
    """Compare members by their digests. Only those at one log index are compared."""
    unread = {member: c.problem or "it was not read" for member, c in contents.items() if c.log_index is None}
    by_index: dict[int, list[str]] = {}
    for member, c in contents.items():
        if c.log_index is not None:
            by_index.setdefault(c.log_index, []).append(member)
    differences = []
    for index, members in sorted(by_index.items()):
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for member in members:
            groups.setdefault(tuple(sorted(contents[member].tables.items())), []).append(member)
        if len(groups) > 1:
            ordered = sorted(groups.values(), key=lambda group: (leader not in group, -len(group)))
            names = sorted({name for group in ordered for name in contents[group[0]].tables})
            tables = [name for name in names if len({contents[g[0]].tables.get(name) for g in ordered}) > 1]
            differences.append(Difference(index, tuple(tables), tuple(map(tuple, ordered))))
    common = max(by_index, key=lambda index: (len(by_index[index]), index), default=0)
    apart = {member: index for index, members in by_index.items() if index != common for member in members}
    return Comparison(tuple(differences), apart, unread)


def digest(rows: t.Iterable[Row]) -> str:
    """Return one digest of all rows of a table; the order of rows, columns, sets and maps does not matter."""
    total = count = 0
    for row in rows:
        text = _encode([[column, _sorted(row[column])] for column in sorted(row)])
        total += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
        count += 1
    return f"{total % _MODULUS:032x}/{count}"


def _sorted(value: t.Any) -> t.Any:
    """Return a value (RFC 7047) in the one form that does not depend on who wrote it."""
    if not isinstance(value, list) or len(value) != 2 or value[0] not in ("set", "map"):
        return value
    if len(value[1]) == 1 and value[0] == "set":
        return value[1][0]  # a set of one may be written as its only element
    return [value[0], sorted(value[1])]  # all elements have one type, pairs differ in their keys


def columns_of(schema: t.Mapping[str, t.Any]) -> dict[str, list[str]]:
    """Return the columns of each table of a schema (RFC 7047) that all members have to hold."""
    return {
        table: [
            "_uuid",
            *sorted(
                column
                for column, described in definition["columns"].items()
                if not described.get("ephemeral") and (table, column) not in _OF_THE_SERVER
            ),
        ]
        for table, definition in sorted(schema["tables"].items())
    }


def read_contents(
    endpoint: Endpoint, database: str, tls: TlsFiles, seconds: float, most_rows: int | None = None
) -> Contents:
    """Return the digests of one member. Every failure is the `problem`, and so is a table with more than `most_rows` rows."""
    deadline = Deadline(seconds)
    try:
        connection = TableReader(endpoint, tls, deadline)
        with connection:
            for _attempt in range(ATTEMPTS):
                found = _read_once(connection, database, most_rows)
                if found is not None:
                    return found
        return Contents(problem=f"it was written to in each of {ATTEMPTS} attempts to read it")
    except TimedOut:
        return Contents(problem=f"it was not read within {seconds:g} s")
    except OvnError as e:
        return Contents(problem=str(e).rstrip("."))


def _read_once(connection: TableReader, database: str, most_rows: int | None) -> Contents | None:
    """Return the digests, None if the log index moved meanwhile."""
    index = _index(connection, database)
    time.sleep(_SETTLE_SECONDS)
    tables: dict[str, str] = {}
    schema = connection.call("get_schema", [database])
    for table, columns in columns_of(schema).items():
        if index is None or _index(connection, database) != index:
            return None
        if most_rows is not None:
            rows = sum(1 for _row in connection.rows(database, table, ["_uuid"]))
            if rows > most_rows:
                return Contents(problem=f"its table {table} has {rows} rows, too many to be read beside its clients")
        tables[table] = digest(connection.rows(database, table, columns))
    return Contents(index, tables) if _index(connection, database) == index else None


def _index(connection: TableReader, database: str) -> int | None:
    row = read_databases(connection).get(database)
    return row.index if row is not None and row.connected else None


def read_all(
    places: t.Mapping[str, Endpoint], database: str, tls: TlsFiles, seconds: float, most_rows: int | None = None
) -> dict[str, Contents]:
    """Return the digests of several members, read at the same time; again, a few times, while they are at different log indexes."""
    deadline = Deadline(seconds)
    found: dict[str, Contents] = {}
    for _attempt in range(ATTEMPTS):
        left = max(0.1, deadline.left())

        def read(member: str, limit: float = left) -> Contents:
            return read_contents(places[member], database, tls, limit, most_rows)

        outcomes = ask_all(list(places), read, Deadline(left))
        found = {
            member: Contents(problem=str(outcome).rstrip(".")) if isinstance(outcome, OvnError) else outcome
            for member, outcome in zip(places, outcomes)
        }
        if not compare(found).apart or deadline.expired:
            break
    return found
