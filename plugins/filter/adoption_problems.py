# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: adoption_problems
short_description: Find what blocks the adoption of the OVN that runs on a host
version_added: "0.1.0"
description:
  - Compares the daemons that run with the desired state of their host, without which clients would lose a listener, or members each other.
options:
  _input:
    description: Result of M(c5c3.ovn.ovn_daemons_info).
    type: dict
    required: true
  desired:
    description: Desired state of the host, from the filter P(c5c3.ovn.central_desired#filter). Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that nothing blocks the adoption
  ansible.builtin.fail:
    msg: "{{ problems | join(' ') }}"
  vars:
    problems: "{{ found | c5c3.ovn.adoption_problems(desired) }}"
  when: problems | length > 0
"""

RETURN = r"""
_value:
  description: Messages that name the cause and the next step; none if the adoption can begin.
  type: list
  elements: str
  sample:
    - >-
      northbound has the Raft address tcp:192.0.2.11:6643, and ssl:192.0.2.11:6643 is declared.
      Set ovn_tls=false, for the scheme is part of a member's identity.
"""

import typing as t

from ..module_utils._host.adoption_problems import adoption_problems
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"adoption_problems": as_filter(adoption_problems)}
