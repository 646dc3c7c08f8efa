# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads tables of one server. All rows of an answer come from one transaction, so they are one state of the database."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .._base.errors import Refused
from .expand import Expander, Tree
from .rows import Caller, Operation, transact
from .schema import Facts, Schema, parse_schema, row_facts, sort_rows
from .server import SERVER_QUERY, ServerRow, databases_in
from .table_request import TableRequest, parse_request

# So many rows of one table are asked for one by one; for more of them the table is read as a whole.
_SINGLE_ROWS = 200


class DatabaseFacts(t.NamedTuple):
    """What a server holds of the tables of a request, and what it says about itself."""

    tables: dict[str, list[Facts]]
    schema_version: str
    server: ServerRow
    endpoint: str


def read_database(connection: Caller, database: str, options: t.Mapping[str, t.Any]) -> DatabaseFacts:
    """Return the rows that the options `tables`, `columns`, `where`, `expand` and `leader_only` ask for.

    `database` is the name of the schema. `Refused` is a server that does not serve it, or that cannot answer for its cluster now.
    """
    server = _check_server(connection, database, options["leader_only"])
    schema = parse_schema(connection.call("get_schema", [database]))
    request = parse_request(options, schema)
    return DatabaseFacts(_Reader(connection, schema, request).read(), schema.version, server, connection.name)


def _check_server(connection: Caller, database: str, leader_only: bool) -> ServerRow:
    servers = databases_in(connection.call("transact", SERVER_QUERY), connection.name)
    if database not in servers:
        raise Refused(
            f"{connection.name} serves {', '.join(sorted(servers)) or 'no database'}, not {database}. Compare database and endpoint."
        )
    server = servers[database]
    if not server.connected:
        raise Refused(
            f"{connection.name} has lost its cluster or still joins it: its copy of {database} may be old. "
            "Ask another member, or look at it with ovn_raft_status."
        )
    if leader_only and server.model == "clustered" and not server.leader:
        raise Refused(
            f"{connection.name} does not lead {database}, and leader_only is set. Give the endpoints of all members."
        )
    return server


@dataclasses.dataclass
class _Reader:
    """Reads the rows of a request and those that they refer to."""

    connection: Caller
    schema: Schema
    request: TableRequest
    whole: set[str] = dataclasses.field(default_factory=set)  # tables that are read as a whole
    single: dict[str, set[str]] = dataclasses.field(default_factory=dict)  # UUIDs of rows that are read one by one

    def read(self) -> dict[str, list[Facts]]:
        """Return the rows of each table. The transaction is repeated with more selects until it has every row that is referred to."""
        for table in self.request.tables:
            if table not in self.request.where:
                self._read_whole(table, self.request.expand[table])
        while True:
            selected, known = self._select()
            expander = Expander(known, self.schema)
            tables = {
                table: sort_rows(expander.expand(table, row, self.request.expand[table]) for row in rows)
                for table, rows in selected.items()
            }
            # A row that was asked for and is not there was deleted: its reference stays a UUID.
            asked = {table: rows - self.single.get(table, set()) for table, rows in expander.missing.items()}
            missing = {table: rows for table, rows in asked.items() if rows and table not in self.whole}
            if not missing:
                return tables
            for table, rows in missing.items():
                self.single.setdefault(table, set()).update(rows)
                if len(self.single[table]) > _SINGLE_ROWS:
                    self.whole.add(table)
            self._limit_request()

    def _limit_request(self) -> None:
        """Read tables as a whole, those with most rows first, until the selects of single rows are as short as the caller needs."""
        limit = getattr(self.connection, "single_rows_bytes", None)
        sizes = {
            table: len(json.dumps(self._selects_of_rows(table))) for table in sorted(set(self.single) - self.whole)
        }
        while limit is not None and sum(sizes.values()) > limit:
            largest = max(sizes, key=sizes.__getitem__)
            self.whole.add(largest)
            del sizes[largest]

    def _selects_of_rows(self, table: str) -> list[Operation]:
        return [
            self._operation(table, [["_uuid", "==", ["uuid", row]]]) for row in sorted(self.single.get(table, set()))
        ]

    def _operation(self, table: str, where: t.Sequence[t.Any]) -> Operation:
        return {"op": "select", "table": table, "where": list(where), "columns": list(self.request.columns[table])}

    def _read_whole(self, table: str, tree: Tree) -> None:
        """All rows of a table are wanted, so most rows of the tables that it leads to are as well."""
        for column, below in tree.items():
            target = self.schema.column(table, column).ref_table
            self.whole.add(target)
            self._read_whole(target, below)

    def _select(self) -> tuple[dict[str, list[Facts]], dict[str, dict[str, Facts]]]:
        """Return the rows of the tables of the request, and all rows that were read by table and UUID."""
        reads = [(table, self.request.where.get(table, [])) for table in self.request.tables]
        count = len(reads)
        reads += [(table, []) for table in sorted(self.whole) if (table, []) not in reads]
        for table in sorted(set(self.single) - self.whole):
            reads += [(table, [["_uuid", "==", ["uuid", row]]]) for row in sorted(self.single[table])]
        operations = [self._operation(table, where) for table, where in reads]
        selected: dict[str, list[Facts]] = {}
        known: dict[str, dict[str, Facts]] = {}
        answers = transact(self.connection, self.schema.name, operations)
        for position, ((table, _where), answer) in enumerate(zip(reads, answers)):
            rows = [row_facts(table, row, self.schema.columns(table)) for row in answer["rows"]]
            known.setdefault(table, {}).update((row["_uuid"], row) for row in rows)
            if position < count:
                selected[table] = rows
        return selected, known
