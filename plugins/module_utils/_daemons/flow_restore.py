# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel goes on with its flows while ovs-vswitchd restarts: shell functions for the launcher of pods, and a script for the unit of machines."""

from __future__ import annotations

# They need `database` (as ovs-vsctl names it), OVS_RUNDIR, and a function `say`.
SHELL_FLOWS = r"""tell_flows() { ovs-vsctl --no-wait --timeout=20 --db="$database" "$@"; }

integration_bridge() {
    flows_of=$(tell_flows --if-exists get Open_vSwitch . external_ids:ovn-bridge)
    flows_of=${flows_of#\"}
    flows_of=${flows_of%\"}
    flows_of=${flows_of:-br-int}
}

# Open vSwitch 3.1 counts the processors once in 10 s, and the first time not before 10 s after the boot (count_cpu_cores in lib/ovs-thread.c): one that
# starts earlier has no thread for packets that the kernel does not know, for good.
await_processors() {
    read -r seconds _ </proc/uptime
    [ "${seconds%%.*}" -ge 10 ] || sleep $((10 - ${seconds%%.*}))
}

# ovs-vswitchd starts without flows, and would throw away those of the kernel before ovn-controller has come. After a boot there are none:
# then other bridges of the node must not wait.
keep_flows() {
    await_processors
    integration_bridge
    if [ "${OVS_DATAPATH-}" != netdev ] && [ -e /sys/class/net/ovs-system ] && command -v ovs-ofctl >/dev/null && tell_flows br-exists "$flows_of"; then
        tell_flows set Open_vSwitch . other_config:flow-restore-wait=true && kept_flows=yes
    else
        tell_flows remove Open_vSwitch . other_config flow-restore-wait # of a start that was killed
    fi
}

await_flows() {
    integration_bridge
    read -r began _ </proc/uptime
    passed=0 before=0 same=0
    while [ "$passed" -lt 60 ]; do
        sleep 1
        count=$(ovs-ofctl -t 5 -O OpenFlow10,OpenFlow13,OpenFlow14,OpenFlow15 dump-aggregate "unix:$OVS_RUNDIR/$flows_of.mgmt" 2>/dev/null |
            sed -n 's/.*flow_count=\([0-9]*\).*/\1/p')
        read -r seconds _ </proc/uptime
        passed=$((${seconds%%.*} - ${began%%.*}))
        [ -n "$count" ] || [ "$before" -eq 0 ] || continue # a failed reading does not mean that the flows are gone
        count=${count:-0}
        if [ "$count" -eq 0 ]; then
            [ "$passed" -lt "${OVS_FLOW_WAIT:-30}" ] || break
        elif [ "$count" -gt "$before" ]; then
            same=0
        else # they come in parts, and more of them with longer pauses
            same=$((same + 1))
            [ "$same" -le $((count / 5000)) ] || break
        fi
        before=$count
    done
    until tell_flows remove Open_vSwitch . other_config flow-restore-wait; do sleep 1; done
    say "$flows_of has ${count:-$before} flows"
}"""

# Commands of the unit ovs-vswitchd.service. The second one runs on in the background: units that start after this one must not wait for flows.
SCRIPT = (
    r"""#!/bin/sh
# Written by Ansible: changes are lost. The kernel goes on with its flows while ovs-vswitchd restarts.
#
#   flows keep     before the start
#   flows await    after it: until br-int has its flows again, at most 60 s; 30 s without any
set -u
LC_ALL=C
export LC_ALL
OVS_RUNDIR=${OVS_RUNDIR:-/run/openvswitch}
database=unix:$OVS_RUNDIR/db.sock

say() { printf '%s\n' "$*" >&2; }

"""
    + SHELL_FLOWS
    + r"""

case $1 in
keep) keep_flows ;;
await) [ "$(tell_flows --if-exists get Open_vSwitch . other_config:flow-restore-wait)" != '"true"' ] || await_flows & ;;
esac
"""
)
