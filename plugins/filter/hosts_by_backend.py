# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts_by_backend
short_description: Tell machines from hosts that stand for a Kubernetes cluster
version_added: "0.1.0"
description:
  - Sorts hosts by their C(ovn_backend).
options:
  _input:
    description: Hosts of the inventory.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the hypervisor clusters
  ansible.builtin.debug:
    msg: "{{ (groups['ovn_hypervisors'] | c5c3.ovn.hosts_by_backend(hostvars)).kubernetes }}"
"""

RETURN = r"""
_value:
  description: C(host) and C(kubernetes), the hosts of each in their order.
  type: dict
  sample: {"host": ["compute1", "compute2"], "kubernetes": ["rack1"]}
"""

import typing as t

from ..module_utils._roles.variables import hosts_by_backend
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hosts_by_backend": as_filter(hosts_by_backend)}
