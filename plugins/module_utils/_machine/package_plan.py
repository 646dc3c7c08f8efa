# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages a run installs, upgrades, holds and unholds, and what it refuses. Pure."""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
import typing as t

from .._base.errors import InvalidInput
from .distributions import is_exact, is_newer, matches, upstream_version, version_key

_TOOLS = ("nftables",)  # of the whole system: its updates are no matter of OVN, so it is never held

Needs = t.Mapping[str, str]  # name of a package: the only version that will do


@dataclasses.dataclass(frozen=True)
class Package:
    """One package on one host. `obtainable` are the versions that a source has, with what each of them needs; `candidate` is apt's own choice."""

    installed: str = ""
    held: bool = False
    needs: Needs = dataclasses.field(default_factory=dict)
    candidate: str = ""
    obtainable: t.Mapping[str, Needs] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Policy:
    """What an inventory says about packages. `hold` None leaves holds alone; `refreshed` means that the lists of packages are of this run."""

    host: str
    hold: bool | None = None
    allow_downgrade: bool = False
    downgrade_option: str = ""  # that would allow it, with its value, if there is one
    refreshed: bool = False


def desired_versions(names: t.Iterable[str], versions: t.Mapping[str, str]) -> dict[str, str]:
    """Return the pattern of the desired version of each package, empty for any.

    `names` are `NAME` or `NAME=VERSION`, which counts most. Keys of `versions` are names, with `*` for any text; of those that match, the longest counts.
    """
    desired = {}
    for spec in names:
        name, equals, version = (part.strip() for part in str(spec).partition("="))
        if not name or (equals and not version):
            raise InvalidInput(f'"{spec}" names no package. Give NAME or NAME=VERSION.')
        keys = sorted((key for key in versions if fnmatch.fnmatchcase(name, key)), key=len)
        pinned = versions[keys[-1]] if keys else ""
        desired[name] = version or ("" if pinned is None else str(pinned).strip())
    return desired


def unmatched_keys(versions: t.Iterable[str], names: t.Iterable[str]) -> list[str]:
    """Return the keys of `versions` that match none of these names of packages, each `NAME` or `NAME=VERSION`."""
    known = [str(name).partition("=")[0].strip() for name in names]
    return [key for key in versions if not fnmatch.filter(known, key)]


def unsatisfied(desired: t.Mapping[str, str], installed: t.Mapping[str, str]) -> list[str]:
    """Return the packages that are not installed, or in another version; `installed` has the version of each package that is."""
    return [name for name, pattern in desired.items() if not matches(installed.get(name, ""), pattern or "?*")]


def _choose(package: Package, pattern: str) -> str:
    """Return the version to install: what apt would, or the newest one of a pattern; empty if no source is known to have it."""
    if not pattern:
        return package.candidate
    fitting = [version for version in package.obtainable if matches(version, pattern)]
    return max(fitting, key=version_key, default="")


def plan_packages(
    packages: t.Mapping[str, Package], desired: t.Mapping[str, str], policy: Policy, interrupted: t.Sequence[str] = ()
) -> dict[str, t.Any]:
    """Return what a run does with the packages of one host.

    `install`: what apt is given. `targets`: the version of each desired package afterwards, empty while no source is known to have it. `changed`: the
    packages that get another version. `missing`: desired packages that are not installed. `hold`, `unhold`: names. `downgrade`: whether one gets an older
    version. `changes`: all of that as text. `refusals`: why the run must stop. `repair`: packages whose installation was cut off.
    """
    installed = {name: package.installed for name, package in packages.items() if package.installed}
    chosen, unobtainable = {}, []
    for name in unsatisfied(desired, installed):
        chosen[name] = _choose(packages.get(name, Package()), desired[name])
        if not chosen[name] and policy.refreshed:
            unobtainable.append(_unobtainable(name, packages.get(name, Package()), desired[name], policy.host))
        elif not chosen[name] and is_exact(desired[name]):
            chosen[name] = desired[name]
    targets = _with_family(chosen, packages)
    older = [name for name, to in targets.items() if to and name in installed and is_newer(installed[name], to)]
    hold, unhold = _holds(packages, desired, targets, policy)
    refusals = [
        *unobtainable,
        *(
            []
            if policy.allow_downgrade
            else [_downgrade(name, installed[name], targets[name], policy) for name in older]
        ),
        *_foreign_holds(packages, targets, policy),
    ]
    return {
        "install": [f"{name}={to}" if to else name for name, to in targets.items()],
        "targets": {name: targets.get(name, installed.get(name, "")) for name in desired},
        "changed_packages": sorted(targets),
        "missing": [name for name in desired if name not in installed],
        "hold": hold,
        "unhold": unhold,
        "downgrade": bool(older),
        "repair": list(interrupted) if targets else [],
        "changes": [
            *(_change(name, installed.get(name, ""), to) for name, to in targets.items()),
            *(f"hold {name}" for name in hold if not packages.get(name, Package()).held),
            *(f"unhold {name}" for name in unhold),
        ],
        "refusals": refusals,
    }


def _with_family(chosen: t.Mapping[str, str], packages: t.Mapping[str, Package]) -> dict[str, str]:
    """Return the targets with the packages that need one another in one version, such as those of one source.

    apt would refuse to change one of them alone, or remove the others.
    """
    targets = dict(chosen)
    waiting = collections.deque(chosen)
    while waiting:
        name = waiting.popleft()
        package, to = packages.get(name, Package()), targets[name]
        needed = dict(package.obtainable.get(to, {}))
        for other, known in packages.items():
            if to and known.installed == package.installed and known.needs.get(name, to) != to:
                needed.setdefault(other, to)
        for other, version in needed.items():
            if other not in targets and packages.get(other, Package()).installed != version:
                targets[other] = version
                waiting.append(other)
    return targets


def _holds(
    packages: t.Mapping[str, Package], desired: t.Iterable[str], targets: t.Mapping[str, str], policy: Policy
) -> tuple[list[str], list[str]]:
    """Return what to hold and what to unhold: the desired packages and all that they need in one version.

    dpkg may forget the hold of a package that apt replaces, so whatever changes and was on hold is held again.
    """
    family = [name for name in desired if name not in _TOOLS]
    for name in family:
        package = packages.get(name, Package())
        needs = package.obtainable.get(targets[name], {}) if targets.get(name) else package.needs
        family += [other for other in needs if other not in family]
    held = {name for name, package in packages.items() if package.held}
    again = [name for name in targets if name in held and (name not in family or policy.hold is not False)]
    if policy.hold is False:
        return again, [name for name in family if name in held]
    if policy.hold is None:
        return again, []
    there = [name for name in family if name in targets or packages.get(name, Package()).installed]
    return [*again, *(name for name in there if name not in held)], []


def _unobtainable(name: str, package: Package, pattern: str, host: str) -> str:
    others = sorted(package.obtainable, key=version_key)
    known = f"They have {', '.join(others)}." if others else "They have no version of it."
    wanted = f"version {pattern} of {name}" if pattern else name
    return (
        f"No package source of {host} has {wanted}. {known} Correct ovn_packages_versions or the list of packages, "
        "or name a source that has it in ovn_packages_repository."
    )


def _downgrade(name: str, installed: str, to: str, policy: Policy) -> str:
    accept = f", or accept it with {policy.downgrade_option} for one run" if policy.downgrade_option else ""
    return (
        f"{name} on {policy.host} is {installed}, and {to} is older. It is not downgraded, because what a newer server has written an older one may not "
        f"read: a schema cannot go back. Correct the version{accept}."
    )


def _foreign_holds(packages: t.Mapping[str, Package], targets: t.Mapping[str, str], policy: Policy) -> list[str]:
    if policy.hold is not None:
        return []
    return [
        f"{name} on {policy.host} is on hold with {packages[name].installed}, and the run would install {to or 'another version'}. Set ovn_packages_hold: true "
        f"if runs manage the holds of their packages, or release it (apt-mark unhold {name})."
        for name, to in targets.items()
        if packages.get(name, Package()).held
    ]


def _change(name: str, installed: str, to: str) -> str:
    if not installed:
        return f"install {name} {to}".rstrip()
    if not to:
        return f"change {name} {installed}"
    return f"{'downgrade' if is_newer(installed, to) else 'upgrade'} {name} {installed} to {to}"


def mixed_versions(plans: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """Return which packages would differ between these hosts after the run, because of the run; Debian's revisions may differ.

    What differs already and is not touched is no reason to stop a run that may be needed.
    """
    found = []
    for name in dict.fromkeys(name for plan in plans.values() for name in plan["targets"]):
        hosts: dict[str, list[str]] = {}
        for host, plan in plans.items():
            version = upstream_version(plan["targets"].get(name) or "")
            if version:
                hosts.setdefault(version, []).append(host)
        if len(hosts) > 1 and any(name in plan["changed_packages"] for plan in plans.values()):
            parts = [f"{version} on {', '.join(hosts[version])}" for version in sorted(hosts, key=version_key)]
            found.append(f"{name} would be {' and '.join(parts)}")
    return found
