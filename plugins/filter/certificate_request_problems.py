# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare a certificate signing request with its declaration."""

from __future__ import annotations

DOCUMENTATION = r"""
name: certificate_request_problems
short_description: What a certificate signing request asks for beyond its declaration
version_added: 0.1.0
author:
  - C5C3 contributors (@c5c3)
description:
  - A CA that signs whatever a host sends gives a broken-in host the name of another one, or the rights of a CA.
    This filter compares the request with what was declared for that host, so that a task can refuse it.
requirements:
  - The Python library C(cryptography), version 38 or newer, on the control node.
options:
  _input:
    description: The request, PEM text, for example RV(c5c3.ovn.ovn_certificate#module:csr).
    type: str
    required: true
  common_name:
    description: The common name that was declared; nothing else may be in the subject.
    type: str
    required: true
  subject_alt_names:
    description: The names and addresses that were declared, as for O(c5c3.ovn.ovn_certificate#module:subject_alt_names).
    type: list
    elements: str
    default: []
  extended_key_usage:
    description: The usages that were declared, as for O(c5c3.ovn.ovn_certificate#module:extended_key_usage).
    type: list
    elements: str
    default: [serverAuth, clientAuth]
"""

EXAMPLES = r"""
- name: Refuse a request that is not what was declared
  ansible.builtin.assert:
    that: (pair.csr | c5c3.ovn.certificate_request_problems('compute-1')) == []
"""

RETURN = r"""
_value:
  description: One sentence for each difference; empty when the request may be signed.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._pki import certificates, names
from ..plugin_utils._filters import as_filter


@as_filter
def certificate_request_problems(
    csr: str,
    common_name: str,
    subject_alt_names: t.Sequence[str] = (),
    extended_key_usage: t.Sequence[str] = ("serverAuth", "clientAuth"),
) -> list[str]:
    """The differences as sentences."""
    if certificates.CRYPTOGRAPHY_PROBLEM is not None:
        raise AnsibleFilterError(
            "certificate_request_problems needs the Python library cryptography on the control node. Install it."
        )
    return certificates.request_problems(
        csr, common_name, names.subject_alt_names(subject_alt_names), extended_key_usage
    )


class FilterModule:
    """Filters of the certificates."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"certificate_request_problems": certificate_request_problems}
