# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The edge: the few rows of the Southbound database that concern one chassis and its tunnel addresses.
"""

from __future__ import annotations

import typing as t

from .._databases import DATABASE_NAMES
from .._deadline import Deadline
from .._errors import TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.session import Condition, Session
from .._ovsdb.tls_files import TlsFiles
from .registration import Me, Registered, address_conflict, unregistered

_WHERE_TO_LOOK = (
    "Look at `ovn-appctl -t ovn-controller connection-status` and /var/log/ovn/ovn-controller.log on this host: "
    "is it started, can it reach the remotes, does its certificate's CN equal the system_id?"
)

_TABLES = {"Chassis": ["name", "hostname"], "Encap": ["chassis_name", "type", "ip"]}


class Southbound:
    """Rows of `me` and of whoever has one of its addresses. Any member is good enough: a rollout must not gather on the leader."""

    def __init__(self, endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline, me: Me) -> None:
        self.me = me
        conditions: dict[str, Condition] = {
            "Chassis": [["name", "==", me.name]],
            "Encap": [["chassis_name", "==", me.name], *(["ip", "==", ip] for ip in sorted(me.addresses))],
        }
        name = DATABASE_NAMES["southbound"]
        self.session = Session(
            endpoints, name, _TABLES, tls=tls, deadline=deadline, conditions=conditions, leader_only=False
        )

    def __enter__(self) -> Southbound:
        return self

    def __exit__(self, *exc: object) -> None:
        self.session.idl.close()

    def chassis(self) -> list[Registered]:
        """Our chassis if it is there, and the owners of our addresses (their host names are not asked for)."""
        encapsulations: dict[str, set[tuple[str, str]]] = {}
        for row in self.session.rows("Encap"):
            encapsulations.setdefault(row.chassis_name, set()).add((row.type, row.ip))
        hostnames = {row.name: row.hostname for row in self.session.rows("Chassis")}
        names = {*hostnames, *(encapsulations.keys() - {self.me.name})}
        return [
            Registered(name, hostnames.get(name, ""), frozenset(encapsulations.get(name, ()))) for name in sorted(names)
        ]

    def wait_registered(self, deadline: Deadline) -> None:
        """Return when ovn-controller has registered the chassis with the wanted encapsulations."""
        try:
            self.session.wait_until(lambda: unregistered(self.me, self.chassis()) is None, "the chassis", deadline)
        except TimedOut as e:
            found = self.chassis()
            # Two new hosts of one rollout look for clashes at the same time, before either of them is there.
            clash = address_conflict(self.me, found)
            raise TimedOut(
                f'Chassis "{self.me.name}" is not registered in the Southbound database after {deadline.seconds:g} s: '
                + (clash or f"{unregistered(self.me, found)}. {_WHERE_TO_LOOK}")
            ) from e
