# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: changed_objects
short_description: Objects that a module has changed in Kubernetes, for people
version_added: "0.1.0"
description:
  - Turns the objects in a result of M(c5c3.ovn.ovn_cluster) or M(c5c3.ovn.ovn_hypervisors) into lines, without those that are as they were.
options:
  _input:
    description: C(objects) of the result, each with C(action), C(kind) and C(name).
    type: list
    elements: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Report what was done
  ansible.builtin.debug:
    msg: "{{ result.objects | c5c3.ovn.changed_objects }}"
"""

RETURN = r"""
_value:
  description: One line for each object.
  type: list
  elements: str
  sample: ["created DaemonSet ovn-controller"]
"""

import typing as t

from ..module_utils._roles.results import changed_objects


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"changed_objects": changed_objects}
