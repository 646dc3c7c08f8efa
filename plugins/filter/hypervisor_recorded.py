# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hypervisor_recorded
short_description: Which chassis a machine is by its files
version_added: "0.1.0"
description:
  - Tells from the system id and the unit that the role P(c5c3.ovn.ovn_hypervisor#role) has written whether the machine is a chassis, and which one.
options:
  _input:
    description: The text of each file that is there, by its path, as in RV(c5c3.ovn.ovn_host_info#module:files).
    type: dict
    required: true
  given:
    description: The paths C(system_id_file) and C(unit). Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the recorded name of the chassis
  ansible.builtin.debug:
    msg: "{{ (found.files | c5c3.ovn.hypervisor_recorded(_ovn_hypervisor_given)).system_id }}"
"""

RETURN = r"""
_value:
  description: C(set_up) says whether the machine was set up as a chassis once, C(system_id) is its recorded name, empty without one.
  type: dict
  sample: {"set_up": true, "system_id": "compute1"}
"""

import typing as t

from ..module_utils._roles.hypervisor import recorded_chassis
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hypervisor_recorded": as_filter(recorded_chassis)}
