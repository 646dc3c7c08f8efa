# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hypervisor_units
short_description: Whether the units of a chassis are as declared
version_added: "0.1.0"
description:
  - Compares the unit files on a machine with the texts that the role P(c5c3.ovn.ovn_hypervisor#role) would write.
options:
  _input:
    description: The text of each file that is there, by its path, as in RV(c5c3.ovn.ovn_host_info#module:files).
    type: dict
    required: true
  given:
    description:
      - Paths in C(unit) and C(underlay_unit), the declared texts in C(unit_text) and C(underlay_text), and C(underlay), which is empty for a chassis
        without such a bridge. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that nothing has to be written
  ansible.builtin.assert:
    that: (found.files | c5c3.ovn.hypervisor_units(_ovn_hypervisor_given)).all
"""

RETURN = r"""
_value:
  description: C(controller) and C(underlay) say which unit is as declared, C(all) whether both are.
  type: dict
  sample: {"controller": true, "underlay": true, "all": true}
"""

import typing as t

from ..module_utils._roles.hypervisor import compare_units
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hypervisor_units": as_filter(compare_units)}
