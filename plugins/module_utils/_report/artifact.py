# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as an artifact of a run. AWX stores artifacts in its database and hands them to each later job of a workflow, so their size has a limit."""

from __future__ import annotations

import copy
import json
import typing as t

LIMIT = 64 * 1024  # bytes of JSON
FIRST = 20  # items that stay of what is too long
# What grows with the installation, in the order in which it is shortened; the verdicts stay.
_GROWING: tuple[tuple[str, ...], ...] = (
    ("chassis", "details"),
    ("certificates", "chassis"),
    ("chassis", "lookups"),
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
    """Return the report as `ovn_report`, and in `ovn_report_left_out` how many items each shortened key lacks to stay within `limit` bytes of JSON. Pure.

    What is long keeps its first items, then none; if that is not enough, only numbers and yes or no are left of the report.
    """
    kept: dict[str, t.Any] = copy.deepcopy(dict(report))
    left_out: dict[str, int] = {}
    for most in (FIRST, 0):
        for path in _GROWING:
            if _size(kept) <= limit:
                return {"ovn_report": kept, "ovn_report_left_out": left_out}
            if missing := _shorten(kept, path, most):
                name = ".".join(path)
                left_out[name] = left_out.get(name, 0) + missing
    if _size(kept) > limit:
        left_out |= {key: _items(value) for key, value in report.items() if not _is_small(value)}
        kept = {key: value for key, value in kept.items() if _is_small(value)}
    return {"ovn_report": kept, "ovn_report_left_out": left_out}


def _shorten(report: dict[str, t.Any], path: tuple[str, ...], most: int) -> int:
    """Leave the first items of a list or dictionary; return how many are gone."""
    place: t.Any = report
    for section in path[:-1]:
        place = place.get(section) if isinstance(place, dict) else None
    value = place.get(path[-1]) if isinstance(place, dict) else None
    if not isinstance(value, (list, dict)) or len(value) <= most:
        return 0
    place[path[-1]] = value[:most] if isinstance(value, list) else dict(list(value.items())[:most])
    return len(value) - most


def _is_small(value: t.Any) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _items(value: t.Any) -> int:
    return len(value) if isinstance(value, (list, dict)) else 1
