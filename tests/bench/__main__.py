"""What the collection costs, as ratios to a ping over the same hosts: `make bench`.

Both sides of a ratio are measured in one run and in turns, because the figures of two runs differ more than the things measured.
Nothing fails because it is slow; the exit code tells whether everything could be measured.
One part alone: `.venv/bin/nox -s bench -- chassis`; the names are in PARTS.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import typing as t

from chassis import many_hosts
from clients import idl_client, rolling_restart
from control_plane import kind_to_ping, unchanged_control_plane
from datapath import datapath_costs
from hypervisors import thousand_nodes
from large import large_database
from machines import Machines
from measure import Figure, NotHere, print_table
from outages import outages
from ovsdb_clients import ovsdb_clients
from planner import planner_rounds
from ports import many_ports
from rollout import one_more_hypervisor, site_again, site_first, status_of_six
from shapes import settings_in_shapes

PARTS: dict[str, t.Callable[[Machines], list[Figure]]] = {
    "ports": many_ports,
    "chassis": many_hosts,
    "shapes": settings_in_shapes,
    "ovsdb": ovsdb_clients,
    "first": site_first,
    "again": site_again,
    "status": status_of_six,
    "hypervisors": thousand_nodes,
    "planner": planner_rounds,
    "outages": outages,
    "idl": idl_client,
    "rolling": rolling_restart,
    "large": large_database,
    "datapath": datapath_costs,
    "control-plane": unchanged_control_plane,
    "kind": kind_to_ping,
    "marginal": one_more_hypervisor,  # the last: its machines would take processor time from others
}


def wanted_parts(arguments: list[str]) -> list[str]:
    unknown = sorted(set(arguments) - set(PARTS))
    if unknown:
        sys.exit(f"bench: there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    parts = [name for name in PARTS if name in arguments or not arguments]
    if {"again", "status", "marginal"} & set(parts) and "first" not in parts:
        sys.exit("bench: again, status and marginal need the rollout that first makes")
    return parts


def say_if_busy() -> None:
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors:
        print(
            f"!!! This machine is busy (load {load:.1f}, {processors} processors): the figures say little.", flush=True
        )


def main() -> int:
    parts = wanted_parts(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the machines end with the run
    say_if_busy()
    started, figures, broken = time.monotonic(), [], []
    with Machines() as machines:
        for name in parts:
            try:
                figures += PARTS[name](machines)
            except NotHere as e:
                print(f"!!! NOT MEASURED: {name}: {e}", flush=True)
                broken.append(name)
            except Exception:  # the other parts are worth measuring all the same
                traceback.print_exc()
                broken.append(name)
    say_if_busy()
    print_table(figures)
    print(
        "\nThe hosts are on this machine: what their modules compute takes processor time from Ansible and the others."
    )
    print(f"Measured in {time.monotonic() - started:.0f} s; logs: {machines.logs}")
    if broken:
        print(f"\n!!! NOT MEASURED: {', '.join(broken)}, see above", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
