# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: machine_resources
short_description: Whose OVNChassis a host applies
version_added: "0.1.0"
description:
  - Machines whose C(OVNChassis) are in the same Kubernetes cluster are handled by one call, that of the first of them.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  hosts:
    description: The hosts of this batch of the play, C(ansible_play_batch). Positional.
    type: list
    elements: str
    required: true
  host:
    description: The host, usually C(inventory_hostname). Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show whose OVNChassis this host applies
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.machine_resources(ansible_play_batch, inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The option C(chassis) of C(ovn_chassis_resources); empty on all hosts of a cluster but the first.
  type: list
  elements: dict
  sample: [{"name": "compute1", "state": "present", "system_id": "compute1", "encapsulation_ip": ["198.51.100.21"]}]
"""

import typing as t

from ..module_utils._roles.machine_resources import machine_resources
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"machine_resources": as_filter(machine_resources)}
