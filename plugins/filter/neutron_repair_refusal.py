# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: neutron_repair_refusal
short_description: Why Neutron must not repair a Northbound database with rows of others
version_added: "0.1.0"
description:
  - With C([ovn] neutron_sync_mode = repair) Neutron deletes rows that its own database lacks at each start. This looks whether some are of another owner, as
    P(c5c3.ovn.census_report#filter) tells owners.
options:
  _input:
    description:
      - Result of M(c5c3.ovn.ovn_database_info) with the tables and columns that the playbook C(c5c3.ovn.census) names; an empty dictionary if nobody could
        be asked, which is a reason as well.
    type: dict
    required: true
  host:
    description: Host that the message names. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that Neutron deletes no rows of others
  ansible.builtin.assert:
    that: northbound | c5c3.ovn.neutron_repair_refusal('controller1') | length == 0
"""

RETURN = r"""
_value:
  description: The reason, with what would be deleted and what to do; empty if there is none.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._report.neutron_sync import repair_refusal
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"neutron_repair_refusal": as_filter(repair_refusal)}
