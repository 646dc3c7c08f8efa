"""The scenarios that all backends share, on real servers: see _scenarios.py."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import typing as t
from pathlib import Path

import _control_plane
import pytest
from _control_plane import WHOLE, ControlPlane
from _launcher_lib import Member, until
from _loopback import LoopbackBackend, LoopbackHost
from _pods_on_api import Kubelet
from _scenarios import SCENARIOS, Scenario, plain, play

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures

DAMAGED = b"OVSDB CLUSTER 12 " + b"0" * 40 + b"\nxxxxxxxxxxxx"
SCENARIO = pytest.mark.parametrize("scenario", [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS])


def transact(remote: str, operation: dict[str, t.Any]) -> t.Any:
    """The result of one operation on the Northbound."""
    words = ["ovsdb-client", "--timeout=30", "transact", remote, json.dumps(["OVN_Northbound", operation])]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]


def rot(file: Path) -> None:
    """Flip a bit of the first row that was written."""
    raw = bytearray(file.read_bytes())
    raw[raw.index(b'"scenario_0"') + 1] ^= 1
    file.write_bytes(raw)


def insert(remote: str, number: int) -> None:
    transact(remote, {"op": "insert", "table": "Address_Set", "row": {"name": f"scenario_{number}"}})


def count(remote: str) -> int:
    return len(transact(remote, {"op": "select", "table": "Address_Set", "where": [], "columns": ["name"]})["rows"])


def kick(control_socket: str, sid: str) -> None:
    command = ["ovs-appctl", "-t", control_socket, "cluster/kick", "OVN_Northbound", sid]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


class OnLoopback:
    """Three hosts of this machine; `_scenarios.Backend`."""

    def __init__(self, backend: LoopbackBackend) -> None:
        self.backend, self.hosts, self.written = backend, backend.hosts, 0

    def run(self) -> list[str]:
        self.backend.run()
        return plain((step.reason for step in self.backend.acts), [host.id for host in self.hosts])

    def leader(self) -> LoopbackHost:
        return t.cast("LoopbackHost", until(lambda: self.backend.leader, "a leader", 60))

    def write(self) -> None:
        insert(self.leader().socket, self.written)
        self.written += 1

    def _off_and_on(self, number: int, meanwhile: t.Callable[[LoopbackHost], object]) -> None:
        host = self.hosts[number - 1]
        host.power_off()
        meanwhile(host)
        host.power_on()

    def lose(self, number: int) -> None:
        self._off_and_on(number, LoopbackHost.lose_disk)

    def damage(self, number: int) -> None:
        self._off_and_on(number, lambda host: host.file.write_bytes(DAMAGED))

    def rot(self, number: int) -> None:
        self._off_and_on(number, lambda host: rot(host.file))

    def unlink(self, number: int) -> None:
        self.hosts[number - 1].file.unlink()

    def copy(self, number: int) -> None:
        host = self.hosts[number - 1]
        shutil.copy2(host.file, host.root / "copy")

    def put_back(self, number: int) -> None:
        self.hosts[number - 1].stop()
        self._off_and_on(number, lambda host: shutil.copy2(host.root / "copy", host.file))

    def crash(self, number: int) -> None:
        host, before = self.hosts[number - 1], self.hosts[number - 1].server_pid()
        assert host.signal_server(signal.SIGKILL)
        until(lambda: host.server_pid() not in (None, before) and host.connected, f"{host.id} is back", 60)

    def kick(self, number: int) -> None:
        host = self.hosts[number - 1]
        sid = str(self.backend.observe()[host.id].sid)
        kick(self.leader().control_socket, sid)
        until(lambda: sid[:4] not in self.backend.observe()[self.leader().id].listed, f"{sid} is removed", 30)

    def change_settings(self) -> None:
        for host in self.hosts:
            host.configure(self.hosts, OVN_REVISION="2")

    def forget(self) -> None:
        for host in self.hosts:
            copies = host.record.resolve()
            host.record.unlink()
            shutil.rmtree(copies)

    def rows(self) -> dict[int, int]:
        running = [(number, host) for number, host in enumerate(self.hosts, 1) if host.connected]
        return {number: count(host.socket) for number, host in running}

    def cluster(self) -> str:
        return str(next(o.cid for o in self.backend.observe().values() if o.cid))


class InPods:
    """Pods of a real API server, whose containers run on this machine; `_scenarios.Backend`."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet) -> None:
        self.plane, self.kubelet, self.written, self.spec = plane, kubelet, 0, dict(WHOLE)
        self.pods = [f"ovn-northbound-{index}" for index in range(3)]

    def member(self, number: int) -> Member:
        return self.kubelet.members[self.pods[number - 1]]

    def leader(self) -> Member:
        members = [self.member(number) for number in (1, 2, 3)]
        return t.cast("Member", until(lambda: next((m for m in members if m.leads()), None), "a leader", 60))

    def run(self) -> list[str]:
        ran = self.plane(spec=self.spec, wait=False, wait_timeout=120, may_fail=True)
        if ran.failed:
            raise OvnError(ran["msg"])
        others = re.compile(".*southbound|northbound: |write the state record")
        ours = (step for step in ran["steps"] if not others.match(step))
        return plain(ours, self.pods)

    def write(self) -> None:
        insert(f"unix:{self.leader().sock}", self.written)
        self.written += 1

    def lose(self, number: int) -> None:
        pod, member = self.pods[number - 1], self.member(number)
        member.kill()
        shutil.rmtree(member.data)
        member.data.mkdir()
        self.plane.server.request("DELETE", self.plane.place("Pod", pod), {"gracePeriodSeconds": 0})
        self.plane.remove("PersistentVolumeClaim", f"data-{pod}")
        self.kubelet.unprotected(self.plane.namespace, f"data-{pod}")
        self.kubelet.run(pod)

    def damage(self, number: int) -> None:
        member = self.member(number)
        member.kill()
        member.file.write_bytes(DAMAGED)
        member.start(OVN_WAIT="1")

    def rot(self, number: int) -> None:
        member = self.member(number)
        member.kill()
        rot(member.file)
        member.start(OVN_WAIT="1")

    def unlink(self, number: int) -> None:
        self.member(number).file.unlink()

    def copy(self, number: int) -> None:
        shutil.copy2(self.member(number).file, self.member(number).dir / "copy")

    def put_back(self, number: int) -> None:
        member = self.member(number)
        member.terminate()
        shutil.copy2(member.dir / "copy", member.file)
        member.start(OVN_WAIT="1")

    def crash(self, number: int) -> None:
        member = self.member(number)
        member.kill()
        member.start(OVN_WAIT="1")
        until(member.connected, f"{member.id} is back", 60)

    def kick(self, number: int) -> None:
        sid, leader = self.member(number).sid, self.leader()
        kick(str(leader.ctl), sid)
        until(lambda: sid[:4] not in leader.cluster_status(), f"{sid} is removed", 30)

    def change_settings(self) -> None:
        self.spec["northbound"] = {**WHOLE["northbound"], "resources": {"requests": {"cpu": "10m"}}}

    def forget(self) -> None:
        self.plane.remove("ConfigMap", "ovn-northbound-record")

    def rows(self) -> dict[int, int]:
        running = [(number, self.member(number)) for number in (1, 2, 3) if self.member(number).connected()]
        return {number: count(f"unix:{member.sock}") for number, member in running}

    def cluster(self) -> str:
        return self.leader().cid


@SCENARIO
def test_on_loopback(daemons: None, scenario: Scenario) -> None:
    with LoopbackBackend() as backend:
        play(scenario, OnLoopback(backend))


@pytest.mark.api_server
@SCENARIO
def test_in_pods(plane: ControlPlane, kubelet: Kubelet, scenario: Scenario) -> None:
    play(scenario, InPods(plane, kubelet))


def listed_addresses(host: LoopbackHost) -> list[str]:
    status = host.member.ask(10).status
    assert status is not None
    return sorted(server.address for server in status.servers)


def renumber(backend: LoopbackBackend, host: LoopbackHost) -> None:
    """The host gets another address; what it had is gone."""
    host.stop()
    network, _dot, number = host.host.rpartition(".")
    host.host = f"{network}.{int(number) + 10}"
    host.address, host.endpoint = (
        f"tcp:{host.host}:{text.rpartition(':')[2]}" for text in (host.address, host.endpoint)
    )
    for one in backend.hosts:
        one.configure(backend.hosts)


def join_by_hand(backend: LoopbackBackend, host: LoopbackHost, sid: str) -> None:
    """The steps of docs/troubleshooting.md, "A central host with a new address"."""
    leader = until(lambda: backend.leader, "a leader of the others", 60)
    kick(leader.control_socket, sid)
    until(lambda: len(listed_addresses(leader)) == 2, "the member is not listed", 60)
    host.file.rename(host.file.with_suffix(".aside"))
    for one in backend.hosts:
        one.record.rename(one.record.with_suffix(f".before-{host.id}"))
    backend.run(bootstrap=False)


def test_renumbered_hosts_join_at_their_new_addresses_by_hand(daemons: None) -> None:
    """One host after the other, the leader last."""
    with LoopbackBackend() as backend:
        backend.run()
        leader = until(lambda: backend.leader, "a leader", 60)
        insert(leader.socket, 0)
        cids = {host.member.observe().cid for host in backend.hosts}
        for written, host in enumerate(sorted(backend.hosts, key=lambda one: one is leader), 1):
            sid = host.member.observe().sid
            assert sid is not None
            renumber(backend, host)
            with pytest.raises(OvnError, match=r"docs/troubleshooting\.md has the steps by hand"):
                backend.run()
            assert backend.acts == []
            join_by_hand(backend, host, sid)
            assert backend.problem() == ""
            insert(host.socket, written)
        until(lambda: [count(host.socket) for host in backend.hosts] == [4, 4, 4], "the row on each host")
        assert {host.member.observe().cid for host in backend.hosts} == cids
        assert listed_addresses(backend.hosts[0]) == sorted(host.address for host in backend.hosts)
