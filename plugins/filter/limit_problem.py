# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: limit_problem
short_description: Tell why a run with --limit makes no report
version_added: "0.1.0"
description:
  - The report of P(c5c3.ovn.ovn_verify#role) is about the central hosts and made on localhost. A play whose hosts C(--limit) leaves out does nothing
    and succeeds. This filter finds that out before.
options:
  _input:
    description: Hosts of a play on C(localhost:all), that is C(ansible_play_hosts_all) there.
    type: list
    elements: str
    required: true
  central:
    description: The central hosts. Positional. Without any, only localhost has to take part.
    type: list
    elements: str
    required: true
  limit:
    description: What was given as C(--limit), that is C(ansible_limit). Positional. Empty means that no host is left out.
    type: str
    default: ""
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the run ends with a report
  ansible.builtin.fail:
    msg: "{{ problem.refusal }}"
  vars:
    problem: "{{ ansible_play_hosts_all | c5c3.ovn.limit_problem(groups['ovn_central'], ansible_limit | default('')) }}"
  when: problem.refusal | length > 0
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - C(refusal), for a run that is about the report, and C(note), for one that did something else before. Both say why there is none and what to do.
      Empty texts if there is a report.
  type: dict
  sample:
    refusal: "There would be no report: the report is made on localhost, which --limit 'c1' leaves out. Use --limit 'c1,localhost'."
    note: "Not verified: the report is made on localhost, which --limit 'c1' leaves out. Run c5c3.ovn.verify without --limit."
"""

import typing as t

from ..module_utils._roles.run_scope import limit_problem


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"limit_problem": limit_problem}
