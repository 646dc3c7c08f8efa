# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: foreign_message
short_description: Tell why a rollout must not go on beside the OVN that runs on a host
version_added: "0.1.0"
description:
  - Names the database servers and northd that no unit of this collection runs, what keeps them running, and the next step.
options:
  _input:
    description: Result of M(c5c3.ovn.ovn_daemons_info).
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Find the OVN that runs on this host
  c5c3.ovn.ovn_daemons_info:
  register: found

- name: Check that no other OVN runs on this host
  ansible.builtin.fail:
    msg: "{{ found | c5c3.ovn.foreign_message }}"
  when: found | c5c3.ovn.foreign_message | length > 0
"""

RETURN = r"""
_value:
  description: The message, empty if nothing else runs.
  type: str
"""

import typing as t

from ..module_utils._host.adoption_problems import foreign_message
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"foreign_message": as_filter(foreign_message)}
