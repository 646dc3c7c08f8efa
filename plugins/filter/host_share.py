# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: host_share
short_description: The hosts that are the task of one host
version_added: "0.1.0"
description:
  - Several hosts share work on others. Returns the part of one of them; each host is in exactly one part.
options:
  _input:
    description: All hosts that something is to be done for. One that is listed twice counts once.
    type: list
    elements: str
    required: true
  sharing:
    description: The hosts that share the work, usually C(ansible_play_hosts). Positional.
    type: list
    elements: str
    required: true
  host:
    description: One of them. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which hypervisors this central host looks at
  ansible.builtin.debug:
    msg: "{{ groups['ovn_hypervisors'] | c5c3.ovn.host_share(ansible_play_hosts, inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The part of the host, in the order of the input.
  type: list
  elements: str
"""

import typing as t

from ..module_utils._roles.central import host_share


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"host_share": host_share}
