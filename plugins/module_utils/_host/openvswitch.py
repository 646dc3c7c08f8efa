# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Open vSwitch a host has, in the form of `ovn_host_info`. What it means is decided in `_chassis/other_switches.py`."""

from __future__ import annotations

import json
import os
import socket
import typing as t

from .._base.errors import OvnError
from .._chassis.database import DATABASE
from .._chassis.lookup import read_chassis, read_tables
from .._chassis.other_switches import (
    DATAPATH,
    DISTRIBUTION_UNITS,
    PROGRAMS,
    HostSwitches,
    Program,
    existing_problem,
    managed_problem,
    parse_datapath_ports,
)
from .._machine.commands import Commands
from .._machine.proc import bridges_of, read_listening, running_programs

DATABASE_FILE = "/etc/openvswitch/conf.db"
OPTIONS: dict[str, dict[str, t.Any]] = {
    "mode": {"type": "str", "choices": ["managed", "existing"], "default": "managed"},
    "database": {"type": "str", "default": "unix:/run/openvswitch/db.sock"},
    "database_file": {"type": "path", "default": DATABASE_FILE},
    "unit": {"type": "str", "default": ""},
    "chassis_unit": {"type": "path"},
    "timeout": {"type": "float", "default": 5.0},
}
_UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def read_open_vswitch(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return what `ovn_host_info` has under `openvswitch`; `OvnError` if it cannot be known what runs here."""
    found = observe_switches(params["database"], params["database_file"], params["timeout"], commands)
    if params["mode"] == "existing":
        problem = existing_problem(found, params["database"])
    elif params["chassis_unit"] and os.path.exists(params["chassis_unit"]):
        problem = ""  # it was started before, and has its database
    else:
        problem = managed_problem(found, [*DISTRIBUTION_UNITS, params["unit"]])
    hostname = read_chassis(params["database"], params["timeout"])["hostname"]
    return {**as_facts(found), "hostname": hostname, "unknown_units": _unknown_units(), "problem": problem}


def observe_switches(database: str, file: str, seconds: float, commands: Commands) -> HostSwitches:
    """Return what runs on this host, and what the database at this address, or in this file while nobody serves it, knows."""
    programs = [
        Program(one.pid, one.program, " ".join(one.arguments), one.supervisor) for one in running_programs(PROGRAMS)
    ]
    rows = read_tables(database, DATABASE, {"Interface": ["name"]}, seconds).get("Interface")
    answers = rows is not None
    known = _stored_interfaces(file, commands) if rows is None else [str(row["name"]) for row in rows]
    return HostSwitches(programs, bridges_of(read_listening()), _datapath_ports(commands), known, answers)


def as_facts(found: HostSwitches) -> dict[str, t.Any]:
    """Return the findings as plain data."""
    return {
        "programs": [str(one) for one in found.programs],
        "bridges": list(found.bridges),
        "datapath_ports": list(found.ports),
        "known_interfaces": None if found.known is None else sorted(found.known),
        "answers": found.answers,
    }


def _datapath_ports(commands: Commands) -> list[str]:
    if DATAPATH not in {name for _index, name in socket.if_nameindex()}:
        return []
    code, out, err = commands.run(["ip", "-json", "-details", "link", "show"])
    if code != 0:
        raise OvnError(
            f"The network devices of this host cannot be listed: {err.strip()}. Install iproute2, then run again."
        )
    return parse_datapath_ports(out)


def _stored_interfaces(file: str, commands: Commands) -> list[str] | None:
    """Return the interfaces in a file that nobody serves, None if there is none that can be read."""
    if not os.path.exists(file) or not commands.find("ovsdb-tool"):
        return None
    query = [DATABASE, {"op": "select", "table": "Interface", "where": [], "columns": ["name"]}]
    code, out, _err = commands.run(["ovsdb-tool", "query", file, json.dumps(query)])
    return [row["name"] for row in json.loads(out)[0]["rows"]] if code == 0 else None


def _unknown_units() -> list[str]:
    """Return the distributions' units of Open vSwitch that this host does not have."""
    return [
        name for name in DISTRIBUTION_UNITS if not any(os.path.lexists(f"{folder}/{name}") for folder in _UNIT_FOLDERS)
    ]
