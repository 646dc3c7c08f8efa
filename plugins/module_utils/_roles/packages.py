# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_packages: its options and what was found on a host to what a run does there. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._distributions import PACKAGES
from .._inventory import as_list
from .._packages.plan import Package, Policy, plan_packages, unmatched_keys
from .._packages.source import source_file
from .options import read_options
from .variables import Variables

PREFIX = "ovn_packages_"


@dataclasses.dataclass(frozen=True)
class PackagesOptions:
    """What the inventory says about packages. Without `hold` holds are left alone. `files` prove that packages are there where apt cannot say it.

    `versions` serve all roles of the inventory, so a key also counts if it matches one of their packages, `role_packages`.
    """

    host: str
    hold: bool | None = None
    allow_downgrade: bool = False
    downgrade_option: str = Policy.downgrade_option
    refreshed: bool = False
    files: list[str] = dataclasses.field(default_factory=list)
    source_files: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    versions: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    role_packages: list[str] = dataclasses.field(default_factory=list)


def packages_plan(found: Variables, given: Variables) -> dict[str, t.Any]:
    """Return what a run does with the packages of one host, see `plan_packages`; `found` is the answer of `ovn_packages_info`.

    `due` says whether it installs, repairs, holds or releases anything; whether `source_files` are there is not known here.
    `warnings` names versions that count for no package.
    `manager` is "apt", or empty on a host where the packages come from another package manager, which knows neither versions nor holds here.
    """
    options = read_options(PackagesOptions, given, PREFIX)
    desired = found["desired"]
    role_packages = [
        name for names in options.role_packages for name in as_list(names)
    ]  # a list may be a text with commas
    warnings = [
        f'The key "{key}" of ovn_packages_versions matches no package, so it pins nothing. Correct or remove it.'
        for key in unmatched_keys(options.versions, [*PACKAGES, *role_packages, *desired, *found["packages"]])
    ]
    if found["manager"] == "apt":
        policy = Policy(
            options.host, options.hold, options.allow_downgrade, options.downgrade_option, options.refreshed
        )
        packages = {name: Package(**known) for name, known in found["packages"].items()}
        plan = plan_packages(packages, desired, policy, found["interrupted"])
        due = any(plan[part] for part in ("install", "hold", "unhold", "repair"))
        return {
            **plan,
            "manager": "apt",
            "due": due,
            "source_files": options.source_files,
            "warnings": warnings,
        }
    missing = list(desired) if set(options.files) - set(found["paths"]) else []
    pinned = [f"{name}={version}" for name, version in desired.items() if version]
    asked = [
        *([f"the versions {', '.join(pinned)}"] if pinned else []),
        *(["ovn_packages_hold"] if options.hold is not None else []),
    ]
    return {
        **plan_packages({}, {}, Policy(options.host)),
        "manager": "",
        "install": missing,
        "missing": missing,
        "due": bool(missing),
        "source_files": options.source_files,
        "warnings": warnings,
        "changes": [f"install {name}" for name in missing],
        "refusals": [
            f"{options.host} has no apt, so {' and '.join(asked)} cannot be kept there. Leave them out for this host, "
            "and pin packages with its own package manager."
        ]
        if asked
        else [],
    }


def package_source(repository: Variables, directory: str) -> list[dict[str, str]]:
    """Return the file of the declared package source as the module `ovn_units` takes it; none if no source is declared."""
    file = source_file(repository, directory)
    return [{"path": file[0], "content": file[1]}] if file else []
