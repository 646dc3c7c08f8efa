# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_remover
short_description: Who removes the logical switch of the connectivity test
version_added: "0.1.0"
description:
  - A host with a guest that answers, else the first one. Used by the role P(c5c3.ovn.ovn_ping#role).
options:
  _input:
    description: C(hostvars). The facts C(ovn_ping_left) and C(ovn_ping_answers) are read.
    type: dict
    required: true
  hosts:
    description: Hosts that may have unplugged their guests; the first ones count first. Positional.
    type: list
    elements: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who removes the switch
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.ping_remover(ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: Name of the host, empty if none has unplugged its guests.
  type: str
  sample: compute1
"""

import typing as t

from ..module_utils._roles.ping import choose_remover
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_remover": as_filter(choose_remover)}
