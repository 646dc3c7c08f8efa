# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_key_problem
short_description: Why the key of a CA is not used
version_added: "0.1.0"
description:
  - Looks at the modes of the file and of its directory on the control node. Other users must not read the key, nor replace it. An encrypted key (by
    C(ansible-vault) or with a passphrase) may be readable, as in a checked-out repository.
options:
  _input:
    description: Path of the key on the control node. A file that does not exist is no problem of its mode.
    type: path
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that nobody else can read the key of the CA
  ansible.builtin.assert:
    that: problem | length == 0
    fail_msg: "{{ problem }}"
  vars:
    problem: "{{ '/srv/ovn-pki.cfg/ca-key.pem' | c5c3.ovn.pki_key_problem }}"
"""

RETURN = r"""
_value:
  description: The problem and the command that corrects it, empty if there is none.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._host.ca_directory import key_modes
from ..module_utils._roles.authority import key_problem
from ..plugin_utils._filters import as_filter


def pki_key_problem(path: str) -> str:
    return key_problem(path, key_modes(path))


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_key_problem": as_filter(pki_key_problem)}
