# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts_unread
short_description: Hosts whose result could not be read, with the cause
version_added: "0.1.0"
description:
  - Returns a line for each host that was not reached, failed, or did not take part in the run. Hosts that skipped the task are left out.
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
- name: Show which hypervisors were not read
  c5c3.ovn.ovn_print:
    lines: "{{ groups['ovn_hypervisors'] | c5c3.ovn.hosts_unread(hostvars, 'ovn_show_open_vswitch') }}"
"""

RETURN = r"""
_value:
  description: The lines, in the order of the hosts.
  type: list
  elements: str
  sample: ["compute2: not read: Connection refused"]
"""

import typing as t

from ..module_utils._roles.rendered import unread_hosts
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hosts_unread": as_filter(unread_hosts)}
