# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose overrides for Helm a file on the control node has. Pure."""

from __future__ import annotations

import typing as t

from .._base.sentences import list_names
from .variables import Hostvars, backend_of


def helm_problem(hostvars: Hostvars, hosts: t.Sequence[str], host: str, path: str) -> str:
    """Return why this host cannot write the file, empty if it can. Machines of one Neutron have the same overrides, clusters have not."""
    writers = [one for one in hosts if one == host or hostvars[one].get("ovn_neutron_helm_file") == path]
    if not path or len(writers) < 2 or not any(backend_of(hostvars[one]) == "kubernetes" for one in writers):
        return ""
    return (
        f"ovn_neutron_helm_file of {list_names(writers)} is {path}: each of them would overwrite the overrides of the others in each run. "
        "Nothing was changed. Give each a file of its own, for example with inventory_hostname in its name, then run again."
    )
