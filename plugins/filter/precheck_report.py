# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: precheck_report
short_description: What would make a rollout fail
version_added: "0.1.0"
description:
  - Judges what M(c5c3.ovn.ovn_precheck) has measured on all hosts, together with what the inventory declares.
  - Reads the variables C(ovn_precheck_measured) of machines, C(ovn_precheck_central) of a central host outside of the run, and C(ovn_central_precheck) and
    C(ovn_hypervisor_precheck) of hosts that are Kubernetes clusters.
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
  given:
    description: The options of the role P(c5c3.ovn.ovn_precheck#role), without their prefix. Positional.
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.groups
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the findings
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.precheck_report(groups, ansible_play_hosts_all, {})).lines }}"
"""

RETURN = r"""
_value:
  description: C(findings) and C(ignored), each with C(code), C(object), C(cause), C(next_step); C(not_tested), and C(lines) for people.
  type: dict
  sample: {"findings": [], "ignored": [], "not_tested": [], "lines": ["Precheck ok: 5 hosts, nothing found"]}
"""

import typing as t

from ..module_utils._precheck.from_hostvars import precheck
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"precheck_report": as_filter(precheck)}
