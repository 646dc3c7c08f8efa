# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ended_runs
short_description: Those of several runs of Ansible whose process has ended
version_added: "0.1.0"
description:
  - Tells which runs of this control node have ended, killed ones for example. Of runs on other control nodes, or in other containers, nothing is known.
options:
  _input:
    description: Names that P(c5c3.ovn.run_name#filter) made. Other names are left out.
    type: list
    elements: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Wait for the other run unless it is dead
  c5c3.ovn.ovn_run_lock:
    holder: "{{ run_name }}"
    wait_timeout: 600
    ended_runs: "{{ [lock.held_by.holder] | c5c3.ovn.ended_runs }}"
"""

RETURN = r"""
_value:
  description: The names of the runs that have ended.
  type: list
  elements: str
"""

import typing as t

from ..module_utils._base.control_node import has_ended


def ended_runs(names: t.Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if has_ended(name)]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ended_runs": ended_runs}
