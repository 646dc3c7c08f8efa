# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: query_problem
short_description: Tell why a JMESPath expression cannot work
version_added: "0.1.0"
description:
  - Finds an expression that is not JMESPath, or a missing library, before anything is read for P(c5c3.ovn.query#filter).
options:
  _input:
    description: The expression. An empty one is none, so it has no problem.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check the query
  ansible.builtin.fail:
    msg: "{{ ovn_query | c5c3.ovn.query_problem }}"
  when: ovn_query | c5c3.ovn.query_problem | length > 0
"""

RETURN = r"""
_value:
  description: What is wrong, empty if nothing is.
  type: str
  sample: "query 'chassis[' is not complete: it ends after character 8."
"""

import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._base.query import check_query


def query_problem(expression: str) -> str:
    """Return what is wrong with the expression, an empty text if nothing is."""
    if not expression:
        return ""
    try:
        check_query(expression)
    except OvnError as e:
        return str(e)
    return ""


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"query_problem": query_problem}
