# SPDX-License-Identifier: GPL-3.0-or-later
"""Election timer and inactivity probe that a database needs because of its size. Pure.

While a server writes a snapshot, receives one or compacts its file, it answers no client; the time grows with the file. A member that hears
nothing for an election timer starts an election, a client that hears nothing for twice its probe goes elsewhere and asks for everything
again. docs/sizing.md has the measurements behind the figures.
"""

from __future__ import annotations

import typing as t

from .answer import Answer
from .observation import Observation

# For how many seconds after its start nothing is wrong with a server that does not do yet what it should, on machines and in pods.

# Reading a large database takes minutes, and after a restart it begins from the start. A server that does not answer for longer than this hangs.
LOADING_SECONDS = 600.0
# After its start a server connects to the others with a growing pause, and then there may be an election.
FINDS_OTHERS_SECONDS = 30.0
# In pods a cluster's DNS keeps "no such name" for up to 30 s, and so does the server's own resolver.
FINDS_OTHERS_IN_PODS_SECONDS = FINDS_OTHERS_SECONDS + 60.0


# Measured: seconds that a server does not answer, for each byte of its file.
_BLOCKED_SECONDS = 0.15e-6
STEPS = (1000, 5000, 10000, 20000, 40000, 60000)
LONGEST = STEPS[-1]


class Size(t.NamedTuple):
    """The largest file of the members in bytes, and the election timer that the leader has now (milliseconds, None: no member leads)."""

    file_bytes: int = 0
    election_timer: int | None = None


class Timers(t.NamedTuple):
    """Milliseconds. `reason` says why they are longer than declared; empty if they are not."""

    election_timer: int
    inactivity_probe: int
    reason: str = ""


def recommended_timer(file_bytes: int) -> int:
    """Return the shortest election timer of the steps that outlasts what a file of this size blocks a server, in milliseconds."""
    blocked = file_bytes * _BLOCKED_SECONDS * 1000
    return next((step for step in STEPS if step >= blocked), LONGEST)


def recommended_probe(file_bytes: int) -> int:
    """Return the inactivity probe for clients, in milliseconds: as long as the election timer, for the same server answers both."""
    return max(5000, recommended_timer(file_bytes))


def size_of(observations: t.Iterable[Observation]) -> Size:
    """Return how large the files of one database are; an unknown size counts as 0."""
    observations = list(observations)
    statuses = (Answer.from_dict(o.answer).status for o in observations if o.leader and o.answer)
    timer = next((status.election_timer for status in statuses if status is not None), None)
    return Size(max((o.file_bytes or 0 for o in observations), default=0), timer)


def timers_for(size: Size, election_timer: int, inactivity_probe: int) -> Timers:
    """Return the declared timers, or longer ones where the largest file needs them.

    A longer timer that is set stays until the largest file is half as large as what it was set for: files grow and are compacted all the time.
    A probe of 0 is switched off and stays so.
    """
    needed = max(election_timer, recommended_timer(size.file_bytes))
    if size.election_timer is not None and needed < size.election_timer <= recommended_timer(2 * size.file_bytes):
        needed = size.election_timer
    probe = inactivity_probe
    if probe and needed > election_timer:
        probe = max(probe, recommended_probe(size.file_bytes))
    longer = [f"election timer {needed} ms instead of {election_timer} ms"] if needed > election_timer else []
    longer += [f"probes {probe} ms instead of {inactivity_probe} ms"] if probe > inactivity_probe else []
    reason = f"The largest file has {size.file_bytes / 1e6:.0f} MB: {', '.join(longer)}." if longer else ""
    return Timers(needed, probe, reason)
