# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all chassis of the Southbound database in one request, and deletes some of them. Standard library alone."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._chassis.heartbeats import has_answered
from .._chassis.lookup import ask_any
from .._chassis.registration import LocalChassis, unregistered
from .._chassis.southbound_rows import (
    GATEWAYS,
    HEARTBEAT,
    IDENTITY,
    ChassisRow,
    PrivateRow,
    chassis_rows,
    delete_operations,
    gateways_by_chassis,
    last_heartbeat,
    private_rows,
)
from .._kubernetes.timestamps import time_of
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import select, write
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection

if t.TYPE_CHECKING:
    import datetime

    from .settings import Chassis

_DATABASE = DATABASE_NAMES["southbound"]


class Registry(t.NamedTuple):
    """What the Southbound database knows of its chassis, by name. `owner` is what the rows of this cluster carry.

    `last_answered`: when most chassis that answered the last heartbeat had done so, by their clocks; None if none has.
    """

    chassis: t.Mapping[str, ChassisRow]
    answers: t.Mapping[str, PrivateRow]
    nb_cfg: int
    owner: str = ""
    last_answered: datetime.datetime | None = None

    def registration_problem(self, chassis: Chassis) -> str | None:
        """Return what its row lacks; None if it is registered as desired."""
        row = self.chassis.get(chassis.system_id)
        if row is None:
            return "it has no row there"
        if chassis.ips is None:  # only the node knows them
            if row.owner != self.owner:
                return "its row is of another host" if row.owner else "its row is not marked as ours yet"
            return None if row.encapsulations else "its row has no encapsulation"
        desired = frozenset((kind, ip) for kind in chassis.types for ip in chassis.ips)
        return unregistered(LocalChassis(chassis.system_id, chassis.hostname, desired), [row])

    def registered_address(self, chassis: Chassis) -> str | None:
        """Return the tunnel address that the node has registered, which may be all that is known of it; None if the row is another cluster's."""
        row = self.chassis.get(chassis.system_id)
        return min(row.addresses, default=None) if row and row.owner == self.owner else None

    def is_alive(self, name: str) -> bool:
        """Return whether it has answered the last heartbeat."""
        answer = self.answers.get(name)
        return answer is not None and has_answered(answer.nb_cfg, self.nb_cfg, self.nb_cfg)

    def heartbeat(self, name: str) -> datetime.datetime | None:
        """Return when it last answered, by its own clock."""
        return time_of(self.answers.get(name, PrivateRow(name)).timestamp)


def read_registry(endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline) -> Registry:
    columns = {**IDENTITY, **HEARTBEAT}
    return ask_any(endpoints, tls, deadline, lambda connection: registry_of(select(connection, _DATABASE, columns)))


def registry_of(tables: t.Mapping[str, t.Sequence[t.Mapping[str, t.Any]]]) -> Registry:
    """Return what the rows of all tables say together."""

    def rows(table: str) -> t.Sequence[t.Mapping[str, t.Any]]:
        return tables[table]

    answers, latest = private_rows(rows), last_heartbeat(rows)
    done = [row for row in answers.values() if row.timestamp and has_answered(row.nb_cfg, latest, latest)]
    stamps = sorted(row.timestamp for row in done)
    last_answered = time_of(stamps[len(stamps) // 2]) if stamps else None
    return Registry(chassis_rows(rows), answers, latest, last_answered=last_answered)


def check_access(endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline) -> None:
    """Return if a server answers with these files; `CertificateProblem` if none of them lets the certificate in."""
    ask_any(
        endpoints,
        tls,
        deadline,
        lambda connection: select(connection, _DATABASE, {"SB_Global": HEARTBEAT["SB_Global"]}),
    )


def delete_chassis(
    names: t.Sequence[str], endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline
) -> dict[str, list[str]]:
    """Delete all rows of these chassis in one transaction, and return the gateways that still name one of them.

    Their ovn-controller must have ended, or they are registered again at once.
    """

    def ask(connection: Connection) -> dict[str, list[str]]:
        write(connection, _DATABASE, delete_operations(names), "c5c3.ovn.ovn_hypervisors")
        tables = select(connection, _DATABASE, GATEWAYS)
        gateways = gateways_by_chassis(lambda table: tables[table])
        return {name: gateways[name] for name in names if name in gateways}

    return ask_any(endpoints, tls, deadline, ask)
