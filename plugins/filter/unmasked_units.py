# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unmasked_units
short_description: Which units are not masked yet
version_added: "0.1.0"
description:
  - Tells from what M(c5c3.ovn.ovn_units) says in check mode which units it would mask. If that failed, none is known to be masked.
options:
  _input:
    description: The result of M(c5c3.ovn.ovn_units), or one of RV(c5c3.ovn.ovn_host_info#module:units).
    type: dict
    required: true
  masked:
    description: Names of the units that are to be masked. Positional.
    type: list
    elements: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which units could start
  ansible.builtin.debug:
    msg: "{{ found.units[0] | c5c3.ovn.unmasked_units(['ovn-controller.service', 'ovn-host.service']) }}"
"""

RETURN = r"""
_value:
  description: Names of units.
  type: list
  elements: str
  sample: ["ovn-controller.service"]
"""

import typing as t

from ..module_utils._roles.hypervisor import unmasked_units
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"unmasked_units": as_filter(unmasked_units)}
