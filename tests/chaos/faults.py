"""What goes wrong, in the order that the seed gives. The same seed gives the same schedule, whatever the daemons make of it."""

from __future__ import annotations

import dataclasses
import random
import typing as t
from pathlib import Path

LOSES_DATA = ("lose the disk", "put an old copy back")
WITHOUT_DURATION = ("kill the server", "restart the unit", "delete the pod")


@dataclasses.dataclass(frozen=True)
class Fault:
    """`target` is a member by number, or the one that leads when it happens; `other` is the second end of a path."""

    kind: str
    target: int | t.Literal["leader"]
    other: int
    after: float  # seconds since the step began
    lasts: float

    @property
    def duration(self) -> str:
        """For the story; empty if the fault has none of its own."""
        return "" if self.kind in WITHOUT_DURATION else f", for {self.lasts} s"


@dataclasses.dataclass(frozen=True)
class Act:
    """Faults that overlap; then everything is healed, and runs bring the cluster back."""

    faults: tuple[Fault, ...]
    run_dies_after: int | None  # acts (lock, record, step) after which a first run is cut off


def schedule(seed: int, size: int, weights: t.Mapping[str, int]) -> t.Iterator[Act]:
    """Acts without end, of these kinds of faults. At most one disk is lost in an act: what a majority loses is lost, and no rule can change that."""
    chance = random.Random(seed)
    while True:
        kinds = chance.choices(list(weights), list(weights.values()), k=chance.choice((1, 1, 2, 2, 3)))
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


class Server(t.Protocol):
    """A member: its name, its unix socket and its client endpoint (`unix:…`, `tcp:…`)."""

    id: str

    @property
    def socket(self) -> str: ...

    @property
    def endpoint(self) -> str: ...


@dataclasses.dataclass
class Ongoing:
    """A fault that has begun: the member that it met, and the paths of the network that it has cut."""

    fault: Fault
    member: str
    cuts: list[tuple[str, str]] = dataclasses.field(default_factory=list)


class Theatre(t.Protocol):
    """Where a play takes place: a cluster, the faults that it can suffer by their weights, and the product's runs."""

    weights: t.Mapping[str, int]
    servers: t.Sequence[Server]

    def run(self, dies_before: int | None) -> list[str]:
        """One run of the product; the reasons of its steps. Refused or timed out: `OvnError`. `dies_before`: it ends before its so many-th act."""

    def problem(self) -> str:
        """Why the cluster is not healthy, empty if it is and nothing is left to do."""

    def has_leader(self) -> bool: ...

    def keep_copies(self) -> None:
        """Copies of all database files, to be put back later."""

    def begin(self, fault: Fault) -> Ongoing: ...

    def end(self, ongoing: Ongoing) -> None: ...

    def heal(self) -> None:
        """End whatever is left of all faults."""

    def close(self, keep: Path | None) -> None:
        """End all processes; files and logs go to `keep`, if given, else away."""
