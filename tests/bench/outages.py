"""Seconds without writes when the leader goes, by how it goes: ours and the bare daemons in turns, on the same hosts.

A writer on each member writes without a pause; the longest time in which none of them was answered is the outage.
"""

from __future__ import annotations

import signal
import sys
import time
import typing as t

import clusters
from _loopback import LoopbackBackend, LoopbackHost
from clusters import (
    NAMES,
    cluster,
    longest_gap,
    pinned_writers,
    print_answer,
    run_inside,
    running,
    settle,
    wait_connected,
)
from machines import Machines
from measure import Figure, NotHere
from network import Network

TIMERS = (1000, 5000)
ROUNDS = 2


def _exit(host: LoopbackHost, network: Network) -> None:
    host.stop()


def _sigterm(host: LoopbackHost, network: Network) -> None:
    """To the process of the unit: the launcher where there is one, the server where there is none."""
    if host.process is not None:
        host.process.send_signal(signal.SIGTERM)


def _sigkill(host: LoopbackHost, network: Network) -> None:
    host.signal_server(signal.SIGKILL)


def _power(host: LoopbackHost, network: Network) -> None:
    for path in network.paths(host.id):  # first: a host without power does not even say goodbye
        network.cut(*path)
    host.power_off()


EVENTS: dict[str, t.Callable[[LoopbackHost, Network], None]] = {
    "exit": _exit,
    "SIGTERM": _sigterm,
    "SIGKILL": _sigkill,
    "power off": _power,
}


def _outage(backend: LoopbackBackend, network: Network, event: str) -> float:
    """How long nobody could write when the leader went; afterwards all are back, and the election is long ago."""
    seconds = backend.election_timer / 1000
    leader = backend.leader
    if leader is None:
        raise RuntimeError("nobody leads")
    writers = pinned_writers(backend)
    with running(*writers):
        started = time.monotonic()
        EVENTS[event](leader, network)
        time.sleep(4 * seconds + 4)  # what is measured: several elections, and the longest gap in them
        ended = time.monotonic()
    network.heal()
    leader.power_on()
    wait_connected(backend)
    settle(backend)
    return longest_gap([ack for writer in writers for ack in writer.acks], started - 0.5, ended)


def _measure(timer: int, tls: bool) -> dict[str, dict[str, list[float]]]:
    network = Network(NAMES)
    found: dict[str, dict[str, list[float]]] = {"ours": {}, "bare": {}}
    for number in range(ROUNDS):
        for who in ("ours", "bare"):
            with cluster(network, timer, tls=tls, bare=who == "bare") as backend:
                settle(backend)
                for event in EVENTS:
                    gap = _outage(backend, network, event)
                    found[who].setdefault(event, []).append(gap)
                    print(f"  {number + 1}. {who}, {event}: {gap:.2f} s", flush=True)
    return found


def outages(_machines: Machines) -> list[Figure]:
    if not clusters.has_root():
        raise NotHere("it needs root, for network namespaces")
    figures = []
    for timer in TIMERS:
        for tls in (False, True):
            words = f"timer {timer} ms, {'TLS' if tls else 'plain'}"
            print(f"Outages: {words}, {ROUNDS} rounds in turns with the bare daemons", flush=True)
            found = run_inside("outages.py", str(timer), "tls" if tls else "plain")
            for event in EVENTS:
                what = f"no writes after {event}, {words}"
                figures.append(Figure(what, found["ours"][event], "bare daemons", found["bare"][event], 1.2))
    return figures


if __name__ == "__main__":
    print_answer(_measure(int(sys.argv[1]), sys.argv[2] == "tls"))
