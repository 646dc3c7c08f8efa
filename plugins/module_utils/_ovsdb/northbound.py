# SPDX-License-Identifier: GPL-3.0-or-later
"""The Northbound database with the commands of ovsdbapp, on a replica of the named tables and columns.

The commands run in the transactions of our own session. Those of ovsdbapp need a thread, which waits for the server without a limit of its own, and
when another client was faster they repeat commands that were chosen for the rows as they were before.
"""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import InvalidInput
from .endpoint import Endpoint
from .session import Condition, Session, missing_library
from .tls_files import TlsFiles

Command = t.Any  # ovsdbapp.backend.ovs_idl.command.BaseCommand


class NorthboundSession(Session):
    """A session with any connected member of the Northbound database. `api` makes the commands: ovsdbapp.schema.ovn_northbound.api.API."""

    def __init__(
        self,
        endpoints: t.Sequence[Endpoint],
        tables: t.Mapping[str, t.Sequence[str]],
        *,
        tls: TlsFiles,
        deadline: Deadline,
        conditions: t.Mapping[str, Condition] | None = None,
    ) -> None:
        # Not at the top: it takes as long as the rest of a task, and callers that only read do not need it.
        try:
            from ovsdbapp.backend.ovs_idl import connection
            from ovsdbapp.schema.ovn_northbound import impl_idl
        except ImportError as e:
            raise InvalidInput(missing_library("ovsdbapp", "python3-ovsdbapp", e)) from e
        name = DATABASE_NAMES["northbound"]
        super().__init__(endpoints, name, tables, tls=tls, deadline=deadline, conditions=conditions, leader_only=False)
        base: t.Any = impl_idl.OvnNbApiIdlImpl
        # A class of its own: a class of ovsdbapp keeps its first connection for all later ones.
        implementation = type("NorthboundApi", (base,), {})
        self.api = implementation(connection.Connection(self.idl, deadline.seconds), start=False, auto_index=False)

    def run(self, choose: t.Callable[[], t.Iterable[Command]], comment: str) -> bool:
        """Run the commands of `choose()` in one transaction and return whether it changed anything.

        If another client was faster, `choose` is called again for the rows as they are then. It calls `row.verify(column)` for what it decided upon.
        """

        def build(transaction: t.Any) -> None:
            for command in choose():
                command.run_idl(transaction)

        return self.transact(build, comment)
