"""Machines under faults: real servers under the launcher, a network namespace for each host."""

from __future__ import annotations

import shutil
import signal
import typing as t
from pathlib import Path

from _loopback import LoopbackBackend, LoopbackHost
from faults import LOSES_DATA, Fault, Ongoing
from network import CLIENTS, Network

WEIGHTS = {
    "kill the server": 4,
    "pause the server": 3,
    "stop and start the unit": 2,
    "restart the unit": 3,
    "power off the host": 3,
    "lose the disk": 3,
    "put an old copy back": 3,
    "isolate the host": 3,
    "cut one direction": 2,
    "cut off from clients": 1,
}
SWITCHES_OFF = ("power off the host", *LOSES_DATA)


class Hosts:
    """`faults.Theatre` on machines."""

    weights = WEIGHTS

    def __init__(self, timer: int) -> None:
        names = ["central1", "central2", "central3"]
        self.network = Network(names)
        self.backend = LoopbackBackend(
            election_timer=timer,
            hosts=[self.network.address(name) for name in names],
            enter=[self.network.enter(name) for name in names],
        )
        self.servers = self.backend.hosts

    def close(self, keep: Path | None) -> None:
        self.backend.close(keep_files=keep is not None)
        if keep is not None:
            shutil.copytree(self.backend.root, keep / "hosts", ignore=shutil.ignore_patterns("*.sock", "*.ctl"))
            shutil.rmtree(self.backend.root)
        self.network.close()

    def run(self, dies_before: int | None) -> list[str]:
        return self.backend.run(dies_before=dies_before)

    def problem(self) -> str:
        return self.backend.problem()

    def has_leader(self) -> bool:
        return self.backend.leader is not None

    def begin(self, fault: Fault) -> Ongoing:
        host = self._host(fault)
        ongoing = Ongoing(fault, host.id)
        if fault.kind == "kill the server":
            host.signal_server(signal.SIGKILL)
        elif fault.kind == "pause the server":
            host.signal_server(signal.SIGSTOP)
        elif fault.kind == "stop and start the unit":
            host.stop()
        elif fault.kind == "restart the unit":
            host.stop()
            host.start()
        elif fault.kind == "cut one direction":
            other = self.backend.hosts[fault.other]
            ongoing.cuts = [(host.id, other.id if other is not host else CLIENTS)]
        elif fault.kind == "cut off from clients":
            ongoing.cuts = [(CLIENTS, host.id)]
        else:
            ongoing.cuts = self.network.paths(host.id)
        for path in ongoing.cuts:
            self.network.cut(*path)
        if fault.kind in SWITCHES_OFF:  # the network first: a host without power does not even say goodbye
            self._switch_off(host, fault.kind)
        return ongoing

    def _switch_off(self, host: LoopbackHost, kind: str) -> None:
        host.power_off()
        if kind == "lose the disk":
            host.lose_disk()
        elif kind == "put an old copy back" and self._copy(host).exists():
            shutil.copyfile(self._copy(host), host.file)

    def end(self, ongoing: Ongoing) -> None:
        kind, host = ongoing.fault.kind, next(host for host in self.backend.hosts if host.id == ongoing.member)
        for path in ongoing.cuts:
            self.network.restore(*path)
        if kind == "pause the server":
            host.signal_server(signal.SIGCONT)
        elif kind == "stop and start the unit":
            host.start()
        elif kind in SWITCHES_OFF:
            host.power_on()

    def heal(self) -> None:
        self.network.heal()
        for host in self.backend.hosts:
            host.signal_server(signal.SIGCONT)
            if not host.is_on:
                host.power_on()
            else:
                host.start()

    def keep_copies(self) -> None:
        for host in self.backend.hosts:
            if host.file.exists():
                shutil.copyfile(host.file, self._copy(host))

    @staticmethod
    def _copy(host: LoopbackHost) -> t.Any:
        return host.root / "old-copy"

    def _host(self, fault: Fault) -> LoopbackHost:
        if fault.target != "leader":
            return self.backend.hosts[fault.target]
        return self.backend.leader or self.backend.hosts[fault.other]
