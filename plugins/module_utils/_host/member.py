# SPDX-License-Identifier: GPL-3.0-or-later
"""The member of a Raft database on this host, as the options of `ovn_raft_member` describe it."""

from __future__ import annotations

import typing as t

from .._machine.commands import Commands
from .._machine.systemd_units import own_unit
from .._raft.host import HostMember
from .adopted_member import AdoptedMember

OPTIONS: dict[str, dict[str, t.Any]] = {
    "database": {"type": "str", "choices": ["northbound", "southbound"], "required": True},
    "member": {"type": "str", "required": True},
    "record": {"type": "path", "required": True},
    "environment_file": {"type": "path", "required": True},
    "launcher": {"type": "path", "default": "/usr/lib/c5c3-ovn/ovn-raft-launcher"},
    "unit": {"type": "str"},
    "database_file": {"type": "path"},
    "adopt": {"type": "bool", "default": False},
    "revision": {"type": "str"},
    "address": {"type": "str"},
}


def member_of(params: t.Mapping[str, t.Any], commands: Commands) -> HostMember:
    kind = AdoptedMember if params["adopt"] else HostMember
    return kind(
        database=params["database"],
        member=params["member"],
        record=params["record"],
        environment_file=params["environment_file"],
        launcher=params["launcher"],
        unit=params["unit"] or own_unit(params["database"]),
        run=commands.run,
        database_file=params["database_file"] or "",
        revision=params["revision"] or "",
        address=params["address"] or "",
    )


def observe_member(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return the result of `ovn_raft_member` with `state: examined`."""
    member = member_of(params, commands)
    return {"observation": {"database": member.database, **member.observe().as_dict()}}
