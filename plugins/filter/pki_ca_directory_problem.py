# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_ca_directory_problem
short_description: Why no CA is created in a directory
version_added: "0.1.0"
description:
  - A control node that is a container is usually gone after the run, an execution environment for example. The key of a CA that was created there would be
    lost.
positional: directory
options:
  _input:
    description: Signs of a container, by their names. What is empty, V(0) or false is no sign.
    type: dict
    required: true
  directory:
    description: Directory of the CA, or of the keys of clients, on the control node.
    type: path
    required: true
  kept:
    description: Whether the operator says that the directory outlives the control node.
    type: bool
    default: false
  clients:
    description: Whether it is about the keys of clients, not about the CA.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the directory of the CA outlives this run
  ansible.builtin.assert:
    that: problem | length == 0
    fail_msg: "{{ problem }}"
  vars:
    problem: "{{ {'/.dockerenv': '/.dockerenv' is exists} | c5c3.ovn.pki_ca_directory_problem('/srv/ovn-pki') }}"
"""

RETURN = r"""
_value:
  description: The problem and what to do about it, empty if there is none.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.authority import ca_directory_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_ca_directory_problem": as_filter(ca_directory_problem)}
