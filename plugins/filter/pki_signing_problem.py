# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_signing_problem
short_description: Why a certificate signing request is not signed
version_added: "0.1.0"
description:
  - Looks at the request and at what it takes to sign it, and returns the next step.
options:
  _input:
    description: What the request asks for beyond its declaration, the value of P(c5c3.ovn.certificate_request_problems#filter).
    type: list
    elements: str
    required: true
  host:
    description: Whose request it is. Positional.
    type: str
    required: true
  has_key:
    description: Whether the key of the CA is there.
    type: bool
    required: true
  given:
    description: Whether the CA is one of the user's, in variables.
    type: bool
    required: true
  ca_directory:
    description: Directory of the CA on the control node, for messages.
    type: str
    required: true
  authority:
    description: Which CA signs.
    type: str
    choices: [central, chassis]
    default: central
  renew_before:
    description: A certificate is replaced when it ends in less than this number of days.
    type: int
    required: true
  validity:
    description: Validity of new certificates, in days.
    type: int
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that the request may be signed
  ansible.builtin.assert:
    that: problem == ''
    fail_msg: "{{ problem }}"
  vars:
    problem: >-
      {{ [] | c5c3.ovn.pki_signing_problem(inventory_hostname, has_key=true, given=false, ca_directory='ovn-pki', renew_before=30, validity=365) }}
"""

RETURN = r"""
_value:
  description: One or more sentences; empty if the request may be signed.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.authorities import AuthorityName
from ..module_utils._roles.authority import signing_problem


def pki_signing_problem(
    request: t.Sequence[str],
    host: str,
    *,
    has_key: bool,
    given: bool,
    ca_directory: str,
    authority: AuthorityName = "central",
    renew_before: int | str,
    validity: int | str,
) -> str:
    return signing_problem(
        host,
        request,
        has_key=has_key,
        given=given,
        ca_directory=ca_directory,
        authority=authority,
        renew_before=int(renew_before),
        validity=int(validity),
    )


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_signing_problem": pki_signing_problem}
