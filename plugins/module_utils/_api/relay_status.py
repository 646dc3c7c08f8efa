# SPDX-License-Identifier: GPL-3.0-or-later
"""The condition of the relays, to which chassis connect. Pure."""

from __future__ import annotations

import typing as t

from .conditions import StatusCondition, repeat_condition
from .status_conditions import LONGEST

RELAYS = "RelaysReady"


def relays_condition(
    problems: t.Mapping[str, str] | None, before: t.Mapping[str, t.Any] | None
) -> StatusCondition | None:
    """Return the condition; none without relays. `problems` has why the relay of an endpoint does not serve, empty if it does; None: nobody has asked."""
    if problems is None:
        return repeat_condition(before) if before else None
    if not problems:
        return None
    absent = {endpoint: why for endpoint, why in problems.items() if why}
    message = f"{len(problems) - len(absent)} of {len(problems)} relays serve chassis."
    if not absent:
        return StatusCondition(RELAYS, "True", "AllServe", message)
    listed = " ".join(f"{endpoint} does not: {why}." for endpoint, why in sorted(absent.items()))
    advice = "Look at the container relay of that pod, and run c5c3.ovn.central if members of before the relays serve."
    return StatusCondition(RELAYS, "False", "NotServing", f"{message} {advice} {listed}"[:LONGEST])
