# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks dpkg for the packages of a host, and apt only for those that are not as desired: reading the lists of packages takes apt up to seconds."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
import time
import typing as t

from .._base.errors import OvnError
from .apt_output import (
    STATUS_FORMAT,
    Archives,
    DpkgStatus,
    InstalledPackage,
    have_lists,
    parse_archives,
    parse_candidates,
    parse_obtainable,
    parse_os_release,
    parse_records,
    parse_status,
    proxies_of_environment,
)
from .commands import Commands
from .package_plan import Package, unsatisfied

# How the commands of dpkg and apt are run, and which distribution the host has. Decides nothing.

Run = t.Callable[..., str]  # runs a command, returns its output; a failure is an `OvnError`
_COMMANDS = ("dpkg-query", "apt-cache", "apt-get")
_ENGLISH = {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}


def apt_commands(commands: Commands) -> Run | None:
    """Return what runs a command of dpkg or apt, None on a host without them."""
    if not all(commands.find(command) for command in _COMMANDS):
        return None

    def run(*command: str) -> str:
        code, out, err = commands.run(command, _ENGLISH)
        # apt-cache ends with 100 if it knows none of the packages.
        if code != 0 and (command[0] != "apt-cache" or "No packages found" not in err):
            raise OvnError(
                f"{' '.join(command[:2])} failed: {(err or out).strip()}. Repair it on this host, then run again."
            )
        return out

    return run


def read_distribution() -> dict[str, str]:
    """Return `id`, `version` and `name` of the distribution, see `parse_os_release`."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            return parse_os_release(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return parse_os_release("")


@dataclasses.dataclass(frozen=True)
class Observed:
    """The desired packages and those that need or are needed by one of them in exactly one version; and what a cut off installation has left behind."""

    packages: dict[str, Package]
    interrupted: list[str]


def _family(names: t.Iterable[str], installed: t.Mapping[str, InstalledPackage]) -> list[str]:
    """Return the names and, as far as they are installed, all that is bound to them by exact versions, in either direction."""
    found = list(dict.fromkeys(names))
    for name in found:
        known = installed.get(name)
        bound = (
            [*known.needs, *(other for other, package in installed.items() if name in package.needs)] if known else []
        )
        found += [other for other in bound if other in installed and other not in found]
    return found


def read_status(run: Run) -> DpkgStatus:
    return parse_status(run("dpkg-query", "--show", f"--showformat={STATUS_FORMAT}"))


def read_candidates(run: Run, names: t.Sequence[str]) -> dict[str, str]:
    """Return what apt would install of these packages, without those that no list has."""
    return parse_candidates(run("apt-cache", "policy", *names)) if names else {}


@dataclasses.dataclass(frozen=True)
class Sources:
    """`complete` says whether the lists of all sources of the host are here: a cloud image comes without. `age` is that of the lists, in seconds.
    `archives` are those that a refresh would ask, with proxies, `added` those of sources that a run adds."""

    complete: bool
    age: float
    archives: Archives
    added: Archives


def read_versions(run: Run, names: t.Sequence[str]) -> dict[str, list[str]]:
    """Return the versions of these packages that a source has."""
    return parse_obtainable(run("apt-cache", "madison", *names)) if names else {}


def read_sources(run: Run, added: t.Iterable[str], proxy: str) -> Sources:
    """Return the sources of the host and those at the URIs `added`; `proxy` is what the run sets for apt."""
    uris = run("apt-get", "update", "--print-uris")
    answer = "".join(shlex.split(run("apt-config", "shell", "LISTS", "Dir::State::lists/d")))
    lists = pathlib.Path(answer.partition("=")[2])
    complete = have_lists(uris, [path.name for path in lists.iterdir()] if lists.is_dir() else [])
    # The lists have the times of their archives; each refresh works in these folders.
    refreshed = max((path.stat().st_mtime for path in (lists, lists / "partial") if path.is_dir()), default=0.0)
    more = "".join(f"'{uri}'\n" for uri in added)
    settings = proxies_of_environment(run("apt-config", "dump"), uris + more, proxy, os.environ)
    return Sources(
        complete,
        max(0.0, time.time() - refreshed),
        parse_archives(uris, settings, _read_mirrors),
        parse_archives(more, settings, _read_mirrors),
    )


def _read_mirrors(path: str) -> str:
    """Return the file to which the path below it was added, empty without one that can be read."""
    for place in (pathlib.Path(path), *pathlib.Path(path).parents):
        if place.is_file():
            try:
                return place.read_text(encoding="utf-8", errors="replace")
            except OSError:
                return ""
    return ""


def observe(run: Run, desired: t.Mapping[str, str]) -> Observed:
    """Return what is installed and, for packages that are not as desired and what belongs to them, what can be installed."""
    status = read_status(run)
    names = _family(desired, status.installed)
    asked = _family(
        unsatisfied(desired, {name: known.version for name, known in status.installed.items()}), status.installed
    )
    records: dict[str, dict[str, dict[str, str]]] = {}
    while new := [name for name in asked if name not in records]:
        found = parse_records(run("apt-cache", "show", "--all-versions", *new))
        records.update({name: found.get(name, {}) for name in new})
        needed = [other for name in new for needs in records[name].values() for other in needs]
        asked = _family([*asked, *needed], status.installed)
    candidates = read_candidates(run, asked)
    versions = read_versions(run, asked)
    packages = {}
    for name in dict.fromkeys([*names, *asked]):
        there = status.installed.get(name, InstalledPackage("", False, {}))
        packages[name] = Package(
            installed=there.version,
            held=there.held,
            needs=there.needs,
            candidate=candidates.get(name, ""),
            obtainable={version: records[name].get(version, {}) for version in versions.get(name, ())},
        )
    return Observed(packages, status.interrupted)
