# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_listeners
short_description: The listeners that a certificate opens, and what they serve
version_added: "0.1.0"
description:
  - Lists the ports of central machines for M(c5c3.ovn.ovn_listeners_info).
positional: hostvars, access
options:
  _input:
    description: From central machines to the serial numbers of their certificates, each empty if any certificate is right.
    type: dict
    required: true
  hostvars:
    description: C(hostvars).
    type: dict
    required: true
  access:
    description: V(central) for all ports, V(chassis) for 6642 alone.
    type: str
    choices: [central, chassis]
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where chassis connect
  ansible.builtin.debug:
    msg: "{{ {'central1': ''} | c5c3.ovn.pki_listeners(hostvars, 'chassis') | list }}"
"""

RETURN = r"""
_value:
  description: From endpoints to serial numbers.
  type: dict
  sample: {"ssl:192.0.2.11:6642": "3a91c0"}
"""

import typing as t

from ..module_utils._roles.rotation import expected_listeners
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_listeners": as_filter(expected_listeners)}
