# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_source_problem
short_description: Why a run cannot go by the OVNCluster of another client
version_added: "0.1.0"
description:
  - It cannot be read, does not exist, or variables of the inventory say something else than its fields.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  groups:
    description: C(groups). Positional.
    type: dict
    required: true
  host:
    description: The host that stands for its cluster. Positional.
    type: str
    required: true
  answer:
    description: The result of M(c5c3.ovn.ovn_cluster_info). Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what is in the way
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.cluster_source_problem(groups, 'control-plane', ovn_verify_resource) }}"
"""

RETURN = r"""
_value:
  description: A text for people, empty if nothing is in the way.
  type: str
"""

import typing as t

from ..module_utils._roles.cluster_source import source_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"cluster_source_problem": as_filter(source_problem)}
