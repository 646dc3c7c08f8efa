# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_rotation_plan
short_description: Which phases of a rotation of the CAs are left
version_added: "0.1.0"
description:
  - A run that was killed goes on in its phase. With clients that are no hosts a run has one phase, because their operator has to bring files to them.
positional: files, rotates
options:
  _input:
    description: What the last run has recorded (JSON), an empty text if it came to its end.
    type: str
    required: true
  files:
    description: PEM texts beside the inventory. C(central) and C(chassis), each with C(active), C(next) and C(previous).
    type: dict
    required: true
  rotates:
    description: The CAs to replace, V(central) and V(chassis).
    type: list
    elements: str
    required: true
  has_clients:
    description: Whether there are clients that are no hosts.
    type: bool
    default: false
  check_mode:
    description: Whether the run only predicts, which it can for one phase.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the phases
  ansible.builtin.debug:
    msg: "{{ ('' | c5c3.ovn.pki_rotation_plan({'central': {}, 'chassis': {}}, ['central'])).phases }}"
"""

RETURN = r"""
_value:
  description: C(phases) of this run, C(rotate) (the CAs) and C(last) (whether the rotation ends with it).
  type: dict
  sample: {"phases": ["prepare", "switch", "finish"], "rotate": ["central", "chassis"], "last": false}
"""

import typing as t

from ..module_utils._roles.authorities import Files
from ..module_utils._roles.rotation import rotation_plan
from ..plugin_utils._filters import as_filter


def pki_rotation_plan(
    note: t.Any, files: t.Mapping[str, Files], rotates: t.Any, has_clients: bool = False, check_mode: bool = False
) -> dict[str, t.Any]:
    return rotation_plan(str(note), files, rotates, has_clients=has_clients, check_mode=check_mode)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_rotation_plan": as_filter(pki_rotation_plan)}
