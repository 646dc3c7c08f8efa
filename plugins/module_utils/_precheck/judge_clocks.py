# SPDX-License-Identifier: GPL-3.0-or-later
"""Which clocks are wrong: those of hosts against that of the control node and against each other. Pure."""

from __future__ import annotations

import typing as t

from .finding import CONTROL_NODE, Finding
from .measured import MeasuredHost

_STEP = "Set both clocks with NTP (chrony, systemd-timesyncd)"
_WHY = "certificates and heartbeats need the same time everywhere"


class _Clock(t.NamedTuple):
    """How many seconds a clock is ahead of the control node's at least and at most: the way there and back took an unknown part of the time."""

    host: str
    least: float
    most: float
    limit: float

    @property
    def is_off(self) -> bool:
        return self.least > self.limit or self.most < -self.limit


def judge_clocks(hosts: t.Iterable[MeasuredHost]) -> list[Finding]:
    """Return the findings of all hosts that were measured. If all of them are off and agree with each other, the control node's clock is wrong."""
    clocks = [_clock(host) for host in hosts if host.facts]
    off = [one for one in clocks if one.is_off]
    if len(off) > 1 and len(off) == len(clocks) and not _apart(off):
        return [_control_node(off)]
    return [*map(_against_control_node, off), *_apart([one for one in clocks if not one.is_off])]


def _clock(host: MeasuredHost) -> _Clock:
    clock = host.facts["clock"]
    return _Clock(
        host.name, clock["ended"] - host.received, clock["began"] - host.sent, float(host.limits.clock_seconds)
    )


def _against_control_node(clock: _Clock) -> Finding:
    far, direction = (clock.least, "ahead of") if clock.least > 0 else (-clock.most, "behind")
    cause = f"its clock is {far:.0f} s or more {direction} the control node's; {_WHY}"
    return Finding("clock_difference", clock.host, cause, _STEP)


def _control_node(clocks: t.Sequence[_Clock]) -> Finding:
    ahead = clocks[0].least > 0
    far = min(one.least for one in clocks) if ahead else min(-one.most for one in clocks)
    cause = f"its clock is {far:.0f} s or more {'behind' if ahead else 'ahead of'} those of all {len(clocks)} hosts, which agree; {_WHY}"
    return Finding("clock_difference", CONTROL_NODE, cause, "Set its clock with NTP (chrony, systemd-timesyncd)")


def _apart(clocks: t.Sequence[_Clock]) -> list[Finding]:
    """Return the two clocks that are farthest apart, if they are too far apart for certain."""
    if not clocks:
        return []
    fast, slow = max(clocks, key=lambda one: one.least), min(clocks, key=lambda one: one.most)
    far = fast.least - slow.most
    if far <= max(fast.limit, slow.limit):
        return []
    cause = f"the clock of the first is {far:.0f} s or more ahead of the other; {_WHY}"
    return [Finding("clock_difference", f"{fast.host}, {slow.host}", cause, _STEP)]
