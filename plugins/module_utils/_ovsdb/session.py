# SPDX-License-Identifier: GPL-3.0-or-later
"""A session with one database through ovs.db.idl: only the named tables and columns are replicated, everything is written in one transaction.

ovsdbapp builds on the same class; `northbound.py` adds its commands. Hypervisors wait for rows without it.
"""

from __future__ import annotations

import functools
import sys
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Conflict, InvalidInput, Refused, TimedOut
from .endpoint import Endpoint, first_answer
from .tls_files import TlsFiles
from .wire import Connection, tls_context

OVS_IMPORT_ERROR: ImportError | None = None
try:
    import ovs.db.idl
    import ovs.poller
    import ovs.stream
except ImportError as e:
    OVS_IMPORT_ERROR = e

_SESSION = t.TypeVar("_SESSION", bound="Session")
Row = t.Any  # ovs.db.idl.Row: attributes are the registered columns
Condition = list[t.Any]  # RFC 7047 section 5.1: [[column, function, value], ...]; [False] replicates no row


def missing_library(name: str, package: str, error: ImportError) -> str:
    """Return what to do about a Python library that cannot be imported here; nobody has connected to a database yet."""
    return (
        f"The Python library {name} cannot be used by {sys.executable} on this host: {error}. "
        f"Install {package} (Debian, Ubuntu), or {name} from PyPI for that Python, then run again. Nothing was changed."
    )


class Session:
    """A replica of a few columns of `database`, in sync with one of `endpoints`.

    `tables` maps a table to the columns to replicate; columns that the server's schema lacks are left out and listed in `missing`.
    `conditions` limits the rows of a table. `leader_only` insists on the Raft leader: needed for fresh reads.
    """

    def __init__(
        self,
        endpoints: t.Sequence[Endpoint],
        database: str,
        tables: t.Mapping[str, t.Sequence[str]],
        *,
        tls: TlsFiles,
        deadline: Deadline,
        conditions: t.Mapping[str, Condition] | None = None,
        leader_only: bool = True,
    ) -> None:
        if OVS_IMPORT_ERROR:
            raise InvalidInput(missing_library("ovs", "python3-openvswitch", OVS_IMPORT_ERROR))
        self.database = database
        self.deadline = deadline
        self.missing: set[tuple[str, str]] = set()
        self.endpoints, schema = _reachable(endpoints, database, tls, deadline)
        self.schema_version = str(schema.get("version", ""))
        if any(endpoint.scheme == "ssl" for endpoint in self.endpoints):
            tls_context(tls)  # names a file that cannot be used; a socket of this host may have answered so far
            ovs.stream.Stream.ssl_set_private_key_file(tls.private_key)
            ovs.stream.Stream.ssl_set_certificate_file(tls.certificate)
            ovs.stream.Stream.ssl_set_ca_cert_file(tls.ca_certificate)
        self.idl = ovs.db.idl.Idl(
            ",".join(map(str, self.endpoints)), self._helper(schema, tables), leader_only=leader_only
        )
        for table, condition in (conditions or {}).items():
            if table in self.idl.tables:
                self.idl.cond_change(table, condition)
        self.wait_until(self.idl.has_ever_connected, f"the {database} database to be read (leader and quorum present?)")

    def __enter__(self: _SESSION) -> _SESSION:
        return self

    def __exit__(self, *exc: object) -> None:
        self.idl.close()

    def _helper(self, schema: dict[str, t.Any], tables: t.Mapping[str, t.Sequence[str]]) -> t.Any:
        helper = ovs.db.idl.SchemaHelper(schema_json=schema)
        for table, columns in tables.items():
            known = schema["tables"].get(table, {"columns": {}})["columns"]
            present = [column for column in columns if column in known]
            self.missing |= {(table, column) for column in columns if column not in known}
            if present:
                helper.register_columns(table, present)
        return helper

    def rows(self, table: str) -> list[Row]:
        """Return the replicated rows; none for a table that the schema lacks."""
        return list(self.idl.tables[table].rows.values()) if table in self.idl.tables else []

    def row(self, table: str, uuid: t.Any) -> Row | None:
        """Return the row as it is now; None if it was deleted, or if there is no such table."""
        return self.idl.tables[table].rows.get(uuid) if table in self.idl.tables else None

    def _block(self, deadline: Deadline, transaction: t.Any = None) -> None:
        poller = ovs.poller.Poller()
        self.idl.wait(poller)
        if transaction is not None:
            transaction.wait(poller)
        poller.timer_wait(max(1, int(deadline.left() * 1000)))
        poller.block()

    def wait_until(self, reached: t.Callable[[], bool], what: str, deadline: Deadline | None = None) -> None:
        """Return when `reached()` is true, which is checked at each change of the replica; `TimedOut` says that `what` was waited for."""
        deadline = deadline or self.deadline
        while True:
            self.idl.run()
            if reached():
                return
            if deadline.expired:
                places = ",".join(map(str, self.endpoints))
                raise TimedOut(f"Timed out after {deadline.seconds:g} s waiting for {what} at {places}.")
            self._block(deadline)

    def transact(self, build: t.Callable[[t.Any], None], comment: str) -> bool:
        """Run `build(transaction)` and commit it, again if another client was faster, and return whether it changed anything.

        `build` reads rows of this session and assigns columns; it calls `row.verify(column)` for what it decided upon.
        A time-out leaves it open whether the write happened (ovsdb(7), at-least-once): the caller compares again on its next run.
        """
        while True:
            before = self.idl.change_seqno
            transaction = ovs.db.idl.Transaction(self.idl)
            transaction.add_comment(comment)
            try:
                build(transaction)
            except BaseException:
                transaction.abort()  # an open transaction would forbid every later run of the replica
                raise
            status = self._commit(transaction)
            if status in (transaction.SUCCESS, transaction.UNCHANGED):
                return bool(status == transaction.SUCCESS)
            if status != transaction.TRY_AGAIN:
                error = str(transaction.get_error())
                # A duplicate index value or a second row of a table of one, as in rows.py.
                if "transaction causes" in error.lower():
                    raise Conflict(
                        f"Another client changed {self.database} at the same time ({error}). Nothing was written; run again."
                    )
                raise Refused(f"The {self.database} database refused the change: {error}", transaction_status=status)
            if self.deadline.expired:
                raise TimedOut(
                    f"Other clients kept changing the same rows of {self.database} for {self.deadline.seconds:g} s. Nothing was written; run again."
                )
            # The other client's change may have arrived before our refusal: then there is nothing to wait for.
            if self.idl.change_seqno == before:
                self._block(self.deadline)
            self.idl.run()

    def _commit(self, transaction: t.Any) -> t.Any:
        """Return the final status of the transaction; `TimedOut` if the server does not answer in time."""
        status = transaction.commit()
        while status == transaction.INCOMPLETE:
            if self.deadline.expired:
                transaction.abort()
                raise TimedOut(
                    f"The {self.database} database did not confirm the write within {self.deadline.seconds:g} s: it may or may not be done. Run again."
                )
            self._block(self.deadline, transaction)
            self.idl.run()
            status = transaction.commit()
        return status


def _reachable(
    endpoints: t.Sequence[Endpoint], database: str, tls: TlsFiles, deadline: Deadline
) -> tuple[list[Endpoint], dict[str, t.Any]]:
    """Return the endpoints, beginning with the first one that answers, and its schema. The IDL itself would retry without reporting an error."""

    def ask(position: int) -> tuple[list[Endpoint], dict[str, t.Any]]:
        share = deadline.within(max(2.0, deadline.seconds / len(endpoints)))
        with Connection(endpoints[position], tls, share) as connection:
            return [*endpoints[position:], *endpoints[:position]], connection.call("get_schema", [database])

    return first_answer([functools.partial(ask, position) for position in range(len(endpoints))], database)
