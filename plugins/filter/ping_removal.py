# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_removal
short_description: What remains of the connectivity test
version_added: "0.1.0"
description:
  - Tells which pods and account of guests the role P(c5c3.ovn.ovn_ping#role) deletes, and what it could not remove.
options:
  _input:
    description: Guests that could not be unplugged, as P(c5c3.ovn.ping_unplugged#filter) returns them.
    type: list
    elements: dict
    required: true
  switch:
    description: Result of the removal of the logical switch. Positional.
    type: dict
    required: true
  pods:
    description: Result of M(kubernetes.core.k8s_info) for the pods of the guests, empty if there are none. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Nothing may be left
  ansible.builtin.assert:
    that: (ovn_ping_left | c5c3.ovn.ping_removal(ovn_ping_switch, none)).remains | length == 0
"""

RETURN = r"""
_value:
  description: C(objects) for M(kubernetes.core.k8s), without the pods of guests that are left, and C(remains), one sentence for each thing.
  type: dict
  sample: {"objects": [], "remains": ["The guest of worker1: i/o timeout"]}
"""

import typing as t

from ..module_utils._roles.ping import judge_removal
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_removal": as_filter(judge_removal)}
