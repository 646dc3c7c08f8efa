# SPDX-License-Identifier: GPL-3.0-or-later
"""The relay of the Southbound database: a server without a file that serves chassis from a copy and forwards what they write (ovsdb(7), "Relay"). Pure.

An ovsdb-server trusts one set of CAs on all its ports, those of Raft included. The relay has no vote, and on the network no port without a role, so it can
trust a CA of the chassis that the members do not trust. It applies the rules of the role itself, before it forwards a transaction (ovsdb/execution.c in Open
vSwitch), and locks that a chassis takes there are not those of the members.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.tls_options import tls_arguments
from .._ovsdb.tls_files import TlsFiles

STEM = "ovnsb_relay_db"  # of its sockets and pid, as ovn-ctl(8) has it
ROLE = "ovn-controller"
LISTENERS = "Local_Config"

_MAP = {"key": "string", "value": "string", "min": 0, "max": "unlimited"}
# Local_Config as in ovsdb.local-config(5): a port with a role cannot be had from a command line, and the table Connection of the Southbound database is that
# of the members. The two tables of RBAC stay empty: without them a client with a role could write here, and open a port without one.
SCHEMA: dict[str, t.Any] = {
    "name": LISTENERS,
    "version": "1.0.0",
    "tables": {
        "Config": {
            "columns": {
                "connections": {
                    "type": {"key": {"type": "uuid", "refTable": "Connection"}, "min": 0, "max": "unlimited"}
                }
            },
            "maxRows": 1,
            "isRoot": True,
        },
        "Connection": {
            "columns": {
                "target": {"type": "string"},
                "max_backoff": {"type": {"key": {"type": "integer", "minInteger": 1000}, "min": 0, "max": 1}},
                "inactivity_probe": {"type": {"key": "integer", "min": 0, "max": 1}},
                "read_only": {"type": "boolean"},
                "role": {"type": "string"},
                "other_config": {"type": _MAP},
                "external_ids": {"type": _MAP},
                "is_connected": {"type": "boolean", "ephemeral": True},
                "status": {"type": _MAP, "ephemeral": True},
            },
            "indexes": [["target"]],
        },
        "RBAC_Role": {
            "columns": {
                "name": {"type": "string"},
                "permissions": {
                    "type": {
                        "key": "string",
                        "value": {"type": "uuid", "refTable": "RBAC_Permission", "refType": "weak"},
                        "min": 0,
                        "max": "unlimited",
                    }
                },
            },
            "isRoot": True,
        },
        "RBAC_Permission": {
            "columns": {
                "table": {"type": "string"},
                "authorization": {"type": {"key": "string", "min": 0, "max": "unlimited"}},
                "insert_delete": {"type": "boolean"},
                "update": {"type": {"key": "string", "min": 0, "max": "unlimited"}},
            },
            "isRoot": True,
        },
    },
}


@dataclasses.dataclass(frozen=True)
class RelaySettings:
    """What one relay is started with. `sources` are the ports of the members without a role, `target` is where chassis connect; the probe in milliseconds.

    `tls` has the pair of the host or pod, and the CAs of the members and of the chassis. Without a log file the log goes to standard error. An empty `role` is
    none: for chassis that share one certificate.
    """

    run_directory: str
    listeners_file: str
    sources: t.Sequence[str]
    target: str
    inactivity_probe: int
    tls: TlsFiles
    log_file: str = ""
    log_level: str = "info"
    role: str = ROLE
    ciphers: str = ""  # empty: the default


def relay_control_socket(run_directory: str) -> str:
    """Return the path of the socket on which the relay answers ovs-appctl(8)."""
    return f"{run_directory}/{STEM}.ctl"


def relay_database_socket(run_directory: str) -> str:
    """Return the path of the socket on which the relay answers clients of this host."""
    return f"{run_directory}/{STEM}.sock"


def relay_command(settings: RelaySettings) -> list[str]:
    """Return the program and its arguments."""
    return [
        "ovsdb-server",
        "--no-chdir",
        *_log_arguments(settings),
        f"--pidfile={settings.run_directory}/{STEM}.pid",
        f"--unixctl={relay_control_socket(settings.run_directory)}",
        f"--remote=punix:{relay_database_socket(settings.run_directory)}",
        f"--remote=db:{LISTENERS},Config,connections",
        *tls_arguments(settings.tls, settings.ciphers),
        settings.listeners_file,
        f"relay:{DATABASE_NAMES['southbound']}:{','.join(settings.sources)}",
    ]


def _log_arguments(settings: RelaySettings) -> list[str]:
    if settings.log_file:
        return ["-vconsole:off", "-vsyslog:warn", f"-vfile:{settings.log_level}", f"--log-file={settings.log_file}"]
    return [f"-vconsole:{settings.log_level}", "-vsyslog:off", "-vfile:off"]


def listeners_transaction(settings: RelaySettings) -> str:
    """Return the transaction, in JSON for ovsdb-tool(1), that fills the file of the listeners."""
    row = {"target": settings.target, "role": settings.role, "inactivity_probe": settings.inactivity_probe}
    return json.dumps(
        [
            LISTENERS,
            {"op": "insert", "table": "Connection", "row": row, "uuid-name": "chassis"},
            {"op": "insert", "table": "Config", "row": {"connections": ["named-uuid", "chassis"]}},
        ]
    )


def listener_settings(settings: RelaySettings) -> str:
    """Return the file that the launcher in a pod follows, three lines: the role, the transaction that changes all else, and the one that fills the database.

    Sessions keep the role with which they began, so a new one needs a listener of its own.
    """
    row = {"inactivity_probe": settings.inactivity_probe}
    update = [LISTENERS, {"op": "update", "table": "Connection", "where": [], "row": row}]
    return "\n".join([settings.role, json.dumps(update), listeners_transaction(settings), ""])


def relay_revision(settings: RelaySettings) -> str:
    """Return the digest of all that a relay is started with: a process with another one has to be restarted."""
    parts = [*relay_command(settings), listeners_transaction(settings), json.dumps(SCHEMA, sort_keys=True)]
    return hashlib.sha1("\0".join(parts).encode()).hexdigest()
