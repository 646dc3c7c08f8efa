"""What goes wrong, in the order that the seed gives. The same seed gives the same schedule, whatever the daemons make of it."""

from __future__ import annotations

import dataclasses
import random
import shutil
import signal
import typing as t

from _loopback import LoopbackBackend, LoopbackHost
from network import CLIENTS, Network

Kind = t.Literal[
    "kill the server",
    "pause the server",
    "stop and start the unit",
    "restart the unit",
    "power off the host",
    "lose the disk",
    "put an old copy back",
    "isolate the host",
    "cut one direction",
    "cut off from clients",
]
_WEIGHTS: dict[Kind, int] = {
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
LOSES_DATA = ("lose the disk", "put an old copy back")
SWITCHES_OFF = ("power off the host", *LOSES_DATA)


@dataclasses.dataclass(frozen=True)
class Fault:
    """`target` is a member by number, or the one that leads when it happens; `other` is the second end of a path."""

    kind: Kind
    target: int | t.Literal["leader"]
    other: int
    after: float  # seconds since the step began
    lasts: float

    @property
    def duration(self) -> str:
        """For the story; empty if the fault has none of its own."""
        return "" if self.kind in ("kill the server", "restart the unit") else f", for {self.lasts} s"


@dataclasses.dataclass(frozen=True)
class Act:
    """Faults that overlap; then everything is healed, and runs bring the cluster back."""

    faults: tuple[Fault, ...]
    run_dies_after: int | None  # acts (lock, record, step) of a first run that is killed


def schedule(seed: int, size: int) -> t.Iterator[Act]:
    """Acts without end. At most one disk is lost in an act: what a majority loses is lost, and no rule can change that."""
    chance = random.Random(seed)
    while True:
        kinds = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=chance.choice((1, 1, 2, 2, 3)))
        faults, lost = [], False
        for kind in kinds:
            if kind in LOSES_DATA and lost:
                kind = "kill the server"
            lost = lost or kind in LOSES_DATA
            target: int | t.Literal["leader"] = "leader" if chance.random() < 0.4 else chance.randrange(size)
            lasts = chance.uniform(0.5, 8.0)
            faults.append(Fault(kind, target, chance.randrange(size), round(chance.uniform(0, 3), 1), round(lasts, 1)))
        dies = chance.choice((None, None, 1, 2, 3, 4))
        yield Act(tuple(sorted(faults, key=lambda fault: fault.after)), dies)


@dataclasses.dataclass
class Ongoing:
    """A fault that has begun: the host that it met and the paths that it has cut."""

    fault: Fault
    host: LoopbackHost
    cuts: list[tuple[str, str]] = dataclasses.field(default_factory=list)


class Stage:
    """Makes faults happen on real hosts and ends them."""

    def __init__(self, backend: LoopbackBackend, network: Network) -> None:
        self.backend, self.network = backend, network

    def begin(self, fault: Fault) -> Ongoing:
        host = self._host(fault)
        ongoing = Ongoing(fault, host)
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

    def _switch_off(self, host: LoopbackHost, kind: Kind) -> None:
        host.power_off()
        if kind == "lose the disk":
            host.lose_disk()
        elif kind == "put an old copy back" and self._copy(host).exists():
            shutil.copyfile(self._copy(host), host.file)

    def end(self, ongoing: Ongoing) -> None:
        kind, host = ongoing.fault.kind, ongoing.host
        for path in ongoing.cuts:
            self.network.restore(*path)
        if kind == "pause the server":
            host.signal_server(signal.SIGCONT)
        elif kind == "stop and start the unit":
            host.start()
        elif kind in SWITCHES_OFF:
            host.power_on()

    def heal(self) -> None:
        """End whatever is left of all faults."""
        self.network.heal()
        for host in self.backend.hosts:
            host.signal_server(signal.SIGCONT)
            if not host.is_on:
                host.power_on()
            else:
                host.start()

    def keep_copies(self) -> None:
        """Copies of all database files, to be put back later."""
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
