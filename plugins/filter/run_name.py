# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: run_name
short_description: Name of this run of Ansible, unlike that of any other one
version_added: "0.1.0"
description:
  - Names time, control node and process. A later run on the same control node finds from the name whether that process still exists.
options:
  _input:
    description: The time, as text.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Name this run
  ansible.builtin.set_fact:
    run_name: "{{ now(utc=true).strftime('%Y-%m-%dT%H:%M:%SZ') | c5c3.ovn.run_name }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The name. What is in brackets identifies boot, PID namespace and start of the process; it is missing where that cannot be known.
  type: str
  sample: "2026-11-21T16:00:00Z on deploy1, process 4711 [4e0b8d5e-6f4e-4f52-9d8c-1c1f6ed22f0a/4026531836/123456]"
"""

import typing as t

from ..module_utils._base.control_node import run_name


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"run_name": run_name}
