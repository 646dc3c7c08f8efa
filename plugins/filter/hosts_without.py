# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts_without
short_description: Hosts on which something was not done
version_added: "0.1.0"
description:
  - Lists the hosts on which a fact is false. A host that has no such fact took no part and is left out.
options:
  _input:
    description: Hosts of the inventory.
    type: list
    elements: str
    required: true
  fact:
    description: Name of the fact. Positional.
    type: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which central hosts are not rolled out
  ansible.builtin.debug:
    msg: "{{ groups['ovn_central'] | c5c3.ovn.hosts_without(hostvars, 'ovn_central_rolled_out') }}"
"""

RETURN = r"""
_value:
  description: These hosts in their order.
  type: list
  elements: str
  sample: ["central2"]
"""

import typing as t

from ..module_utils._roles.variables import hosts_without
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hosts_without": as_filter(hosts_without)}
