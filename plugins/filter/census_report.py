# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: census_report
short_description: Whose rows are whose in a Northbound database with several owners
version_added: "0.1.0"
description:
  - Tells the owner of each row that M(c5c3.ovn.ovn_database_info) has read of the Northbound database, as C(c5c3.ovn.census) prints it - how many rows
    each owner has, what Neutron would do to rows of others, and names and addresses that clash.
  - Owners are V(neutron), V(octavia) (its OVN provider, part of Neutron's installation), V(kube-ovn), V(ovn-kubernetes), V(c5c3) (this collection)
    and V(unknown). A row is told by its C(external_ids), else by its name, else by the rows that have it.
options:
  _input:
    description:
      - Result of M(c5c3.ovn.ovn_database_info). It needs the tables and columns that the playbook C(c5c3.ovn.census) names, and no references expanded.
    type: dict
    required: true
  sync_modes:
    description:
      - Values of C([ovn] neutron_sync_mode) that the inventory gives Neutron, V(off), V(log), V(repair) or V(migrate); false means V(off), because YAML
        reads it so. Positional.
      - If it is empty, and no row is Neutron's, nothing is said of Neutron.
    type: list
    elements: raw
    default: []
  operated:
    description: Whether the database is one of ours. What holds for the whole OVN (C(NB_Global), C(Connection)) is V(c5c3)'s then, else V(unknown)'s.
    type: bool
    default: true
  rows:
    description: Whether each row is listed.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show whose rows are whose
  c5c3.ovn.ovn_print:
    lines: "{{ northbound | c5c3.ovn.census_report(['off'], rows=true) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample: ["rows            neutron  kube-ovn", "Logical_Switch        2         3", "", "No warnings."]
"""

import typing as t

from ..module_utils._report.census_report import census_lines
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"census_report": as_filter(census_lines)}
