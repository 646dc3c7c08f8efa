# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host has the packages that it needs, or could get them. Asks dpkg and apt, refreshes nothing."""

from __future__ import annotations

import importlib.util
import typing as t

from .._base.errors import OvnError
from .._machine.apt_commands import Run
from .._machine.installed_packages import read_candidates, read_sources, read_status, read_versions
from .._machine.package_plan import desired_versions, unsatisfied
from .._machine.package_versions import matches, version_key
from .reachability import connect_all


def read_packages(
    run: Run | None,
    packages: t.Sequence[str],
    seconds: float,
    *,
    library: t.Sequence[str] = (),
    repository: t.Sequence[str] = (),
    proxy: str = "",
) -> dict[str, t.Any]:
    """Return `installed` and `candidates` (package to version). If one has to be installed: whether the `index` has the lists of all sources, its `index_age`
    in seconds, which `archives` answer and which of the `repository`, and which are `unprobed` because nobody can connect to them.

    `library` are packages that are needed, too, if this Python cannot read certificates (`library_missing`).
    `repository` are URIs of a source that the run adds, `proxy` is that of the run. `run` is None on a host without apt, of which nothing is known.
    `problem` says why dpkg or apt could not be asked, empty if they could.
    """
    library_missing = importlib.util.find_spec("cryptography") is None
    facts: dict[str, t.Any] = {
        "manager": "apt" if run else "",
        "installed": {},
        "candidates": {},
        "library_missing": library_missing,
        "index": True,
        "index_age": 0.0,
        "archives": [],
        "repository": [],
        "unprobed": [],
        "problem": "",
    }
    try:
        desired = desired_versions([*packages, *(library if library_missing else ())], {})
        if not run or not desired:
            return facts
        there = read_status(run).installed
        facts["installed"] = {name: there[name].version for name in desired if name in there}
        lacking = {name: desired[name] for name in unsatisfied(desired, facts["installed"])}
        facts["candidates"] = _candidates(run, lacking)
        return {**facts, **_ask_archives(run, seconds, repository, proxy)} if lacking else facts
    except OvnError as e:
        return {**facts, "problem": str(e)}


def _candidates(run: Run, lacking: t.Mapping[str, str]) -> dict[str, str]:
    """Return the version of each package that a run would install, without those that no list has in the version that is declared."""
    pinned = [name for name, pattern in lacking.items() if pattern]
    found = read_candidates(run, [name for name in lacking if name not in pinned])
    for name, versions in read_versions(run, pinned).items():
        fitting = [version for version in versions if matches(version, lacking[name])]
        if fitting:
            found[name] = max(fitting, key=version_key)
    return found


def _ask_archives(run: Run, seconds: float, repository: t.Sequence[str], proxy: str) -> dict[str, t.Any]:
    sources = read_sources(run, repository, proxy)
    places = [*sources.archives.places, *sources.added.places]
    answers = connect_all([{"host": host, "address": host, "port": port} for host, port in places], seconds)
    count = len(sources.archives.places)
    return {
        "index": sources.complete,
        "index_age": sources.age,
        "archives": answers[:count],
        "repository": answers[count:],
        "unprobed": list(dict.fromkeys([*sources.archives.unprobed, *sources.added.unprobed])),
    }
