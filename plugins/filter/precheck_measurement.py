# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: precheck_measurement
short_description: What is to be measured on a host before the first change
version_added: "0.1.0"
description:
  - Computes the options of M(c5c3.ovn.ovn_precheck) for one host from what the inventory declares about it and about those that it will talk to.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  given:
    description: The options of the role P(c5c3.ovn.ovn_precheck#role), without their prefix. Positional.
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.groups
  - c5c3.ovn._inventory.host
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what is measured on this host
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.precheck_measurement(groups, inventory_hostname, {}) }}"
"""

RETURN = r"""
_value:
  description: Options of the module. None for a host that is no machine, or that no run changes.
  type: dict
  sample: {"tcp_ports": [6641, 6642, 6643, 6644, 16642]}
"""

import typing as t

from ..module_utils._precheck.from_hostvars import measurement_of_host
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"precheck_measurement": as_filter(measurement_of_host)}
