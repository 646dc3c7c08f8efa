# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: northd_order
short_description: Order in which northd is adopted on the central hosts
version_added: "0.1.0"
description:
  - Lists the hosts whose northd no unit of this collection runs, the one that is active last.
options:
  _input:
    description: Results of M(c5c3.ovn.ovn_daemons_info) by host.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the order
  ansible.builtin.debug:
    msg: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'found'))) | c5c3.ovn.northd_order }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: Names of hosts.
  type: list
  elements: str
  sample: [central2, central3, central1]
"""

import typing as t

from ..module_utils._host.adoption_problems import northd_order
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"northd_order": as_filter(northd_order)}
