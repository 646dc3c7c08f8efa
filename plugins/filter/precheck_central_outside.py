# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: precheck_central_outside
short_description: Whose version of OVN a limited run has to know
version_added: "0.1.0"
description:
  - Names a central host outside of the run, so that the hosts that are new in it can be compared with the version of the control plane.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  hosts:
    description: The hosts of this run. Positional.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.groups
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which central host is asked for its version
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.precheck_central_outside(groups, ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: Name of the host. Empty if all central hosts are in the run, if they are no machines, or if no host of the run is new.
  type: str
  sample: db1
"""

import typing as t

from ..module_utils._precheck.from_hostvars import central_outside
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"precheck_central_outside": as_filter(central_outside)}
