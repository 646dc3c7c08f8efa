# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: node_signer_problem
short_description: Why a run cannot sign certificates for nodes
version_added: "0.1.0"
description:
  - Looks at the CA of the chassis, with which P(c5c3.ovn.ovn_hypervisor#role) signs for nodes with certificates of their own.
options:
  _input:
    description: C(certificate) and C(private_key) of the CA, each PEM text or empty.
    type: dict
    required: true
  given:
    description: Whether they are variables of the user, and not files of O(directory).
    type: bool
    required: true
  directory:
    description: Directory of the CAs on the control node.
    type: path
    required: true
  key_problem:
    description: Why the file with the key is not used, the value of P(c5c3.ovn.pki_key_problem#filter).
    type: str
    required: true
  needed:
    description: Whether the run has to sign, and does not only use the CA if it is there.
    type: bool
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the CA of the chassis can sign
  ansible.builtin.assert:
    that: problem | length == 0
    fail_msg: "{{ problem }}"
  vars:
    problem: >-
      {{ {'certificate': '', 'private_key': ''}
         | c5c3.ovn.node_signer_problem(given=false, directory='/srv/ovn-pki.cfg', key_problem='', needed=true) }}
"""

RETURN = r"""
_value:
  description: The problem and what to do, empty if there is none.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.node_signer import signer_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"node_signer_problem": as_filter(signer_problem)}
