"""ovn_chassis and servers that do not answer, others who write at the same time, its own sudden end, and thousands of ports of others."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t

import _chassis
from _chassis import FULL, STORED, Chassis
from _vswitch import Vswitch
from conftest import MakeCluster, Pki

vswitch, chassis = _chassis.vswitch, _chassis.chassis  # fixtures


# --- servers that are none, or not the right one ----------------------------------------------------------------------


def test_another_database(raft_cluster: MakeCluster, chassis: Chassis) -> None:
    cluster = raft_cluster(1, "southbound")
    ran = chassis({"database": cluster.sockets[0], "system_id": "c"}, may_fail=True)
    assert "serves OVN_Southbound, not Open_vSwitch" in ran["msg"]


def test_the_chassis_database_is_not_the_southbound(vswitch: Vswitch, chassis: Chassis) -> None:
    ran = chassis({"southbound": [vswitch.endpoint], "system_id": "c"}, may_fail=True)
    assert "OVN_Southbound" in ran["msg"]
    assert vswitch.external_ids == {}


def test_a_socket_that_never_answers(vswitch: Vswitch, chassis: Chassis, short_dir: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(short_dir / "silent.sock"))
        silent.listen(5)
        for option in ("database", "southbound"):
            args = {option: f"unix:{short_dir}/silent.sock", "system_id": "c", "timeout": 2}
            ran = chassis(args, may_fail=True, timeout=12)
            assert f"unix:{short_dir}/silent.sock did not answer within" in ran["msg"]
    assert vswitch.external_ids == {}


def test_a_frozen_database_server(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.daemons["ovsdb-server"].signal(signal.SIGSTOP)
    ran = chassis({"system_id": "c", "timeout": 2}, may_fail=True)
    assert "did not answer within 2 s" in ran["msg"]


def test_settings_without_ovs_vswitchd_are_written_and_reported(vswitch: Vswitch, chassis: Chassis) -> None:
    ran = chassis({"system_id": "c", "wait_for": "applied", "wait_timeout": 1}, may_fail=True)
    assert "ovs-vswitchd does not run or hangs" in ran["msg"]
    assert ran["changed"]
    assert vswitch.external_ids["system-id"] == "c"
    again = chassis({"system_id": "c", "wait_for": "applied", "wait_timeout": 1}, may_fail=True)
    assert again.failed
    assert not again["changed"]
    vswitch.start_vswitchd()
    assert not chassis({"system_id": "c", "wait_for": "applied"})["changed"]


def test_the_database_over_tls(vswitch: Vswitch, chassis: Chassis, make_pki: t.Callable[[str], Pki]) -> None:
    ours, other = make_pki("ours"), make_pki("other")
    server, client = ours.issue("server"), ours.issue("client")
    vswitch.daemons["ovsdb-server"].kill()
    tls = ["-p", server.private_key, "-c", server.certificate, "-C", server.ca_certificate]
    vswitch.start("--remote=pssl:6640:127.0.0.1", *tls)
    args = {"database": "ssl:127.0.0.1:6640", "system_id": "c", "timeout": 5}
    assert chassis({**args, **client.options()})["changed"]
    assert client.certificate in vswitch.vsctl("get-ssl")
    assert not chassis({**args, **client.options()})["changed"]
    for files in (other.issue("stranger"), dataclasses.replace(client, ca_certificate=other.ca_certificate)):
        ran = chassis({**args, **files.options()}, may_fail=True)
        assert "ssl:127.0.0.1:6640" in ran["msg"]
        assert "certificate" in ran["msg"] or "trust" in ran["msg"]
    assert client.certificate in vswitch.vsctl("get-ssl")


# --- others write at the same time, or we are killed ------------------------------------------------------------------


def test_two_runs_at_once_both_end_right(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.device("eth1", "eth2")
    tasks: list[dict[str, t.Any]] = [
        {"gateway": True, "external_ids": {"a": 1}, "bridges": [{"name": "br-ex", "ports": ["eth1"]}]},
        {"cms_options": ["t"], "external_ids": {"b": 2}, "bridges": [{"name": "br-ex", "ports": ["eth2"]}]},
    ]
    start = vswitch.next_cfg
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(chassis, tasks))
    keys = vswitch.external_ids
    assert (keys["a"], keys["b"]) == ("1", "2")
    assert sorted(keys["ovn-cms-options"].split(",")) == ["enable-chassis-as-gw", "t"]
    assert sorted(vswitch.bridges()["br-ex"]) == ["eth1", "eth2"]
    assert vswitch.next_cfg == start + 2
    assert not any(chassis(task)["changed"] for task in tasks)


def test_a_writer_in_between_is_seen(vswitch: Vswitch, chassis: Chassis) -> None:
    """Each of our writes meets others between read and write: it is planned again, and nothing is lost."""
    stop = threading.Event()

    def disturb() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            vswitch.vsctl("--no-wait", "set", "open", ".", f"external_ids:noise={count}")

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for number in range(5):
            chassis({"external_ids": {"mine": number}})
    finally:
        stop.set()
        thread.join()
    assert vswitch.external_ids["mine"] == "4"
    assert int(vswitch.external_ids["noise"]) > 0


def test_a_killed_run_leaves_the_old_or_the_new_state(vswitch: Vswitch, collection_path: str) -> None:
    vswitch.device("eth1")
    old = vswitch.dump()
    args = {**FULL, "database": vswitch.endpoint, "wait_for": "none", "_ansible_remote_tmp": "/tmp"}
    module = "ansible_collections.c5c3.ovn.plugins.modules.ovn_chassis"
    states = set()
    for delay in (0.05, 0.2, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0):
        process = subprocess.Popen(
            [*vswitch.prefix, sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": collection_path},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": args}).encode())
        process.stdin.close()
        time.sleep(delay)  # killed at any moment
        process.kill()
        process.wait()
        if vswitch.dump() == old:
            states.add("old")
            continue
        states.add("new")
        assert vswitch.external_ids.keys() == {*STORED, "c5c3-ovn-owned"}
        assert vswitch.bridges() == {"br-ex": ["eth1"], "br-other": []}
    assert states <= {"old", "new"}


# --- cost -------------------------------------------------------------------------------------------------------------


class CountingProxy:
    """Forwards one unix socket to another and counts the client's requests and the bytes that the server answers."""

    def __init__(self, path: pathlib.Path, target: str) -> None:
        self.requests = 0
        self.received = 0
        self._target = target.removeprefix("unix:")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(5)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            threading.Thread(target=self._forward, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._forward, args=(server, client, False), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, ours: bool) -> None:
        """Forward until either side ends the connection, then end the other one: a shutdown wakes the thread that reads from it."""
        with contextlib.suppress(OSError), source:
            while data := source.recv(1 << 20):
                if ours:
                    self.requests += data.count(b'"method"')
                else:
                    self.received += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


def test_five_thousand_ports_of_others_cost_nothing(
    vswitch: Vswitch, chassis: Chassis, short_dir: pathlib.Path
) -> None:
    vswitch.device("eth1")
    proxy = CountingProxy(short_dir / "proxy.sock", vswitch.endpoint)

    def cost() -> tuple[list[int], list[int]]:
        requests, received = [], []
        for args in (FULL, FULL, {"state": "absent"}):
            before = proxy.requests, proxy.received
            chassis({**args, "database": f"unix:{short_dir}/proxy.sock"})
            requests.append(proxy.requests - before[0])
            received.append(proxy.received - before[1])
        return requests, received

    vswitch.vsctl("--no-wait", "add-br", "br-int")
    empty, few_bytes = cost()
    vswitch.vsctl("--no-wait", "add-br", "br-int")  # nobody had a port there, so it is gone
    for first in range(0, 5000, 500):
        adds = [word for port in range(first, first + 500) for word in ("--", "add-port", "br-int", f"p{port}")]
        vswitch.vsctl("--no-wait", *adds[1:])
    full, many_bytes = cost()
    proxy.close()
    assert full == empty
    assert empty[0] <= 3
    assert empty[1] <= 2
    # A removal reads the ports of the integration bridge: whether somebody has one there decides whether it stays.
    assert all(many <= 1.1 * few for many, few in zip(many_bytes[:2], few_bytes))
    assert many_bytes[2] < 200 * 5000
