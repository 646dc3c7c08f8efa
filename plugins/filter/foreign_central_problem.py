# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: foreign_central_problem
short_description: Tell why a run cannot go on with a control plane of others
version_added: "0.1.0"
description:
  - Central hosts with C(ovn_central_managed=false) are read, never changed.
options:
  _input:
    description: The central hosts, usually C(groups['ovn_central']).
    type: list
    elements: str
    required: true
  hostvars:
    description: C(hostvars). Positional.
    type: dict
    required: true
  changes:
    description: Whether the run would change the control plane, and not only read it. Positional.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the control plane is ours before it is changed
  ansible.builtin.fail:
    msg: "{{ problem }}"
  vars:
    problem: "{{ groups['ovn_central'] | c5c3.ovn.foreign_central_problem(hostvars, true) }}"
  when: problem | length > 0
"""

RETURN = r"""
_value:
  description: Cause and next step; empty if nothing is wrong.
  type: str
  sample: "Others run the control plane on central1 (ovn_central_managed is false), so it is only read."
"""

import typing as t

from ..module_utils._roles.foreign_central import foreign_central_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"foreign_central_problem": as_filter(foreign_central_problem)}
