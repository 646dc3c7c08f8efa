# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that starts the daemons of a hypervisor node in their containers. Needs a shell, `ip` (for an underlay bridge) and the daemons."""

from __future__ import annotations

from .._base.tls_options import SHELL_FILES
from .flow_restore import SHELL_FLOWS

SCRIPT = r"""#!/bin/sh
# The daemons of one hypervisor node, each in a container of its own.
#
#   ovn-chassis-launcher database     ovsdb-server; makes or converts the Open vSwitch database of the node first
#   ovn-chassis-launcher vswitchd     ovs-vswitchd; then the underlay bridge, if one is named
#   ovn-chassis-launcher controller   ovn-controller, as soon as the settings of this node are in the database
#   ovn-chassis-launcher stop ROLE    end the daemon without harm to flows, chassis row and bindings
#   ovn-chassis-launcher alive ROLE   the daemon answers (or rightly does not run yet)
#   ovn-chassis-launcher ready ROLE   database, vswitchd: alive, underlay in place; controller: connected to the Southbound database
#
# Settings, all from the environment:
#   OVS_RUNDIR               sockets of Open vSwitch, shared by all containers
#   OVS_DB_FILE              database file; its directory must exist
#   OVS_SCHEMA               default: /usr/share/openvswitch/vswitch.ovsschema
#   OVS_DATAPATH             system or netdev
#   OVS_OTHERS_PAUSE         seconds between two looks at another Open vSwitch on this node (5); ours does not start beside it
#   OVS_UNDERLAY_BRIDGE, OVS_UNDERLAY_INTERFACE   optional, together: the bridge gets the interface with its addresses and routes
#   OVS_UNDERLAY_TRIES       how often, every 5 s, to check for an address of the interface after a boot (12) before those of the last one count
#   OVS_FLOW_WAIT            seconds that a kernel datapath goes on with its old flows while br-int has none (30)
#   OVN_RUNDIR               sockets of ovn-controller; the agent makes the file `settled` there
#   OVS_MODE                 host: the Open vSwitch belongs to the node, so ovn-controller does not start beside another one
#   OVN_PRIVATE_KEY, OVN_CERTIFICATE, OVN_CA_CERTIFICATE   optional, together
#
# What is below the directory of OVS_DB_FILE outlives the pod: ports and settings of the node are back as soon as the daemons are.
set -u
LC_ALL=C
export LC_ALL
umask 027

say() { printf 'ovn-chassis-launcher: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
need() { eval "[ -n \"\${$1-}\" ]" || fail "$1 is not set. Set it in the environment of this container."; }

settings() {
    need OVS_RUNDIR
    database=unix:$OVS_RUNDIR/db.sock
    case $role in
    database) need OVS_DB_FILE; target=$OVS_RUNDIR/ovsdb-server.ctl stopping=$OVS_RUNDIR/database.stopping appctl=ovs-appctl ;;
    vswitchd) need OVS_DB_FILE; target=$OVS_RUNDIR/ovs-vswitchd.ctl stopping=$OVS_RUNDIR/vswitchd.stopping appctl=ovs-appctl ;;
    controller) need OVN_RUNDIR; target=ovn-controller stopping=$OVN_RUNDIR/controller.stopping appctl=ovn-appctl ;;
    *) fail "\"$role\" is none of database, vswitchd, controller." ;;
    esac
    kept=${OVS_DB_FILE-} kept=${kept%/*}
    refused=$OVS_RUNDIR/vswitchd.refused # the agent reads it, too
    bridge=${OVS_UNDERLAY_BRIDGE-} interface=${OVS_UNDERLAY_INTERFACE-} tries=${OVS_UNDERLAY_TRIES:-12}
}

ask() { "$appctl" -T 5 -t "$target" "$@"; }

# A plain "exit" of ovn-controller would delete the chassis row, and its tunnels on all nodes.
gently() {
    case $role in
    controller) ask exit --restart ;;
    *) ask exit ;;
    esac >/dev/null 2>&1
}

# Stay as its parent: the shell is the first process of the container, which gets the signals.
run() {
    rm -f "$stopping"
    "$@" &
    child=$!
    trap '[ -e "$stopping" ] || gently || kill "$child" 2>/dev/null' TERM INT
}

hold() {
    wait "$child"
    code=$?
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    # A signal may have ended the wait when the daemon had just ended.
    wait "$child" 2>/dev/null && code=0
    say "$role ended with exit code $code"
    [ -z "${1-}" ] || "$1"
    # A preStop hook that the end of its container kills counts as a failed one.
    [ ! -e "$stopping" ] || { rm -f "$stopping"; sleep 1; }
    exit "$code"
}

serve_database() {
    schema=${OVS_SCHEMA:-/usr/share/openvswitch/vswitch.ovsschema}
    if [ ! -s "$OVS_DB_FILE" ]; then
        say "$OVS_DB_FILE is not there: making an empty database"
        rm -f "$OVS_DB_FILE.new" "$kept/.${OVS_DB_FILE##*/}.new.~lock~"
        { ovsdb-tool create "$OVS_DB_FILE.new" "$schema" && mv -f "$OVS_DB_FILE.new" "$OVS_DB_FILE"; } ||
            fail "cannot make $OVS_DB_FILE. Look at the space and the permissions of its directory on the node."
        rm -f "$kept/.${OVS_DB_FILE##*/}.new.~lock~"
    else
        needs=$(ovsdb-tool needs-conversion "$OVS_DB_FILE" "$schema") ||
            fail "$OVS_DB_FILE is unreadable. It is left alone: restore it, or move it aside on the node; then only its ports are lost, settings come back."
        if [ "$needs" = yes ]; then
            backup=$OVS_DB_FILE.before-$(ovsdb-tool db-version "$OVS_DB_FILE")
            say "converting $OVS_DB_FILE to schema $(ovsdb-tool schema-version "$schema"), copy in $backup"
            { cp -p "$OVS_DB_FILE" "$backup.new" && mv -f "$backup.new" "$backup" && ovsdb-tool convert "$OVS_DB_FILE" "$schema"; } ||
                fail "cannot convert $OVS_DB_FILE. Look at the space of its directory on the node."
        fi
    fi
    rm -f "$OVS_RUNDIR/db.sock"
    # Managers are opened as `ovs-vsctl set-manager` says: agents on the node may want a port.
    run ovsdb-server "$OVS_DB_FILE" --remote="p$database" --remote=db:Open_vSwitch,Open_vSwitch,manager_options \
        --unixctl="$target" --no-chdir -vconsole:info -vsyslog:off -vfile:off
    until ovs-vsctl --no-wait --timeout=20 --db="$database" init 2>/dev/null; do
        kill -0 "$child" 2>/dev/null || break
        sleep 1
    done
    hold
}

serve_vswitchd() {
    rm -f "$OVS_RUNDIR/underlay.ready" "$refused"
    set -- ovs-vswitchd "$database" --unixctl="$target" --no-chdir -vconsole:info -vsyslog:off -vfile:off
    [ "${OVS_DATAPATH-}" != netdev ] || set -- "$@" --disable-system
    # By itself it would ask for the database less and less often, and packets wait.
    trap 'exit 0' TERM INT
    until ovs-appctl -T 5 -t "$OVS_RUNDIR/ovsdb-server.ctl" version >/dev/null 2>&1 && [ -S "$OVS_RUNDIR/db.sock" ]; do
        sleep 0.2 || sleep 1
    done
    await_others
    kept_flows=''
    keep_flows
    run "$@"
    if [ -n "$kept_flows" ]; then
        (
            trap - TERM INT
            await_flows
        ) &
    fi
    (
        trap - TERM INT
        [ "${OVS_DATAPATH-}" = netdev ] || mark_datapath
        until release_others && { [ -z "$bridge" ] || take_underlay; }; do sleep 5; done
        : >"$OVS_RUNDIR/underlay.ready"
    ) &
    hold return_underlay
}

# The paths at which a program of this network listens with its control socket (proc(5), /proc/net/unix), or Open vSwitch for a controller of a bridge.
# A pod sees no processes of its node, but these. Nothing of ours listens before it is started.
listening() {
    while read -r _ _ _ flags _ _ _ path; do
        [ "$flags" = 00010000 ] || continue
        case ${path##*/} in "$1".ctl | "$1".[0-9]*.ctl | *."$1") echo "$path" ;; esac
    done </proc/net/unix
}

# Ports of the kernel's datapath that the database of this node lacks. They are ours all the same if ovs-vswitchd has run here since the node was
# booted: a port may have been removed while it was away.
unknown_ports() {
    [ "${OVS_DATAPATH-}" != netdev ] && [ -e /sys/class/net/ovs-system ] || return 0
    read -r boot </proc/sys/kernel/random/boot_id || boot=unknown
    datapath='' && { [ ! -e "$kept/datapath" ] || read -r datapath <"$kept/datapath"; }
    [ "$datapath" != "$boot" ] || return 0
    known=" $(tell_flows --bare --columns=name list Interface | while read -r name; do printf '%s ' "$name"; done)"
    {
        for link in /sys/class/net/ovs-system/lower_*; do
            [ ! -h "$link" ] || echo "${link##*/lower_}"
        done
        ! command -v ip >/dev/null || ip -o link show type openvswitch 2>/dev/null | while read -r _ name _; do
            name=${name%:}
            echo "${name%@*}"
        done
    } | while read -r name; do
        case $name in ovs-system | *_sys | *_sys_*) continue ;; esac # its tunnels belong to nobody
        case $known in *" $name "*) ;; *) echo "$name" ;; esac
    done
}

mark_datapath() {
    read -r boot </proc/sys/kernel/random/boot_id && echo "$boot" >"$kept/datapath.new" && mv -f "$kept/datapath.new" "$kept/datapath"
}

words() { while read -r word; do printf ' %s' "$word"; done; }

# Two of them would take each other's ports out of the kernel.
await_others() {
    said=''
    while :; do
        switches=$(listening ovs-vswitchd | words) ports=$(unknown_ports | words)
        [ -n "$switches$ports" ] || break
        found=''
        [ -z "$switches" ] || found="it listens at$switches and has the bridges$(listening mgmt | while read -r path; do
            path=${path##*/}
            echo "${path%.mgmt}"
        done | words)"
        [ -z "$ports" ] || found="$found${found:+; }the kernel's datapath has the ports$ports, which the database of this node lacks"
        found="ovs-vswitchd is not started, because this node has another Open vSwitch: $found."
        found="$found Set ovs.mode: host to use it, or remove it. Nothing was changed."
        echo "$found" >"$refused.new" && mv -f "$refused.new" "$refused" # first: probes ask for it
        [ "$found" = "$said" ] || say "$found"
        said=$found
        sleep "${OVS_OTHERS_PAUSE:-5}" &
        wait $!
    done
    rm -f "$refused"
}

@FLOWS@

# The global addresses and routes of a device, as lines for `restore`. Those that the kernel makes of an address come back with it.
layout() {
    ip -o address show dev "$1" scope global | while read -r _ _ family address _; do
        [ "$family" != inet ] && [ "$family" != inet6 ] || echo "address $address"
    done
    for version in 4 6; do
        ip -"$version" route show dev "$1" | while read -r line; do
            case " $line " in *' proto kernel '* | ' fe80::'* | ' multicast '* | *' proto ra '*) continue ;; esac
            words=''
            for word in $line; do
                case $word in linkdown | dead | pervasive) ;; *) words="$words $word" ;; esac
            done
            echo "route$version$words"
        done
    done
}

# shellcheck disable=SC2086 # the words of a route are words of the command
restore() {
    good=0
    ip link set dev "$2" up || good=1
    while read -r kind rest; do
        case $kind in
        address) ip address replace $rest dev "$2" || good=1 ;;
        route4) ip -4 route replace $rest dev "$2" || say "route \"$rest\" cannot be set on $2" ;;
        route6) ip -6 route replace $rest dev "$2" || say "route \"$rest\" cannot be set on $2" ;;
        esac
    done <"$1"
    return "$good"
}

# The interface shows its addresses at the first start, after a reboot of the node, and after an orderly end of ovs-vswitchd; else the
# file has them, for ovs-vswitchd may have been killed and the device of the bridge be lost.
take_underlay() {
    file=$kept/underlay-$bridge
    [ -e "/sys/class/net/$interface" ] || { say "underlay: this node has no interface $interface"; return 1; }
    read -r boot </proc/sys/kernel/random/boot_id || boot=unknown
    layout "$interface" >"$file.new" || return 1
    if grep -q '^address ' "$file.new"; then
        printf 'interface %s\nboot %s\n' "$interface" "$boot" >>"$file.new"
        mv -f "$file.new" "$file" || return 1
        [ ! -e "/sys/class/net/$bridge" ] || ip address flush dev "$bridge" scope global # of another day
    else
        rm -f "$file.new"
        [ -e "$file" ] || { say "underlay: interface $interface has no address to move to bridge $bridge"; return 1; }
        # A DHCP client may be late after a boot; its address beside an old one would be wrong.
        if [ "$tries" -gt 0 ] && ! grep -q "^boot $boot" "$file"; then
            tries=$((tries - 1))
            say "underlay: waiting for an address of interface $interface"
            return 1
        fi
    fi
    { read -r mac <"/sys/class/net/$interface/address" && read -r mtu <"/sys/class/net/$interface/mtu"; } || return 1
    ovs-vsctl --timeout=30 --db="$database" -- --may-exist add-br "$bridge" \
        -- set Bridge "$bridge" datapath_type="$OVS_DATAPATH" other_config:hwaddr="\"$mac\"" \
        -- --may-exist add-port "$bridge" "$interface" || return 1
    { ip link set dev "$interface" up && ip link set dev "$bridge" mtu "$mtu"; } || return 1
    # The routes of the interface go with its last address, so they are set again after that.
    restore "$file" "$bridge" 2>/dev/null
    ip address flush dev "$interface" scope global || return 1
    restore "$file" "$bridge" || return 1
    say "underlay: bridge $bridge has interface $interface and its addresses"
}

# A bridge in user space leads nowhere without ovs-vswitchd. The interface is a plain one meanwhile, so the node stays reachable: its next
# image may have to come this way. A bridge in the kernel goes on.
return_underlay() {
    { [ "${OVS_DATAPATH-}" = netdev ] && [ -n "$bridge" ] && [ -e "$kept/underlay-$bridge" ]; } || return 0
    [ ! -e "/sys/class/net/$bridge" ] || ip address flush dev "$bridge" scope global
    restore "$kept/underlay-$bridge" "$interface" && say "underlay: interface $interface has its addresses back until the next start"
}

# Bridges that an earlier start made and that are not wanted any more.
release_others() {
    for file in "$kept"/underlay-*; do
        [ -e "$file" ] || continue
        old=${file##*/underlay-} place=''
        while read -r kind rest; do [ "$kind" != interface ] || place=$rest; done <"$file"
        case $old in *.new) rm -f "$file"; continue ;; esac
        [ "$old/$place" != "$bridge/$interface" ] || continue
        ovs-vsctl --timeout=30 --db="$database" --if-exists del-br "$old" || return 1
        restore "$file" "$place" || return 1
        rm -f "$file"
        say "underlay: bridge $old is gone, interface $place has its addresses back"
    done
}

run_controller() {
    trap 'exit 0' TERM INT # before it says that it waits
    # Without settings br-int would be made with the wrong datapath.
    [ -e "$OVN_RUNDIR/settled" ] || say "waiting for the settings of this node"
    until [ -e "$OVN_RUNDIR/settled" ]; do
        sleep 1 &
        wait $!
    done
    # Two of them would replace each other's flows; the agent says so.
    until [ "${OVS_MODE-}" != host ] || [ -z "$(listening ovn-controller)" ]; do
        sleep 1 &
        wait $!
    done
    rm -f "$OVN_RUNDIR/ovn-controller.pid" "$OVN_RUNDIR"/ovn-controller.*.ctl
    set -- ovn-controller "$database" --no-chdir --pidfile="$OVN_RUNDIR/ovn-controller.pid" -vconsole:info -vsyslog:off -vfile:off
    [ -z "${OVN_PRIVATE_KEY-}" ] || set -- "$@" @TLS@
    run "$@"
    hold
}

is_alive() {
    [ "$role" != controller ] || [ -e "$OVN_RUNDIR/settled" ] || return 0
    [ "$role" != vswitchd ] || [ ! -e "$refused" ] || return 0
    ask version >/dev/null
}

is_ready() {
    case $role in
    controller) [ "$(ask connection-status)" = connected ] ;;
    vswitchd)
        [ ! -e "$refused" ] || { read -r text <"$refused" && echo "$text"; return 1; }
        [ -e "$OVS_RUNDIR/underlay.ready" ] && is_alive
        ;;
    *) is_alive ;;
    esac
}

verb=${1-}
case $verb in
stop | alive | ready) role=${2-} ;;
*) role=$verb ;;
esac
settings
case $verb in
database) serve_database ;;
vswitchd) serve_vswitchd ;;
controller) run_controller ;;
stop) : >"$stopping" && { gently || { rm -f "$stopping"; exit 1; }; } ;;
alive) is_alive ;;
ready) is_ready ;;
esac
""".replace("@TLS@", SHELL_FILES).replace("@FLOWS@", SHELL_FLOWS)
