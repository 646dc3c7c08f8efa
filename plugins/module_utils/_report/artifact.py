# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The report as an artifact of a run. AWX stores artifacts in its database and hands them to each later job of a workflow, so their size has a limit.
"""

from __future__ import annotations

import copy
import json
import typing as t

LIMIT = 64 * 1024  # bytes of JSON
# What grows with the installation, in the order in which it is left out; the verdicts stay.
_GROWING: tuple[tuple[str, ...], ...] = (
    ("chassis", "details"),
    ("certificates", "chassis"),
    ("lines",),
    ("northbound", "members"),
    ("southbound", "members"),
    ("chassis", "misplaced_ports"),
    ("chassis", "alive"),
    ("chassis", "expected"),
    ("chassis", "unexpected"),
    ("addresses",),
    ("chassis", "late"),
    ("chassis", "missing"),
    ("northbound", "reasons"),
    ("southbound", "reasons"),
    ("warnings",),
    ("problems",),
    ("findings",),
)


def _size(value: t.Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode())


def report_artifact(report: t.Mapping[str, t.Any], limit: int = LIMIT) -> dict[str, t.Any]:
    """Return the report as `ovn_report`, and in `ovn_report_left_out` the keys that it lacks to stay within `limit` bytes of JSON. Pure."""
    kept: dict[str, t.Any] = copy.deepcopy(dict(report))
    left_out: list[str] = []
    for *sections, key in _GROWING:
        if _size(kept) <= limit:
            break
        place: t.Any = kept
        for section in sections:
            place = place.get(section)
        if isinstance(place, dict) and place.get(key):
            del place[key]
            left_out.append(".".join([*sections, key]))
    return {"ovn_report": kept, "ovn_report_left_out": left_out}
