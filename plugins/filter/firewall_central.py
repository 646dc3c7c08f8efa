# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: firewall_central
short_description: The central hosts whose firewall has to be told of new hypervisors
version_added: "0.1.0"
description:
  - A chassis that is new has to be let in before it connects. Those whose firewall is managed do so in their own role; this names the ones that this run
    has not rolled out, because of its limit for example (fact C(ovn_central_rolled_out)).
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  groups:
    description: C(groups), or any mapping of group names to host names. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who has to let a new hypervisor in
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.firewall_central(groups) }}"
"""

RETURN = r"""
_value:
  description: Names of the hosts, in the order of the group.
  type: list
  elements: str
  sample: [central1, central2, central3]
"""

import typing as t

from ..module_utils._roles.firewall import managed_central_hosts
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"firewall_central": as_filter(managed_central_hosts)}
