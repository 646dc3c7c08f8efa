# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: acknowledge_problem
short_description: Tell why codes of a report cannot be acknowledged
version_added: "0.1.0"
description:
  - Finds codes that the report does not know, or that are problems instead of warnings, before anything is read for P(c5c3.ovn.verify_report#filter).
options:
  _input:
    description: The codes, a list or a text with commas. Empty means none, which is no problem.
    type: raw
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check the acknowledged warnings
  ansible.builtin.fail:
    msg: "{{ ovn_verify_acknowledge | c5c3.ovn.acknowledge_problem }}"
  when: ovn_verify_acknowledge | c5c3.ovn.acknowledge_problem | length > 0
"""

RETURN = r"""
_value:
  description: What is wrong and the codes that can be acknowledged; empty if nothing is wrong.
  type: str
  sample: "ovn_verify_acknowledge: ghost: problems cannot be acknowledged, only warnings. Use codes of these: even_members, fault_join."
"""

import typing as t

from ..module_utils._base.inventory import as_list
from ..module_utils._report import codes as report_codes


def acknowledge_problem(codes: str | t.Sequence[str]) -> str:
    """Return what is wrong with the codes, an empty text if nothing is."""
    return report_codes.acknowledge_problem(as_list(codes))


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"acknowledge_problem": acknowledge_problem}
