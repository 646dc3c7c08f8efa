# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: text_or_data
short_description: Whether a value can be printed as lines
version_added: "0.1.0"
description:
  - What P(c5c3.ovn.query#filter) selects is a text, a list of texts or a structure. M(c5c3.ovn.ovn_print) prints the first two as they are, without
    quotes; M(ansible.builtin.debug) shows the third.
options:
  _input:
    description: Any value.
    type: raw
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Print each chassis that is late, on a line of its own
  c5c3.ovn.ovn_print:
    lines: "{{ ovn_verify_report.chassis.late }}"
  when: ovn_verify_report.chassis.late | c5c3.ovn.text_or_data == 'text'
"""

RETURN = r"""
_value:
  description: V(text) for a text or a list of texts that is not empty, else V(data).
  type: str
  sample: text
"""

import typing as t

from ..module_utils._base.query import text_or_data


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"text_or_data": text_or_data}
