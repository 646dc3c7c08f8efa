# SPDX-License-Identifier: GPL-3.0-or-later
"""The database servers and northd that run on a host, regardless of what started them, in the form of `ovn_daemons_info`."""

from __future__ import annotations

import os
import typing as t

from .._daemons.central_host import parse_version
from .._machine.commands import Commands
from .foreign_daemons import read_certificate_digests, read_daemons
from .foreign_units import read_stopped_units

OPTIONS: dict[str, dict[str, t.Any]] = {
    "required_files": {"type": "list", "elements": "path", "default": []},
    "ca_certificate": {"type": "path"},
    "stopped_units": {"type": "bool", "default": False},
    "timeout": {"type": "float", "default": 5},
}


def read_host_daemons(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return the result of `ovn_daemons_info`; `OvnError` if processes must not be read."""

    def output_of(*command: str) -> str:
        program = commands.find(command[0])
        code, out, _err = commands.run([program, *command[1:]]) if program else (1, "", "")
        return out.strip() if code == 0 else ""

    def systemctl(*arguments: str) -> str:
        return output_of("systemctl", *arguments)

    stopped = read_stopped_units(systemctl) if params["stopped_units"] else []
    return {
        "daemons": read_daemons(params["timeout"], output_of),
        "stopped_northd_units": [unit.name for unit in stopped if unit.starts("northd", "")],
        "version": parse_version(output_of("ovsdb-server", "--version")),
        "missing_files": [path for path in params["required_files"] if not os.path.exists(path)],
        "ca_digests": read_certificate_digests(params["ca_certificate"]) if params["ca_certificate"] else [],
    }
