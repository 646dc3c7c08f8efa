# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_trust
short_description: What hosts trust and use of a CA
version_added: "0.1.0"
description:
  - Brings together what machines and Secrets said, before a CA is made, replaced or retired.
options:
  _input:
    description: >-
      Results of a loop over M(c5c3.ovn.ovn_certificate) with O(c5c3.ovn.ovn_certificate#module:state=examined). C(item) of each is a host, or a list that
      begins with one.
    type: list
    elements: dict
    required: true
  secrets:
    description: From each Kubernetes cluster to the result of P(c5c3.ovn.certificate_state#filter). Positional.
    type: dict
    required: true
  examined:
    description: From a host to its own result of M(c5c3.ovn.ovn_certificate). Hosts without one may be among them.
    type: dict
    default: {}
  central:
    description: The hosts whose bundles count. Whoever owns a hypervisor could add a CA to its bundle.
    type: list
    elements: str
    default: []
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who would refuse certificates of the issuer
  ansible.builtin.debug:
    msg: "{{ (asked.results | c5c3.ovn.pki_trust({})).distrusting }}"
"""

RETURN = r"""
_value:
  description:
    - C(trusting) (hosts that trust a CA), C(distrusting) (those of them that do not trust the issuer), C(rejecting) (those that let
      in nobody with a certificate of the issuer), C(former) (hosts that use a certificate of another CA than the issuer), C(bundles) (texts of what
      O(central) trust) and C(client_bundles) (of whom they let in where chassis connect).
  type: dict
  sample: {"trusting": ["central1"], "distrusting": [], "rejecting": [], "former": [], "bundles": [], "client_bundles": []}
"""

import typing as t

from ..module_utils._roles.authority import trust
from ..module_utils._roles.variables import Variables


def pki_trust(
    results: t.Iterable[Variables],
    secrets: t.Mapping[str, Variables],
    examined: t.Mapping[str, Variables] | None = None,
    central: t.Sequence[str] = (),
) -> dict[str, list[str]]:
    return trust(results, secrets, examined or {}, central)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_trust": pki_trust}
