# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_hosts_problem
short_description: Tell why hosts cannot ping each other
version_added: "0.1.0"
description:
  - A play whose pattern matches no host does nothing and succeeds, and a single machine pings nobody. This filter finds that out before
    P(c5c3.ovn.ovn_ping#role) runs.
positional: hostvars, pattern
options:
  _input:
    description: The hosts that the play will have.
    type: list
    elements: str
    required: true
  hostvars:
    description: C(hostvars).
    type: dict
    required: true
  pattern:
    description: The pattern of the play, for the message.
    type: raw
    required: true
  limit:
    description: What was given as C(--limit), for the message.
    type: str
    default: ""
  state:
    description: The option O(c5c3.ovn.ovn_ping#role:main:ovn_ping_state). A removal needs a single host.
    type: str
    default: present
  nodes:
    description: The option O(c5c3.ovn.ovn_ping#role:main:ovn_ping_nodes).
    type: int
    default: 2
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that a ping is possible
  ansible.builtin.fail:
    msg: "{{ problem }}"
  vars:
    problem: "{{ groups['ovn_hypervisors'] | c5c3.ovn.ping_hosts_problem(hostvars, 'ovn_hypervisors') }}"
  when: problem | length > 0
"""

RETURN = r"""
_value:
  description: What is wrong and what to do; empty if nothing is wrong.
  type: str
  sample: "The ping needs two guests, and there is only one: ovn_ping_hosts (h1) is h1 alone. Name two hypervisors with ovn_ping_hosts=NAME,NAME."
"""

import typing as t

from ..module_utils._roles.ping import hosts_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_hosts_problem": as_filter(hosts_problem)}
