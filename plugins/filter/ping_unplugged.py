# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_unplugged
short_description: Guests of the connectivity test that could not be unplugged
version_added: "0.1.0"
description:
  - A guest that does not answer does not stop the others. This filter of the role P(c5c3.ovn.ovn_ping#role) returns which guest it is, and why.
options:
  _input:
    description: Result of M(c5c3.ovn.ovn_test_port), also of a loop over guests.
    type: dict
    required: true
  guests:
    description: All guests of the host. Positional.
    type: list
    elements: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who did not answer
  ansible.builtin.debug:
    msg: "{{ (unplugged | c5c3.ovn.ping_unplugged(ovn_ping_guests)).left }}"
"""

RETURN = r"""
_value:
  description: C(left) with C(name), C(pod) and C(why) of each, and C(answers), whether another one did.
  type: dict
  sample: {"left": [{"name": "worker1", "pod": "c5c3-ping-worker1", "why": "i/o timeout"}], "answers": true}
"""

import typing as t

from ..module_utils._roles.ping import judge_unplugged
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_unplugged": as_filter(judge_unplugged)}
