# SPDX-License-Identifier: GPL-3.0-or-later
"""The database servers and northd that run on a host, regardless of what started them, in the form of `ovn_daemons_info`."""

from __future__ import annotations

import base64
import hashlib
import os
import typing as t

from .._base.databases import DATABASE_NAMES, DATABASES
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._base.tls_options import certificates_of
from .._daemons.central_host import ask_northd, parse_version
from .._machine.commands import Commands
from .._machine.systemd_units import own_unit
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import as_optional, select
from .._ovsdb.server import appctl
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .._raft.parse import parse_cluster_status
from .foreign_containers import Output, examine_container
from .foreign_processes import ControlPlaneProcess, control_socket, database_socket, find_processes, neighbors
from .foreign_units import read_stopped_units

# What the daemons on this host say of themselves: Raft address and ids, listeners, certificates, the state of northd. Read only.

_TLS = ("private_key", "certificate", "ca_cert")


def read_daemons(seconds: float, output: Output) -> list[dict[str, t.Any]]:
    """Return all daemons of the control plane on this host. `output(command, argument...)` returns what a command prints, nothing if it fails."""
    return [_read_daemon(process, seconds, output) for process in find_processes()]


def _read_daemon(process: ControlPlaneProcess, seconds: float, output: Output) -> dict[str, t.Any]:
    supervisor = process.supervisor
    container = None
    if supervisor.kind == "container":
        container = examine_container(output, supervisor, process.file, neighbors(process))
    name = container["name"] if container else supervisor.name
    daemon: dict[str, t.Any] = {
        "name": process.name,
        "pid": process.pid,
        "supervisor": {"kind": supervisor.kind, "name": name, "runtime": supervisor.runtime, "unit": supervisor.unit},
        "container": container,
        "root": process.root,
        "own": supervisor.kind == "unit" and supervisor.name == own_unit(process.name),
        "file": process.file,
        "clustered": process.clustered,
        "control_socket": control_socket(process),
        "sockets": _sockets(process),
        "remotes": list(process.command.remotes),
        "connections": [],
        "ca_digests": [],
        **dict.fromkeys(("address", "cluster_id", "server_id", "version", "state", "problem"), ""),
        **dict.fromkeys(("private_key", "certificate", "ca_certificate"), ""),
    }
    try:
        if process.name in DATABASES:
            _ask_server(process, daemon, seconds)
        else:
            answer = ask_northd(daemon["sockets"]["control"], seconds)
            daemon.update(state=answer["state"], version=answer["version"], problem=answer["reason"])
    except OvnError as e:
        daemon["problem"] = str(e)
    return daemon


def _sockets(process: ControlPlaneProcess) -> dict[str, str]:
    """Return the paths of the sockets as this host reaches them; empty for one that the process does not have."""
    paths = {"control": control_socket(process), "database": database_socket(process)}
    return {kind: process.reach(path) if path else "" for kind, path in paths.items()}


def _ask_server(process: ControlPlaneProcess, daemon: dict[str, t.Any], seconds: float) -> None:
    database, deadline = DATABASE_NAMES[process.name], Deadline(seconds)
    control = daemon["sockets"]["control"]
    daemon["version"] = parse_version(appctl(control, "version", deadline=deadline))
    if process.clustered:
        status = parse_cluster_status(appctl(control, "cluster/status", database, deadline=deadline))
        daemon.update(address=status.address, cluster_id=status.cluster_id or "", server_id=status.server_id or "")
    columns = ["_uuid", "target", *(["role"] if process.name == "southbound" else [])]
    with Connection(Endpoint("unix", daemon["sockets"]["database"]), TlsFiles(), deadline) as connection:
        rows = select(connection, database, {"Connection": columns, "SSL": list(_TLS)})
    daemon["connections"] = sorted(rows["Connection"], key=lambda row: str(row["target"]))
    row = next(iter(rows["SSL"]), {})
    files = [
        _tls_file(process.command.value(option), as_optional(row.get(column)))
        for option, column in zip(("--private-key", "--certificate", "--ca-cert"), _TLS)
    ]
    daemon.update(zip(("private_key", "certificate", "ca_certificate"), files))
    daemon["ca_digests"] = read_certificate_digests(process.reach(files[2])) if files[2] else []


def _tls_file(option: str, column: t.Any) -> str:
    """Return the path that counts: `db:DATABASE,SSL,COLUMN` stands for what the table says."""
    return str(column or "") if option.startswith("db:") else option


def read_certificate_digests(path: str) -> list[str]:
    """Return the SHA-256 of each certificate in a PEM file, sorted; none if it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read()
        return sorted({hashlib.sha256(base64.b64decode(body)).hexdigest() for body in certificates_of(text)})
    except (OSError, ValueError):
        return []


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
