# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_packages: its options and what was found on a host to what a run does there. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.inventory import as_list
from .._machine.distributions import PACKAGES, source_file
from .._machine.package_plan import Package, Policy, mixed_versions, plan_packages, unmatched_keys
from .variables import Variables, is_true

LIBRARY = "python3-cryptography"  # what the role ovn_pki installs on machines that lack it
_OF_ROLES = ("ovn_central_distribution", "ovn_hypervisor_distribution")  # with their packages


@dataclasses.dataclass(frozen=True)
class PackagesOptions:
    """The options of the role, which an inventory sets for the packages of all roles."""

    versions: dict[str, t.Any]
    hold: t.Any  # a boolean, or empty: holds are left alone
    repository: dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class PackagesRequest:
    """What a role asks for its packages, the argument `request` of `packages_plan`."""

    names: list[str]
    files: list[str]  # prove that packages are there where apt cannot say it
    downgrade_option: str  # with its value, which messages name
    allow_downgrade: bool = False
    equal_on: list[str] = dataclasses.field(default_factory=list)  # hosts that have to get equal versions
    compared: bool = False  # by the same run, with the lists that the hosts had then


def packages_plan(
    found: Variables,
    request: PackagesRequest,
    options: PackagesOptions,
    host: str,
    variables: Variables,
    *,
    refreshed: bool = False,
    source_directory: str = "/etc/apt/sources.list.d",
) -> dict[str, t.Any]:
    """Return what a run does with the packages of one host, see `plan_packages`; `found` is the answer of `ovn_packages_info`.

    The result is that of `plugins/modules/packages_plan.yml`. The versions of the inventory serve all roles, so a key also counts if it matches one of
    their packages, which are in `variables`.
    """
    hold = None if options.hold == "" else is_true({"ovn_packages_hold": options.hold}, "ovn_packages_hold")
    desired = found["desired"]
    given = [LIBRARY, *((variables.get(role) or {}).get("packages") for role in _OF_ROLES)]
    role_packages = [name for packages in given for name in as_list(packages or [])]
    known = [*PACKAGES, *role_packages, *desired, *found["packages"]]
    source = source_file(options.repository, source_directory)
    common = {
        "manager": found["manager"],
        "source_files": [{"path": source[0], "content": source[1]}] if source else [],
        "compare": bool(request.equal_on),
        "pinned": bool(options.versions),
        "warnings": [
            f'The key "{key}" of ovn_packages_versions matches no package, so it pins nothing. Correct or remove it.'
            for key in unmatched_keys(options.versions, known)
        ],
    }
    if found["manager"] == "apt":
        policy = Policy(host, hold, request.allow_downgrade, request.downgrade_option, refreshed)
        packages = {name: Package(**values) for name, values in found["packages"].items()}
        plan = plan_packages(packages, desired, policy, found["interrupted"])
        due = any(plan[part] for part in ("install", "hold", "unhold", "repair"))
        # Between a check and its installation the lists of single hosts may have become newer.
        compare = common["compare"] and not (request.compared and not refreshed and plan["install"])
        return {**plan, **common, "compare": compare, "due": due}
    return {**_plan_without_apt(found, request, host, hold), **common}


def _plan_without_apt(found: Variables, request: PackagesRequest, host: str, hold: bool | None) -> dict[str, t.Any]:
    """Return the plan for a package manager that says nothing about versions: packages are missing if one of `files` is."""
    desired = found["desired"]
    missing = list(desired) if set(request.files) - set(found["paths"]) else []
    pinned = [f"{name}={version}" for name, version in desired.items() if version]
    asked = [
        *([f"the versions {', '.join(pinned)}"] if pinned else []),
        *(["ovn_packages_hold"] if hold is not None else []),
    ]
    return {
        **plan_packages({}, {}, Policy(host)),
        "install": missing,
        "missing": missing,
        "due": bool(missing),
        "changes": [f"install {name}" for name in missing],
        "refusals": [
            f"{host} has no apt, so {' and '.join(asked)} cannot be kept there. Leave them out for this host, "
            "and pin packages with its own package manager."
        ]
        if asked
        else [],
    }


def mixed_versions_problem(plans: t.Mapping[str, t.Any], *, refreshed: bool) -> str:
    """Return which packages would differ between these hosts, and what to do; empty if none would. A host without a plan has None.

    Lists of different ages have different candidates, so what is not pinned is judged once the lists of those hosts that install something are refreshed.
    """
    planned = {host: plan for host, plan in plans.items() if plan and "targets" in plan}  # not of a host that failed
    pinned = any(plan.get("pinned") for plan in planned.values())
    if not (refreshed or pinned or not any(plan["install"] for plan in planned.values())):
        return ""
    found = mixed_versions(planned)
    return (
        f"{'; '.join(found)}. Members of one Raft cluster run one version. Give all of them the same one in ovn_packages_versions, or, while "
        "machines are moved to another release one by one, run with ovn_central_permit=mixed_versions."
        if found
        else ""
    )
