# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: metadata_agent_southbound_problem
short_description: Why a metadata agent cannot work with a Southbound database
version_added: "0.1.0"
description:
  - Judges what M(c5c3.ovn.ovn_database_info) has answered when it was asked for the row of the chassis, for the role P(c5c3.ovn.ovn_metadata_agent#role).
positional: host, chassis
options:
  _input:
    description: The result of the module, a failure included.
    type: dict
    required: true
  host:
    description: Name of the host, for the message.
    type: str
    required: true
  chassis:
    description: Name of the chassis.
    type: str
    required: true
  certificate_replaced:
    description: Whether the agent has got another certificate before the question.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the agent can work with the Southbound
  ansible.builtin.assert:
    that: problem == ''
    fail_msg: "{{ problem }}"
  vars:
    problem: "{{ asked | c5c3.ovn.metadata_agent_southbound_problem(inventory_hostname, 'compute1') }}"
"""

RETURN = r"""
_value:
  description: What is wrong and what to do; empty if nothing is wrong.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.metadata_agent import southbound_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"metadata_agent_southbound_problem": as_filter(southbound_problem)}
