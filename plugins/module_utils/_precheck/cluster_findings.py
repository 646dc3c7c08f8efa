# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check found before a run: each finding has a code, the object, the cause and the next step."""

from __future__ import annotations

import typing as t

Kind = t.Literal["cluster", "hypervisors"]
TITLES: dict[Kind, str] = {"cluster": "the control plane", "hypervisors": "the hypervisors"}

# With their meaning in docs/troubleshooting.md.
CODES = (
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


class Finding(t.NamedTuple):
    """One reason why a run would fail. `object` is named in full, `cause` and `next_step` are sentences."""

    code: str
    object: str
    cause: str
    next_step: str

    def as_dict(self) -> dict[str, str]:
        return self._asdict()
