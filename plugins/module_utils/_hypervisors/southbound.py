# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The edge: all chassis of the Southbound database in one request, and the end of some of them. Standard library alone.
"""

from __future__ import annotations

import datetime
import typing as t

from .._chassis.cms_options import owner_in
from .._chassis.external_ids import CMS_OPTIONS
from .._chassis.lookup import ask_any
from .._chassis.registration import Me, Registered, unregistered
from .._databases import DATABASE_NAMES
from .._deadline import Deadline
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import Operation, select, write
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection

if t.TYPE_CHECKING:
    from .settings import Chassis

_DATABASE = DATABASE_NAMES["southbound"]
_TABLES = {
    "Chassis": ["name", "hostname", "other_config"],
    "Chassis_Private": ["name", "nb_cfg", "nb_cfg_timestamp"],
    "Encap": ["chassis_name", "type", "ip"],
    "SB_Global": ["nb_cfg"],
}
# Rows that belong to a chassis, and the column with its name.
_OF_CHASSIS = {"Chassis": "name", "Chassis_Private": "name", "Encap": "chassis_name"}


class Registry(t.NamedTuple):
    """What the Southbound database knows of its chassis. `answers`: name to (nb_cfg, milliseconds since 1970).

    `owner` is what the rows of this cluster carry.
    """

    chassis: t.Mapping[str, Registered]
    answers: t.Mapping[str, tuple[int, int]]
    nb_cfg: int
    owner: str = ""

    def registered(self, chassis: Chassis) -> str | None:
        """What its row lacks; None if it is as wanted."""
        row = self.chassis.get(chassis.system_id)
        if row is None:
            return "it has no row there"
        if chassis.ips is None:  # only the node knows them
            if row.owner != self.owner:
                return "its row is of another host" if row.owner else "its row is not marked as ours yet"
            return None if row.encapsulations else "its row has no encapsulation"
        wanted = frozenset((kind, ip) for kind in chassis.types for ip in chassis.ips)
        return unregistered(Me(chassis.system_id, chassis.hostname, wanted), [row])

    def told(self, chassis: Chassis) -> str | None:
        """A tunnel end that only the node knows; a namesake does not tell it."""
        row = self.chassis.get(chassis.system_id)
        return min(row.addresses, default=None) if row and row.owner == self.owner else None

    def alive(self, name: str) -> bool:
        """Whether it has answered the last heartbeat."""
        return self.answers.get(name, (-1, 0))[0] >= self.nb_cfg

    def heartbeat(self, name: str) -> datetime.datetime | None:
        milliseconds = self.answers.get(name, (0, 0))[1]
        return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc) if milliseconds > 0 else None


def read_registry(endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline) -> Registry:
    return ask_any(endpoints, tls, deadline, lambda connection: registry_of(select(connection, _DATABASE, _TABLES)))


def registry_of(tables: t.Mapping[str, t.Sequence[t.Mapping[str, t.Any]]]) -> Registry:
    """The rows of all tables as one picture."""
    encapsulations: dict[str, set[tuple[str, str]]] = {}
    for row in tables["Encap"]:
        encapsulations.setdefault(row["chassis_name"], set()).add((row["type"], row["ip"]))
    chassis = {
        row["name"]: Registered(
            row["name"], row["hostname"], frozenset(encapsulations.get(row["name"], ())), _owner(row)
        )
        for row in tables["Chassis"]
    }
    answers = {row["name"]: (row["nb_cfg"], row["nb_cfg_timestamp"]) for row in tables["Chassis_Private"]}
    return Registry(chassis, answers, max((row["nb_cfg"] for row in tables["SB_Global"]), default=0))


def _owner(row: t.Mapping[str, t.Any]) -> str:
    return owner_in((row.get("other_config") or {}).get(CMS_OPTIONS, ""))


def delete_chassis(names: t.Sequence[str], endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline) -> None:
    """As `ovn-sbctl chassis-del`, for all of them in one transaction. Their ovn-controller has to be gone, or it comes back at once."""
    operations: list[Operation] = [
        {"op": "delete", "table": table, "where": [[column, "==", name]]}
        for name in names
        for table, column in _OF_CHASSIS.items()
    ]

    def ask(connection: Connection) -> None:
        write(connection, _DATABASE, operations, "c5c3.ovn.ovn_hypervisors")

    ask_any(endpoints, tls, deadline, ask)
