# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: query
short_description: Select from facts with JMESPath
version_added: "0.1.0"
description:
  - Returns what a JMESPath expression selects from any value. Texts that Ansible has marked are no obstacle to its functions.
  - An expression that is not JMESPath is an error that names the position.
positional: expression
options:
  _input:
    description: Value to select from.
    type: raw
    required: true
  expression:
    description: The expression.
    type: str
    required: true
requirements:
  - "On the control node: the Python library C(jmespath)."
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Print the names of the chassis that are late
  ansible.builtin.debug:
    msg: "{{ ovn_verify_report | c5c3.ovn.query('chassis.late') }}"
"""

RETURN = r"""
_value:
  description: What the expression selects, V(null) if it selects nothing.
  type: raw
  sample: [hypervisor2]
"""

import typing as t

from ..module_utils._base.query import run_query
from ..plugin_utils._filters import as_filter


@as_filter
def query(facts: t.Any, expression: str) -> t.Any:
    """Return what the expression selects from the facts."""
    return run_query(expression, facts)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"query": query}
