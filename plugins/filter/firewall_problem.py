# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: firewall_problem
short_description: Why the firewall of a machine must not be loaded
version_added: "0.1.0"
description:
  - Tells the roles P(c5c3.ovn.ovn_central#role) and P(c5c3.ovn.ovn_hypervisor#role) before the first change whether the rules would shut somebody out who is
    connected, or could not be made.
options:
  _input:
    description: What M(c5c3.ovn.ovn_firewall) returns in check mode.
    type: dict
    required: true
  host:
    description: Name of the machine. Positional.
    type: str
    required: true
  disconnect:
    description: Whether clients that are connected may be shut out. Positional.
    type: bool
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the firewall can be loaded
  ansible.builtin.assert:
    that: (found.firewall[0] | c5c3.ovn.firewall_problem(inventory_hostname, false)) | length == 0
"""

RETURN = r"""
_value:
  description: The reason and what to do, empty if there is none.
  type: str
"""

import typing as t

from ..module_utils._roles.firewall import firewall_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"firewall_problem": as_filter(firewall_problem)}
