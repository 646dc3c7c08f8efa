"""A Northbound with 100 000 logical ports, and an empty one beside it: what a run does with its members."""

from __future__ import annotations

import os
import sys
import time
import typing as t

import clusters
from _cloud import Counts, count, fill
from _loopback import LoopbackBackend, LoopbackHost
from _waits import until
from clusters import NAMES, cluster, longest_gap, pinned_writers, print_answer, run_inside, running, wait_connected
from machines import Machines
from measure import Figure, NotHere
from network import Network

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.sizing import recommended_timer

PORTS = int(os.environ.get("PORTS") or 100_000)
_STEP_SECONDS = 600.0  # a member of that size needs its time on a busy host


def _timed(work: t.Callable[[], t.Any]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _memory(host: LoopbackHost) -> float:
    """The most that the server has needed, in MB."""
    with open(f"/proc/{host.server_pid()}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def _gap(backend: LoopbackBackend, work: t.Callable[[], t.Any]) -> tuple[float, float]:
    """Seconds that the work took, and the longest of them in which no member took a write."""
    writers = pinned_writers(backend)
    with running(*writers):
        started = time.monotonic()
        work()
        ended = time.monotonic()
    return ended - started, longest_gap([ack for writer in writers for ack in writer.acks], started, ended)


def _measure(ports: int) -> dict[str, float]:
    network = Network(NAMES)
    timer = recommended_timer(ports * 1040)  # bytes of a port and what a cloud has around it
    found: dict[str, float] = {"election timer": timer}
    with cluster(network, timer) as backend:
        backend.step_seconds = _STEP_SECONDS
        leader = _leader(backend)
        if ports:
            found["fill"] = fill(parse_endpoint(leader.socket), ports)
            counted: Counts = count(parse_endpoint(leader.socket))
            print(f"  {counted}, {leader.file.stat().st_size / 1e6:.0f} MB in {found['fill']:.0f} s", flush=True)
        found["file"] = leader.file.stat().st_size / 1e6
        found["memory"] = max(_memory(host) for host in backend.hosts)
        found["status"] = _timed(lambda: [host.member.ask() for host in backend.hosts])
        found["observe"] = _timed(backend.observe)
        found["exit"], found["exit, no writes"] = _gap(backend, leader.stop)
        leader.start()
        wait_connected(backend, seconds=_STEP_SECONDS)
        for host in backend.hosts:
            host.configure(backend.hosts, OVN_REVISION="2")
        found["restart"], found["restart, no writes"] = _gap(backend, lambda: _run(backend))
        follower = next(host for host in backend.hosts if not host.leads)
        follower.power_off()
        follower.lose_disk()
        follower.power_on()
        found["join"], found["join, no writes"] = _gap(backend, lambda: _run(backend))
    return found


def _run(backend: LoopbackBackend) -> None:
    backend.run(wait_timeout=_STEP_SECONDS)


def _leader(backend: LoopbackBackend) -> LoopbackHost:
    return t.cast("LoopbackHost", until(lambda: backend.leader, "a leader", 60))


_ROWS = {
    "status": ("ask all members for their status", "s"),
    "observe": ("observe all members for a plan", "s"),
    "exit": ("stop the leader in order", "s"),
    "exit, no writes": ("no writes after that stop", "s"),
    "restart": ("rolling restart of three members", "s"),
    "restart, no writes": ("no writes during the rolling restart", "s"),
    "join": ("replace a member that lost its disk", "s"),
    "join, no writes": ("no writes during the replacement", "s"),
    "memory": ("memory of a server", "MB"),
    "file": ("database file", "MB"),
    "election timer": ("election timer that the size needs", "ms"),
}


def large_database(_machines: Machines) -> list[Figure]:
    if not clusters.has_root():
        raise NotHere("it needs root, for network namespaces")
    print(f"Large: a Northbound with {PORTS} logical ports, then an empty one", flush=True)
    full = run_inside("large.py", str(PORTS))
    empty = run_inside("large.py", "0")
    return [
        Figure(f"{what}, {PORTS} ports", [full[key]], "empty", [empty[key]], None, unit)
        for key, (what, unit) in _ROWS.items()
    ]


if __name__ == "__main__":
    print_answer(_measure(int(sys.argv[1])))
