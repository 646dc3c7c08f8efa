# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: encapsulation_ip
short_description: Where the tunnels of one chassis end
version_added: "0.1.0"
description:
  - The host's C(ovn_encapsulation_ip), or C(ovn_address), or C(ansible_host), or its name. A variable that is empty counts as absent.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.host
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where the tunnels of this host end
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.encapsulation_ip(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The address, IPv6 without brackets, or a name; a list if C(ovn_encapsulation_ip) is one.
  type: raw
  sample: 192.0.2.21
"""

import typing as t

from ..module_utils._base.inventory import encapsulation_ip_of


def encapsulation_ip(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], host: str) -> t.Any:
    return encapsulation_ip_of(host, hostvars[host])


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"encapsulation_ip": encapsulation_ip}
