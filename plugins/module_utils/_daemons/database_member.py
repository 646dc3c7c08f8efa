# SPDX-License-Identifier: GPL-3.0-or-later
"""The member of one database on this host, through its two sockets."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._base.errors import Conflict, InvalidInput, Refused
from .._ovsdb.endpoint import parse_endpoint
from .._ovsdb.rows import Caller, Operation, as_optional, select, write
from .._ovsdb.server import appctl, query_server
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .._raft.parse import ClusterStatus, parse_cluster_status
from .database_converge import MemberState
from .database_settings import Layout, ObservedSettings, RemotesPlan


def committed(status: ClusterStatus) -> int:
    """Return the index of the last log entry that a majority has."""
    return status.log_next - 1 - status.not_committed


def member_state(status: ClusterStatus, committed_before: int | None = None) -> MemberState:
    """Return the member's role for writes. A leader without a majority still reports that it leads: its view of the others decides.

    `committed_before` is the index of the last committed entry at an earlier observation.
    """
    role: t.Literal["leader", "follower", "none"] = "none"
    leader = next((f"{s.sid} at {s.address}" for s in status.servers if s.sid == status.leader_sid), "")
    if status.status != "cluster member":
        reason = f'the member at {status.address} is in state "{status.status}"'
    elif status.role == "leader":
        voters = [server for server in status.servers if not (server.phase or "").startswith("adding")]
        limit = max(2 * status.election_timer, 3000)
        unresponsive = [
            s
            for s in voters
            if not s.is_self and (s.last_message is None or s.last_message >= limit or not any(status.linked(s.sid)))
        ]
        needed = len(voters) // 2 + 1
        if len(voters) - len(unresponsive) >= needed:
            # Entries may wait for a majority that is gone: a write on top would only add to them. A busy leader commits in between.
            stuck = status.not_committed and (committed_before is None or committed(status) <= committed_before)
            reason = f"{status.not_committed} earlier writes wait for a majority" if stuck else ""
            role = "none" if stuck else "leader"
        else:
            names = ", ".join(sorted(server.address for server in unresponsive))
            reason = f"the leader hears only {len(voters) - len(unresponsive)} of {len(voters)} members, {needed} are needed; unresponsive: {names}"
    elif status.leader_sid and status.role == "follower":
        role, reason = "follower", ""
    else:
        reason = f"the member at {status.address} knows no leader (quorum lost, or an election is going on)"
    return MemberState(role, reason, leader, status.election_timer, status.election_timer_target)


def read_settings(connection: Caller, layout: Layout) -> ObservedSettings:
    """Return the settings in the database, read in one request."""
    tables = {layout.global_table: ["_uuid", "options"], "Connection": ["_uuid", *layout.columns]}
    rows = select(connection, layout.name, tables)
    first = next(iter(rows[layout.global_table]), None)
    optional = ("inactivity_probe", "max_backoff")
    connections = {
        row["target"]: {column: as_optional(value) if column in optional else value for column, value in row.items()}
        for row in rows["Connection"]
    }
    return ObservedSettings(first["_uuid"] if first else None, connections, first["options"] if first else {})


class LocalMember:
    """The member on this host. Each request opens a connection of its own, for at most `timeout` seconds."""

    def __init__(self, layout: Layout, control_socket: str, socket: str, timeout: float) -> None:
        self.layout = layout
        self.control_socket = control_socket
        self.endpoint = parse_endpoint(socket)
        if self.endpoint.scheme != "unix":
            raise InvalidInput(f"socket {socket} is remote. Give the socket of the member on this host, unix:FILE.")
        self.timeout = timeout
        self._committed: int | None = None

    def _connect(self) -> Connection:
        return Connection(self.endpoint, TlsFiles(), Deadline(self.timeout))

    def _served(self) -> list[str]:
        with self._connect() as connection:
            return [str(name) for name in connection.call("list_dbs", []) if name != "_Server"]

    def examine(self) -> MemberState:
        server = query_server(self.endpoint, self.layout.name, TlsFiles(), Deadline(self.timeout))
        if server is None:
            others = ", ".join(self._served()) or "none"
            raise Refused(
                f"{self.endpoint} does not serve {self.layout.name} (databases there: {others}). "
                "Is it the other database's socket, or has the member left its cluster?"
            )
        if server.model == "relay":
            raise Refused(f"{self.endpoint} is a relay of {self.layout.name}: set this on the members of the cluster.")
        if server.model == "standalone":
            return MemberState("standalone")
        text = appctl(self.control_socket, "cluster/status", self.layout.name, deadline=Deadline(self.timeout))
        status = parse_cluster_status(text)
        state = member_state(status, self._committed)
        self._committed = committed(status)
        if state.role == "follower" and not server.connected:
            return MemberState("none", "this member has lost its cluster", state.leader, state.election_timer)
        return state

    def read(self) -> ObservedSettings:
        with self._connect() as connection:
            return read_settings(connection, self.layout)

    def write(self, operations: t.Sequence[Operation]) -> None:
        with self._connect() as connection:
            write(connection, self.layout.name, operations, "c5c3.ovn.ovn_database")

    def read_remotes(self) -> list[str]:
        """Return what the server listens on, as ovsdb-server(1) names it; `db:` stands for the rows of a table."""
        return appctl(self.control_socket, "ovsdb-server/list-remotes", deadline=Deadline(self.timeout)).split()

    def change_remotes(self, plan: RemotesPlan) -> None:
        deadline = Deadline(self.timeout)
        for verb, remotes in (("add", plan.add), ("remove", plan.remove)):
            for remote in remotes:
                appctl(self.control_socket, f"ovsdb-server/{verb}-remote", remote, deadline=deadline)

    def change_timer(self, milliseconds: int) -> None:
        deadline = Deadline(self.timeout)
        arguments = ("cluster/change-election-timer", self.layout.name, str(milliseconds))
        try:
            appctl(self.control_socket, *arguments, deadline=deadline)
        except Refused as e:
            if "election timer change pending" not in str(e):
                raise
            raise Conflict(str(e)) from e  # another run has begun a change since the state was read
