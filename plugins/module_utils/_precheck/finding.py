# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings of the precheck, and the codes by which they can be ignored. Pure."""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .._chassis.datapath import CODES as DATAPATH_CODES
from .cluster_findings import CODES as CLUSTER_CODES
from .cluster_findings import Finding

# In the order of the report. docs/troubleshooting.md explains each of them; tests compare.
MACHINE_CODES = (
    # The inventory
    "central_count",
    "duplicate_central_address",
    "duplicate_system_id",
    "duplicate_encapsulation_ip",
    "chassis_clash",
    "same_machine",
    # The hosts
    "host_unreachable",
    "not_measured",
    "operating_system",
    "clock_difference",
    "disk_space",
    "file_system",
    "kernel_module",
    *DATAPATH_CODES,
    # The network
    "address_unusable",
    "address_unresolved",
    "address_not_local",
    "peer_unreachable",
    "port_taken",
    "tunnel_port_taken",
    "mtu_too_small",
    "path_mtu_too_small",
    # The software
    "packages_missing",
    "archive_unreachable",
    "mixed_versions",
    "foreign_ovn",
    "foreign_open_vswitch",
    "open_vswitch_missing",
)
CODES = (*MACHINE_CODES, *CLUSTER_CODES)


CONTROL_NODE = "control node"  # as the object of a finding


def hosts_of(finding: Finding, groups: t.Mapping[str, t.Sequence[str]], hosts: t.Collection[str]) -> list[str]:
    """Return which of `hosts` a finding is about: those that its object begins with or lists, or those of a group, or else all."""
    parts = [part for part in finding.object.split(", ") if part != CONTROL_NODE]
    names = [name for part in parts for name in part.split()[:1]]
    members = [member for name in names for member in groups.get(name) or ()]
    return [host for host in dict.fromkeys([*names, *members]) if host in hosts] or list(hosts)


def check_ignored(codes: t.Iterable[str]) -> None:
    """Raise `InvalidInput` if a code is not known."""
    unknown = [code for code in codes if code not in CODES]
    if unknown:
        raise InvalidInput(
            f"ovn_precheck_ignore has {', '.join(unknown)}, which is no code of a finding. Use codes of these: {', '.join(CODES)}."
        )
