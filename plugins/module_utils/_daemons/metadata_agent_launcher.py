# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that starts Neutron's agent for metadata in its container. Needs a shell, Python and the agent."""

from __future__ import annotations

SCRIPT = r"""#!/bin/sh
# Neutron's agent for metadata of one hypervisor node, in a container of its own.
#
#   ovn-metadata-launcher run     wait for what it needs of the node, then stay as its parent; its exit code
#   ovn-metadata-launcher alive   it listens at its socket, or it has none yet
#   ovn-metadata-launcher ready   it listens at its socket, which it makes when it has read the Southbound database
#
# Settings, all from the environment:
#   OVN_METADATA_PROGRAM     neutron-ovn-metadata-agent, or neutron-ovn-agent with its extension metadata; the former if absent
#   OVN_METADATA_SETTINGS    configuration file of the agent
#   OVN_METADATA_SECRET      file with the secret that it shares with Nova: one line
#   OVN_METADATA_STATE       state_path of the agent, in memory: the copy of the secret that the agent can read is there
#   OVS_RUNDIR               sockets of Open vSwitch
#   OVN_PRIVATE_KEY, OVN_CERTIFICATE, OVN_CA_CERTIFICATE   optional, together: the files that the agent connects with
set -u
# A pod of an older release lacks it, and reads this file again when its container restarts.
: "${OVN_METADATA_PROGRAM:=neutron-ovn-metadata-agent}"
LC_ALL=C
export LC_ALL

say() { printf 'ovn-metadata-launcher: %s\n' "$*" >&2; }

# await CAUSE COMMAND...: until the command succeeds. A pod that ended instead would be started less and less often.
await() {
    cause=$1 said=''
    shift
    until "$@"; do
        [ -n "$said" ] || say "waiting: $cause"
        said=yes
        sleep 1 &
        wait $!
    done
}

is_named() {
    [ -S "$OVS_RUNDIR/db.sock" ] && python3 -c '
import json, socket, sys
query = {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["external_ids"]}
with socket.socket(socket.AF_UNIX) as database:
    database.settimeout(5)
    database.connect(sys.argv[1])
    database.sendall(json.dumps({"id": 0, "method": "transact", "params": ["Open_vSwitch", query]}).encode())
    answer, text = None, b""
    while answer is None:
        more = database.recv(65536)
        text += more
        try:
            answer = json.loads(text)
        except ValueError:
            if not more:
                raise
keys = [key for row in answer["result"][0]["rows"] for key, _value in row["external_ids"][1]]
sys.exit("system-id" not in keys)
' "$OVS_RUNDIR/db.sock" 2>/dev/null
}

# Whether a program of this network listens at the socket (proc(5), /proc/net/unix). The agent takes a connection without a request for an error.
listens() {
    while read -r _ _ _ flags _ _ _ path; do
        [ "$flags/$path" != "00010000/$socket" ] || return 0
    done </proc/net/unix
    return 1
}

# The agent takes $NAME for the value of another option, and $$ for a dollar.
literally() {
    rest=$1 text=''
    while [ "$rest" != "${rest#*\$}" ]; do
        text=$text${rest%%\$*}'$$' rest=${rest#*\$}
    done
    printf '%s' "$text$rest"
}

# The shell is the first process: it ends when it is told to, and collects what haproxy leaves.
run() {
    trap 'exit 0' TERM INT
    for file in "${OVN_CA_CERTIFICATE-}" "${OVN_PRIVATE_KEY-}" "${OVN_CERTIFICATE-}"; do
        [ -z "$file" ] || await "$file is not there yet, see the pod of ovn-controller on this node" [ -s "$file" ]
    done
    await "Open vSwitch of this node does not answer at $OVS_RUNDIR/db.sock, or has no system-id yet" is_named
    IFS= read -r secret <"$OVN_METADATA_SECRET" || [ -n "$secret" ] || { say "$OVN_METADATA_SECRET is empty"; exit 1; }
    rm -f "$socket" "$private"
    (umask 077 && printf '[DEFAULT]\nmetadata_proxy_shared_secret = %s\n' "$(literally "$secret")" >"$private") || exit 1
    "$OVN_METADATA_PROGRAM" --config-file "$OVN_METADATA_SETTINGS" --config-file "$private" &
    child=$!
    trap 'kill "$child" 2>/dev/null' TERM INT
    wait "$child"
    code=$?
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    say "$OVN_METADATA_PROGRAM ended with exit code $code"
    exit "$code"
}

socket=$OVN_METADATA_STATE/metadata_proxy private=$OVN_METADATA_STATE/shared-secret.conf
case ${1-} in
run) run ;;
alive) [ ! -S "$socket" ] || listens ;;
ready) listens || { echo "$OVN_METADATA_PROGRAM does not listen yet, see its log"; exit 1; } ;;
*) say "\"${1-}\" is none of run, alive, ready."; exit 1 ;;
esac
"""
