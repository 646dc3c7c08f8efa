# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check found before a run: each finding has a code, the object, the cause and the next step. Pure."""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .._chassis.datapath import CODES as DATAPATH_CODES

Kind = t.Literal["cluster", "hypervisors"]
TITLES: dict[Kind, str] = {"cluster": "the control plane", "hypervisors": "the hypervisors"}

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
CLUSTER_CODES = (
    "api_unreachable",
    "api_credentials",
    "api_version",
    "resource_missing",
    "specification_invalid",
    "permission_missing",
    "namespace_terminating",
    "namespace_pod_security",
    "definition_newer",
    "definition_terminating",
    "storage_class_missing",
    "storage_class_default_missing",
    "nodes_too_few",
    "nodes_selected_none",
    "node_without_open_vswitch",
    "node_settings_invalid",
    "node_address_missing",
    "node_address_duplicate",
    "node_system_id_duplicate",
    "metadata_agent_on_gateway",
    "quota_exceeded",
    "quota_needs_resources",
    "secret_missing",
    "secret_incomplete",
    "bundle_missing",
    "bundle_incomplete",
    "account_missing",
    "image_incomplete",
)
CODES = (*MACHINE_CODES, *CLUSTER_CODES)
CONTROL_NODE = "control node"  # as the object of a finding


class Finding(t.NamedTuple):
    """One reason why a run would fail. `object` is named in full, `cause` and `next_step` are sentences."""

    code: str
    object: str
    cause: str
    next_step: str

    def as_dict(self) -> dict[str, str]:
        return self._asdict()


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
