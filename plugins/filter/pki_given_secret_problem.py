# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_given_secret_problem
short_description: Why pods cannot work with a Secret that another owner manages
version_added: "0.1.0"
description:
  - Checks that the Secret is there, complete and valid, and returns the next step.
options:
  _input:
    description: What P(c5c3.ovn.certificate_state#filter) says of the Secret.
    type: dict
    required: true
  place:
    description: Name of the Secret for messages. Positional.
    type: str
    required: true
  exists:
    description: Whether there is such a Secret.
    type: bool
    required: true
  central_twin:
    description: The central host that makes it, empty if none does.
    type: str
    default: ''
  ca_config_map:
    description: ConfigMap with the CAs that pods trust, so that C(ca.crt) of the Secret is not used; empty if it is.
    type: str
    default: ''
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that pods can work with the Secret
  ansible.builtin.assert:
    that: problem == ''
    fail_msg: "{{ problem }}"
  vars:
    problem: "{{ secret.data | c5c3.ovn.certificate_state | c5c3.ovn.pki_given_secret_problem('Secret ovn-system/ovn-tls', exists=true) }}"
"""

RETURN = r"""
_value:
  description: What is wrong and what to do; empty if nothing is wrong.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.authority import given_secret_problem
from ..module_utils._roles.variables import Variables


def pki_given_secret_problem(
    state: Variables, place: str, *, exists: bool, central_twin: str = "", ca_config_map: str = ""
) -> str:
    return given_secret_problem(place, exists, state, central_twin, ca_config_map)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_given_secret_problem": pki_given_secret_problem}
