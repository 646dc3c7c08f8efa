"""The scenarios that all backends share, on real servers: see _scenarios.py."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import typing as t

import pytest
from _launcher_lib import until
from _loopback import LoopbackBackend, LoopbackHost
from _scenarios import SCENARIOS, Scenario, plain, play


def transact(remote: str, operation: dict[str, t.Any]) -> t.Any:
    """The result of one operation on the Northbound."""
    words = ["ovsdb-client", "--timeout=30", "transact", remote, json.dumps(["OVN_Northbound", operation])]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]


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
        row = {"name": f"scenario_{self.written}", "external_ids": ["map", [["by", "scenario"]]]}
        transact(self.leader().socket, {"op": "insert", "table": "Address_Set", "row": row})
        self.written += 1

    def _off_and_on(self, number: int, meanwhile: t.Callable[[LoopbackHost], object]) -> None:
        host = self.hosts[number - 1]
        host.power_off()
        meanwhile(host)
        host.power_on()

    def lose(self, number: int) -> None:
        self._off_and_on(number, LoopbackHost.lose_disk)

    def damage(self, number: int) -> None:
        self._off_and_on(
            number, lambda host: host.file.write_bytes(b"OVSDB CLUSTER 12 " + b"0" * 40 + b"\nxxxxxxxxxxxx")
        )

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
        sid = self.backend.observe()[host.id].sid
        words = ["ovs-appctl", "-t", self.leader().control_socket, "cluster/kick", "OVN_Northbound", str(sid)]
        subprocess.run(words, check=True, timeout=30)
        until(
            lambda: sid not in {s for o in self.backend.observe().values() for s in o.listed}, f"{sid} is removed", 30
        )

    def change_settings(self) -> None:
        for host in self.hosts:
            host.configure(self.hosts, OVN_REVISION="2")

    def forget(self) -> None:
        for host in self.hosts:
            copies = host.record.resolve()
            host.record.unlink()
            shutil.rmtree(copies)

    def rows(self) -> dict[int, int]:
        ask = {"op": "select", "table": "Address_Set", "where": [], "columns": ["name"]}
        running = [(number, host) for number, host in enumerate(self.hosts, 1) if host.connected]
        return {number: len(transact(host.socket, ask)["rows"]) for number, host in running}

    def cluster(self) -> str:
        return str(next(o.cid for o in self.backend.observe().values() if o.cid))


@pytest.mark.parametrize("scenario", [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS])
def test_on_loopback(daemons: None, scenario: Scenario) -> None:
    with LoopbackBackend() as backend:
        play(scenario, OnLoopback(backend))
