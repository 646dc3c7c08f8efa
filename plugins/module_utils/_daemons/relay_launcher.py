# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher of the relay in a pod, a shell script: writes the database of its listeners and stays the parent of the server. On machines
systemd does that.
"""

from __future__ import annotations

from .._base.databases import DATABASE_NAMES

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
