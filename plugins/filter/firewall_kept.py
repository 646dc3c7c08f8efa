# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: firewall_kept
short_description: Why a machine keeps rules of its firewall that nobody declares
version_added: "0.1.0"
description:
  - Says for the roles P(c5c3.ovn.ovn_central#role) and P(c5c3.ovn.ovn_hypervisor#role) what keeps the rules of a machine that is not a central host any more.
options:
  _input:
    description: What M(c5c3.ovn.ovn_firewall) returns.
    type: dict
    required: true
  host:
    description: Name of the machine. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what keeps the rules
  c5c3.ovn.ovn_print:
    lines: ["{{ found.firewall[0] | c5c3.ovn.firewall_kept(inventory_hostname) }}"]
  when: found.firewall[0].kept_for | length > 0
"""

RETURN = r"""
_value:
  description: The reasons and what to do, empty if it keeps none.
  type: str
"""

import typing as t

from ..module_utils._roles.firewall import firewall_kept
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"firewall_kept": as_filter(firewall_kept)}
