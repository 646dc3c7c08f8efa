# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: machine_names
short_description: Names of the chassis that are machines
version_added: "0.1.0"
description:
  - Finds the system ids of the machines among the hypervisors, registered or not. No node of a Kubernetes cluster gets a certificate with one of them.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.groups
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the names
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.machine_names(groups) }}"
"""

RETURN = r"""
_value:
  description: The system ids. Machines that are to be removed are not among them.
  type: list
  elements: str
  sample: [compute1]
"""

import typing as t

from ..module_utils._roles.pki import machine_names
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"machine_names": as_filter(machine_names)}
