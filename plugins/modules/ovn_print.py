#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A virtual module: all of it is the action plugin of the same name, which runs on the control node.

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_print
short_description: (internal) Print lines as they are
version_added: "0.1.0"
description:
  - Prints lines of text without quotes, brackets and escapes, whatever callback plugin writes the output and however it formats results.
  - If the callback plugin writes JSON (its name has C(json) in it), nothing is printed, so that the output stays valid. The lines are in the result.
  - Nothing is done on the host of the task.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.info_module
attributes:
  platform:
    support: full
    platforms: all
options:
  lines:
    description: The lines, or a text with several lines.
    type: raw
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the report
  c5c3.ovn.ovn_print:
    lines: "{{ ovn_verify_report.lines }}"
"""

RETURN = r"""
lines:
  description: The lines.
  returned: success
  type: list
  elements: str
  sample: ["OVN is healthy"]
"""
