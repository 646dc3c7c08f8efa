"""What clients see: the longest gap of an IDL client at a power-off, and a rolling restart of both databases under writers."""

from __future__ import annotations

import sys
import threading
import time
import typing as t

import clusters
import ovs.db.idl
import ovs.poller
import ovs.stream
from _loopback import LoopbackBackend
from clusters import (
    NAMES,
    await_acks,
    cluster,
    longest_gap,
    print_answer,
    roaming_writers,
    run_inside,
    running,
    settle,
    wait_connected,
)
from machines import Machines
from measure import Figure, NotHere
from network import Network
from outages import EVENTS, TIMERS

ROUNDS = 3


class IdlClient(threading.Thread):
    """The library that Neutron and the OVN tools use, with all addresses and TLS; writes one row after the other."""

    def __init__(self, backend: LoopbackBackend, leader_only: bool) -> None:
        super().__init__(daemon=True)
        tls = backend.hosts[0].tls
        if tls is not None:
            ovs.stream.Stream.ssl_set_private_key_file(tls.private_key)
            ovs.stream.Stream.ssl_set_certificate_file(tls.certificate)
            ovs.stream.Stream.ssl_set_ca_cert_file(tls.ca_certificate)
        schema = ovs.db.idl.SchemaHelper("/usr/share/ovn/ovn-nb.ovsschema")
        schema.register_columns("NB_Global", ["nb_cfg"])
        schema.register_columns("Address_Set", ["name"])
        # The library looks at a connection after the probe, and leaves it after the same time again; one second is its shortest.
        probe = max(1000, backend.election_timer // 2)
        remotes = ",".join(host.endpoint for host in backend.hosts)
        self.idl = ovs.db.idl.Idl(remotes, schema, probe_interval=probe, leader_only=leader_only)
        self.acks: list[float] = []
        self.failed = 0
        self.finish = threading.Event()

    def run(self) -> None:
        number, transaction = 0, None
        while not self.finish.is_set():
            self.idl.run()
            if transaction is None and self.idl.has_ever_connected():
                transaction, number = ovs.db.idl.Transaction(self.idl), number + 1
                transaction.insert(self.idl.tables["Address_Set"]).name = f"idl-{id(self)}-{number}"
            if transaction is not None:
                status = transaction.commit()
                if status == transaction.INCOMPLETE:
                    pass
                else:
                    if status in (transaction.SUCCESS, transaction.UNCHANGED):
                        self.acks.append(time.monotonic())
                    else:
                        self.failed += 1
                    transaction = None
            poller = ovs.poller.Poller()
            self.idl.wait(poller)
            poller.timer_wait(20)
            poller.block()
        self.idl.close()


def _power_off(timer: int) -> dict[str, list[float]]:
    """The longest gaps of a client when the leader's host loses its power: one that insists on the leader, one that takes any member."""
    network = Network(NAMES)
    gaps: dict[str, list[float]] = {"the leader only": [], "any member": []}
    seconds = timer / 1000
    with cluster(network, timer, tls=True) as backend:
        for _round in range(ROUNDS):
            settle(backend)
            clients = {what: IdlClient(backend, what == "the leader only") for what in gaps}
            for client in clients.values():
                client.start()
            await_acks(clients.values())
            leader, started = backend.leader, time.monotonic()
            if leader is None:
                raise RuntimeError("nobody leads")
            EVENTS["power off"](leader, network)
            time.sleep(4 * seconds + 6)  # what is measured: several elections, and the longest gap in them
            for what, client in clients.items():
                gaps[what].append(longest_gap(client.acks, started - 0.5, time.monotonic()))
                client.finish.set()
                client.join()
            network.heal()
            leader.power_on()
            wait_connected(backend)
    return gaps


def _rolling_restart(timer: int) -> dict[str, t.Any]:
    """Both databases one after the other, three clients on each: what failed, and the longest time in which one of them could not write."""
    network = Network(NAMES)
    found: dict[str, t.Any] = {"failed": 0, "acks": 0, "stalls": [], "seconds": []}
    with (
        cluster(network, timer, tls=True) as northbound,
        cluster(network, timer, database="southbound", tls=True) as southbound,
    ):
        settle(northbound)
        writers = [*roaming_writers(northbound), *roaming_writers(southbound)]
        with running(*writers):
            began = time.monotonic()
            for backend in (northbound, southbound):
                for host in backend.hosts:
                    host.configure(backend.hosts, OVN_REVISION="2")
                backend.run()
            ended = time.monotonic()
            await_acks(writers)
        found["seconds"].append(ended - began)
        found["stalls"] = [longest_gap(writer.acks, began, ended) for writer in writers]
        found["acks"] = sum(len(writer.acks) for writer in writers)
        found["failed"] = sum(writer.failed for writer in writers)
    return found


def idl_client(_machines: Machines) -> list[Figure]:
    _need_root()
    figures = []
    for timer in TIMERS:
        print(f"IDL client over TLS: power off, timer {timer} ms, {ROUNDS} rounds", flush=True)
        gaps = run_inside("clients.py", "power-off", str(timer))
        limit = [timer / 1000 + 2]
        figures.append(
            Figure(f"IDL client with all addresses, power off, timer {timer} ms", gaps, "timer + 2 s", limit, 1)
        )
    return figures


def rolling_restart(_machines: Machines) -> list[Figure]:
    _need_root()
    print("Rolling restart of both databases under six writers", flush=True)
    found = run_inside("clients.py", "rolling-restart", "1000")
    print(f"  {found['acks']} writes acknowledged, {found['failed']} failed", flush=True)
    return [
        Figure("rolling restart, failed writes (target 0)", [found["failed"]], "one", [1], 0, "writes"),
        Figure("rolling restart, longest stall of each client", found["stalls"], "one second", [1.0], None),
        Figure("rolling restart of six members", found["seconds"], "members", [6.0], None),
    ]


def _need_root() -> None:
    if not clusters.has_root():
        raise NotHere("it needs root, for network namespaces")


if __name__ == "__main__":
    parts = {"power-off": _power_off, "rolling-restart": _rolling_restart}
    print_answer(parts[sys.argv[1]](int(sys.argv[2])))
