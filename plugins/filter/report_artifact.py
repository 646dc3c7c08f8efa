# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: report_artifact
short_description: The report of an installation as an artifact of a run
version_added: "0.1.0"
description:
  - Turns the fact C(ovn_verify_report) into what M(ansible.builtin.set_stats) hands on, to AWX for example.
  - An artifact has at most 64 KiB of JSON. Of a larger report, what grows with the installation is shortened, the details of each chassis first.
options:
  _input:
    description: The report.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Hand the report on
  ansible.builtin.set_stats:
    data: "{{ ovn_verify_report | c5c3.ovn.report_artifact }}"
"""

RETURN = r"""
_value:
  description: The report in C(ovn_report), and in C(ovn_report_left_out) how many items each shortened key lacks.
  type: dict
  sample: {"ovn_report": {"format_version": 1, "healthy": true}, "ovn_report_left_out": {}}
"""

import typing as t

from ..module_utils._report.artifact import report_artifact


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"report_artifact": report_artifact}
