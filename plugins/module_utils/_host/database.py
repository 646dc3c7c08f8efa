# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the settings of the database of this host to their desired state, in the form of `ovn_database`."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._daemons.database_converge import converge
from .._daemons.database_member import LocalMember
from .._daemons.database_settings import LAYOUTS, RemotesPlan, desired_from_params, plan_table

OPTIONS: dict[str, dict[str, t.Any]] = {
    "database": {"type": "str", "choices": ["northbound", "southbound"], "required": True},
    "control_socket": {"type": "path"},
    "socket": {"type": "str"},
    "election_timer": {"type": "int"},
    "connections": {
        "type": "list",
        "elements": "dict",
        "options": {
            "target": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "role": {"type": "str"},
            "read_only": {"type": "bool"},
            "inactivity_probe": {"type": "int"},
            "max_backoff": {"type": "int"},
        },
    },
    "purge_connections": {"type": "bool", "default": False},
    "serve_connections": {"type": "bool", "default": False},
    "options": {"type": "dict"},
    "timeout": {"type": "float", "default": 5},
    "wait_timeout": {"type": "float", "default": 60},
}


def apply_database_settings(params: t.Mapping[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_database`; `OvnError` as `converge` raises it."""
    layout = LAYOUTS[params["database"]]
    desired = desired_from_params(params)
    member = LocalMember(
        layout,
        params["control_socket"] or f"/run/ovn/{layout.stem}.ctl",
        params["socket"] or f"unix:/run/ovn/{layout.stem}.sock",
        params["timeout"],
    )
    outcome = converge(member, desired, layout, Deadline(params["wait_timeout"]), check_mode=check_mode)
    remotes = RemotesPlan()
    if params["serve_connections"]:
        remotes = plan_table(member.read_remotes(), outcome.observed.connections, layout)
        if not check_mode:
            member.change_remotes(remotes)
    return {
        "changed": outcome.changed or bool(remotes.actions),
        "role": outcome.state.role,
        "actions": outcome.done.actions + remotes.actions,
        "election_timer": outcome.state.election_timer,
        "connections": [
            {column: value for column, value in row.items() if column != "_uuid"}
            for _target, row in sorted(outcome.observed.connections.items())
        ],
        "options": dict(outcome.observed.options),
        "diff": {"before": outcome.done.before, "after": outcome.done.after},
    }
