# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Whether a host has the packages that it needs, or could get them. Asks dpkg and apt, refreshes nothing.
"""

from __future__ import annotations

import typing as t

from .._errors import OvnError
from .._packages.commands import Run
from .._packages.observe import read_candidates, read_sources, read_status
from .._packages.plan import desired_versions
from .reachability import connect_all


def read_packages(run: Run | None, packages: t.Iterable[str], seconds: float) -> dict[str, t.Any]:
    """Return `installed` and `candidates` (package to version). If a package has neither: whether the `index` has the lists of all sources, which
    `archives` answer, and which are `unprobed` because nobody can connect to them.

    `run` is None on a host without apt, of which nothing is known. `problem` says why dpkg or apt could not be asked, empty if they could.
    """
    facts: dict[str, t.Any] = {
        "manager": "apt" if run else "",
        "installed": {},
        "candidates": {},
        "index": True,
        "archives": [],
        "unprobed": [],
        "problem": "",
    }
    try:
        names = list(desired_versions(packages, {}))
        return {**facts, **_ask(run, names, seconds)} if run and names else facts
    except OvnError as e:
        return {**facts, "problem": str(e)}


def _ask(run: Run, names: t.Sequence[str], seconds: float) -> dict[str, t.Any]:
    there = read_status(run).installed
    missing = [name for name in names if name not in there]
    answer: dict[str, t.Any] = {
        "installed": {name: there[name].version for name in names if name in there},
        "candidates": read_candidates(run, missing),
    }
    if any(name not in answer["candidates"] for name in missing):
        answer["index"], archives = read_sources(run)
        answer["unprobed"] = archives.unprobed
        if not answer["index"]:
            places = [{"host": host, "address": host, "port": port} for host, port in archives.places]
            answer["archives"] = connect_all(places, seconds)
    return answer
