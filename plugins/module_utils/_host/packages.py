# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed, held and obtainable on a host, in the form of `ovn_packages_info`."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._machine.commands import Commands
from .._machine.installed_packages import Observed, apt_commands, observe, read_distribution
from .._machine.package_plan import desired_versions, unsatisfied

OPTIONS: dict[str, dict[str, t.Any]] = {
    "packages": {"type": "list", "elements": "str", "default": []},
    "versions": {"type": "dict", "default": {}},
    "paths": {"type": "list", "elements": "path", "default": []},
}


def read_packages(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return the result of `ovn_packages_info`; `OvnError` if dpkg or apt fails."""

    run = apt_commands(commands)
    desired = desired_versions(params["packages"], params["versions"])
    observed = observe(run, desired) if run else Observed({}, [])
    return {
        "distribution": read_distribution(),
        "manager": "apt" if run else "",
        "desired": desired,
        "unsatisfied": unsatisfied(desired, {name: known.installed for name, known in observed.packages.items()}),
        "packages": {name: dataclasses.asdict(known) for name, known in observed.packages.items()},
        "interrupted": observed.interrupted,
        "paths": [path for path in params["paths"] if os.path.exists(path)],
    }
