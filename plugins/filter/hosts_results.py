# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts_results
short_description: Results that a task has registered on several hosts
version_added: "0.1.0"
description:
  - Returns the result of each host. Hosts that were not reached, skipped the task or failed are left out, also where C(failed_when) forgives it.
options:
  _input:
    description: Hosts of the inventory.
    type: list
    elements: str
    required: true
  name:
    description: Name of the variable that the task registers. Positional.
    type: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which central hosts have answered
  ansible.builtin.debug:
    msg: "{{ groups['ovn_central'] | c5c3.ovn.hosts_results(hostvars, 'ovn_show_member') | list }}"
"""

RETURN = r"""
_value:
  description: The result of each host, in the order of the hosts.
  type: dict
  sample: {"central2": {"tables": {}}}
"""

import typing as t

from ..module_utils._roles.rendered import results_of_hosts
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hosts_results": as_filter(results_of_hosts)}
