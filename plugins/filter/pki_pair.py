# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_pair
short_description: What the pair and the bundles of a host should be
version_added: "0.1.0"
description:
  - Brings together what a host should have with the CAs that there are.
positional: authority, others
options:
  _input:
    description: The value of P(c5c3.ovn.pki_desired#filter).
    type: dict
    required: true
  authority:
    description: One of the CAs in the value of P(c5c3.ovn.pki_authorities#filter).
    type: dict
    required: true
  others:
    description: More options of M(c5c3.ovn.ovn_certificate).
    type: dict
    default: {}
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the name in the certificate of this host
  ansible.builtin.debug:
    msg: "{{ (desired | c5c3.ovn.pki_pair({'issuer': '', 'bundle': '', 'client_bundle': ''})).common_name }}"
  vars:
    desired: "{{ {} | c5c3.ovn.pki_desired(hostvars, groups, inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: Options of M(c5c3.ovn.ovn_certificate).
  type: dict
  sample: {"common_name": "compute1", "issuer": "PEM", "ca_bundle": "PEM"}
"""

import typing as t

from ..module_utils._roles.authorities import pair_options


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_pair": pair_options}
