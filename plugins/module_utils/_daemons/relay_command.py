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

# The launcher of the relay in a pod, a shell script: writes the database of its listeners and stays the parent of the server. On machines systemd does that.

SCRIPT = r"""#!/bin/sh
# The relay of the Southbound database beside a member.
#
#   ovn-relay-launcher run COMMAND...   stay in the foreground as parent of COMMAND, an ovsdb-server; its exit code
#   ovn-relay-launcher alive            0 = the server answers on its control socket: startup and liveness probe
#   ovn-relay-launcher ready            0 = it listens for chassis, has the contents of the database and a member to forward writes to: for runs. No probe:
#                                       a pod that is not ready takes its member out of Services and keeps nodes from being drained
#
# Settings, all from the environment:
#   OVN_RELAY_LISTENERS_FILE   database of the listeners, created anew at each start
#   OVN_RELAY_SCHEMA           its schema
#   OVN_RELAY_SETTINGS         a file that is followed: the role of clients, the transaction that changes all else, the transaction that fills the database
#   OVN_RELAY_CONTROL_SOCKET, OVN_RELAY_SOCKET
set -u
LC_ALL=C
export LC_ALL
umask 027

ask() { ovs-appctl -vsyslog:off -T 5 -t "$OVN_RELAY_CONTROL_SOCKET" "$@"; }

# Process 1 of a container cannot end itself by a signal: the server would try to, so it is asked.
leave() {
    stopping=yes
    [ -z "$server" ] || ask exit >/dev/null 2>&1 || kill -TERM "$server" 2>/dev/null
}

read_settings() { { read -r role && read -r update && read -r listeners; } <"$OVN_RELAY_SETTINGS"; }

transact() { ovsdb-client -t 5 transact "unix:$OVN_RELAY_SOCKET" "$1" >/dev/null; }

# Another probe changes in place. Sessions keep the role with which they began, so for another one all of them end.
follow() {
    while sleep 5; do
        last_role=$role last=$listeners
        read_settings || continue
        [ "$listeners" != "$last" ] || continue
        if [ "$role" = "$last_role" ]; then transact "$update"
        else transact '["Local_Config",{"op":"delete","table":"Config","where":[]}]' && transact "$listeners"; fi ||
            { role=$last_role listeners=$last && continue; }
        echo "ovn-relay-launcher: listens as $OVN_RELAY_SETTINGS says now." >&2
    done
}

run() {
    file=$OVN_RELAY_LISTENERS_FILE
    rm -f "$file"
    read_settings || { echo "ovn-relay-launcher: cannot read $OVN_RELAY_SETTINGS. Is its ConfigMap there?" >&2 && exit 1; }
    printf '%s\n' "$OVN_RELAY_SCHEMA" >"$file.ovsschema" && ovsdb-tool create "$file" "$file.ovsschema" &&
        ovsdb-tool transact "$file" "$listeners" >/dev/null ||
        { echo "ovn-relay-launcher: cannot create $file. Is its volume full?" >&2 && exit 1; }
    [ -z "$stopping" ] || exit 0
    "$@" &
    server=$!
    follow &
    follower=$!
    code=0
    while kill -0 "$server" 2>/dev/null; do wait "$server"; code=$?; done
    kill "$follower" 2>/dev/null
    [ -z "$stopping" ] || exit 0
    exit "$code"
}

query() { ovsdb-client -t 3 query "unix:$OVN_RELAY_SOCKET" "$1" 2>/dev/null; }

# The server picks the rows that fit, so that little of its answers has to be understood here. Of a port that could not be bound the status is empty.
ready() {
    case $(query '["Local_Config",{"op":"select","table":"Connection","where":[],"columns":["status"]}]') in
    *'"bound_port"'*) ;;
    *) echo "The relay of @NAME@ does not listen for chassis. See its log for the port that it cannot bind." >&2 && return 1 ;;
    esac
    fits='["name","==","@NAME@"],["connected","==",true],["schema","!=",["set",[]]]'
    case $(query "[\"_Server\",{\"op\":\"select\",\"table\":\"Database\",\"where\":[$fits],\"columns\":[\"name\"]}]") in
    *'"@NAME@"'*) return 0 ;;
    esac
    echo "The relay of @NAME@ is connected to no member. See its log for what members answer." >&2
    return 1
}

case ${1-} in
run)
    server='' stopping=''
    trap leave TERM INT # first of all: process 1 of a pod is deaf to signals that it does not trap
    shift
    run "$@" ;;
alive) ask version >/dev/null ;;
ready) ready ;;
*) echo "usage: ovn-relay-launcher run COMMAND...|alive|ready" >&2 && exit 255 ;;
esac
""".replace("@NAME@", DATABASE_NAMES["southbound"])


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
