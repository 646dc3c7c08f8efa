# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hypervisor_machine
short_description: What a machine lacks before it can be a chassis
version_added: "0.1.0"
description:
  - Compares the files that M(ansible.builtin.find) has seen with what the role P(c5c3.ovn.ovn_hypervisor#role) needs. A unit is masked if its file is a link to
    C(/dev/null).
options:
  _input:
    description: C(files) of the result of M(ansible.builtin.find).
    type: list
    elements: dict
    required: true
  given:
    description: C(required_files), C(masked_units) and C(unit_directory), where masks are. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what is not installed
  ansible.builtin.debug:
    msg: "{{ (ovn_hypervisor_seen.files | c5c3.ovn.hypervisor_machine(_ovn_hypervisor_given)).missing }}"
"""

RETURN = r"""
_value:
  description: Paths in C(missing), and names of units in C(unmasked).
  type: dict
  sample: {"missing": ["/usr/bin/ovn-controller"], "unmasked": ["ovn-controller.service"]}
"""

import typing as t

from ..module_utils._roles.hypervisor import compare_machine
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hypervisor_machine": as_filter(compare_machine)}
