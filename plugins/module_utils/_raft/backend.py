# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rounds of a Raft database need of the place where its members run: machines, pods, a simulation, servers on loopback."""

from __future__ import annotations

import typing as t

from .observation import Observation
from .record import Record
from .step import Round, Step


class RaftBackend(t.Protocol):
    """The members of one database, on machines or in pods. A backend observes and executes; `rounds.py` decides."""

    def observe(self) -> t.Mapping[str, Observation]:
        """Return the observation of every member, all made at the same time. One that could not be examined is missing, which does not mean "absent"."""

    def acquire(self, decided: Round) -> bool:
        """Acquire or renew the right to act. True: it was not held before, so what was observed before may be outdated.

        The title of `decided` shows other runs what is done. `Refused` names the holder.
        """

    def able_to_start(self) -> t.Collection[str]:
        """Return the members that start by themselves as soon as the record lets them: those with a pod, and every machine."""

    def write_record(self, record: Record, step: Step | None) -> None:
        """Store the record where every member and every later run finds it. `step` comes next. `Changed` as for `execute`."""

    def execute(self, step: Step, record: Record) -> None:
        """Observe the target again, execute the step if it is still as in `step.expects`, and wait for its effect.

        `Changed` if the target has changed meanwhile: nothing was done, and the next round observes it.
        """

    def report(self, decided: Round) -> None:
        """Report what the next round does, before it is done."""
