# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge: the few rows of the Southbound database that concern one chassis and its tunnel addresses."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.session import Session
from .._ovsdb.tls_files import TlsFiles
from .registration import LocalChassis, address_conflict, unregistered
from .southbound_rows import IDENTITY, ChassisRow, chassis_and_address_owners, conditions_of

_WHERE_TO_LOOK = (
    "Look at `ovn-appctl -t ovn-controller connection-status` and /var/log/ovn/ovn-controller.log on this host: "
    "is it started, can it reach the remotes, does its certificate's CN equal the system_id?"
)


class Southbound:
    """Rows of `local` and of other chassis with one of its addresses. Any member will do: the hosts of a rollout must not all ask the leader."""

    def __init__(self, endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline, local: LocalChassis) -> None:
        self.local = local
        conditions = conditions_of(local.name, local.addresses)
        name = DATABASE_NAMES["southbound"]
        self.session = Session(
            endpoints, name, IDENTITY, tls=tls, deadline=deadline, conditions=conditions, leader_only=False
        )

    def __enter__(self) -> Southbound:
        return self

    def __exit__(self, *exc: object) -> None:
        self.session.idl.close()

    def chassis(self) -> list[ChassisRow]:
        """Return our chassis if it is there, and the owners of our addresses (their host names are not asked for)."""
        return chassis_and_address_owners(self.session.rows, self.local.name)

    def wait_registered(self, deadline: Deadline) -> None:
        """Wait until ovn-controller has registered the chassis with the desired encapsulations; `TimedOut` says what is missing."""
        try:
            self.session.wait_until(lambda: unregistered(self.local, self.chassis()) is None, "the chassis", deadline)
        except TimedOut as e:
            found = self.chassis()
            # Two new hosts of one rollout check for clashes at the same time, before either of them is there.
            clash = address_conflict(self.local, found)
            raise TimedOut(
                f'Chassis "{self.local.name}" is not registered in the Southbound database after {deadline.seconds:g} s: '
                + (clash or f"{unregistered(self.local, found)}. {_WHERE_TO_LOOK}")
            ) from e
