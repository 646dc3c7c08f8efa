# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: run_tags_problem
short_description: Tell why a run with --tags would do nothing
version_added: "0.1.0"
description:
  - With tags that a playbook does not have, Ansible does nothing and succeeds. This filter finds that out before.
options:
  _input:
    description: The tags of the run, that is C(ansible_run_tags).
    type: list
    elements: str
    required: true
  known:
    description: The tags that the playbook has. Positional. Without a list nothing is a problem; an empty list means that the playbook has no tags.
    type: list
    elements: str
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check the tags
  ansible.builtin.fail:
    msg: "{{ problem }}"
  vars:
    problem: "{{ ansible_run_tags | c5c3.ovn.run_tags_problem(['pki', 'verify']) }}"
  when: problem | length > 0
  tags: always
"""

RETURN = r"""
_value:
  description: What is wrong and which tags there are; empty if nothing is wrong.
  type: str
  sample: "--tags verfy would do nothing: this playbook has none of these tags. Use one or more of pki, verify."
"""

import typing as t

from ..module_utils._roles.run_scope import run_tags_problem


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"run_tags_problem": run_tags_problem}
