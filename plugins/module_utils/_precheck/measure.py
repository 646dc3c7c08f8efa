# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is measured on one host, in one go. What it means is judged elsewhere, with the facts of all hosts."""

from __future__ import annotations

import time
import typing as t

from .._chassis.datapath_reader import DatapathWatch
from .._chassis.local_rows import read_chassis, read_registered
from .._host.foreign_processes import find_processes
from .._host.openvswitch import DATABASE_FILE, as_facts, observe_switches
from .._machine.apt_commands import apt_commands
from .._machine.commands import Commands
from .._machine.proc import running_programs
from .packages import read_packages
from .reachability import connect_all, read_local
from .sockets import read_listeners
from .system import CHASSIS_UNIT, MEMBER_UNIT, own_units, read_file_systems, read_modules, read_system
from .tunnels import own_addresses, probe_paths, read_interfaces, tunnel_devices, underlay_of

_DAEMONS = ("ovsdb-server", "ovs-vswitchd", "ovn-controller", "ovn-northd")


def measure(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return the facts of this host, as `ovn_precheck` documents them; `params` are its options."""
    began = time.time()
    watch = DatapathWatch(params["openvswitch_database"], params["timeout"])
    system = read_system()
    daemons = running_programs(_DAEMONS)
    interfaces = read_interfaces(commands)
    tunnel = params["tunnel"] or {}
    source = tunnel.get("address") or ""
    underlay = underlay_of(interfaces or [], {source}, tunnel.get("interface") or "") if source else None
    units = own_units()
    # Of what is installed already no path is judged, and what does not answer would be waited for in each run.
    parts = {MEMBER_UNIT: params["tcp_ports"], CHASSIS_UNIT: tunnel or params["udp_ports"]}
    is_new = any(unit not in units for unit, declared in parts.items() if declared) or not any(parts.values())
    facts = {
        "system": system,
        "own_units": units,
        "daemons": [daemon.as_dict() for daemon in daemons],
        "control_plane": [one.pid for one in find_processes()],
        "open_vswitch": as_facts(
            observe_switches(params["openvswitch_database"], DATABASE_FILE, params["timeout"], commands)
        ),
        "chassis": read_chassis(params["openvswitch_database"], params["timeout"]),
        "registered": read_registered(params["southbound"], params["timeout"]),
        "local_addresses": read_local(params["local_addresses"], own_addresses(interfaces)),
        "listeners": read_listeners(params["tcp_ports"], params["udp_ports"], [daemon.pid for daemon in daemons]),
        "peers": connect_all(params["peers"] if is_new else [], params["timeout"]),
        "tunnel_devices": tunnel_devices(interfaces or []),
        "underlay": underlay,
        "underlays": {
            address: found
            for address in params["local_addresses"]
            if (found := underlay_of(interfaces or [], {address}, ""))
        },
        "paths": (
            probe_paths(source, tunnel.get("peers") or [], tunnel.get("packet_size") or 0)
            if source and CHASSIS_UNIT not in units
            else []
        ),
        "file_systems": read_file_systems(params["paths"]),
        "kernel_modules": read_modules(params["kernel_modules"], system["kernel"], commands),
        "packages": read_packages(
            apt_commands(commands),
            params["packages"],
            params["timeout"],
            library=params["library_packages"],
            repository=params["archive_uris"],
            proxy=params["archive_proxy"] or "",
        ),
    }
    facts["datapath"] = watch.end()
    return {**facts, "clock": {"began": began, "ended": time.time()}}
