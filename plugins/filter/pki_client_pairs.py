# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_client_pairs
short_description: What the certificates of clients should be
version_added: "0.1.0"
description:
  - Completes what P(c5c3.ovn.pki_clients#filter) says by what clients have in common with hosts.
positional: pair, authorities
options:
  _input:
    description: The value of P(c5c3.ovn.pki_clients#filter).
    type: list
    elements: dict
    required: true
  pair:
    description: Options of M(c5c3.ovn.ovn_certificate) for the host on which clients are handled.
    type: dict
    required: true
  authorities:
    description: The value of P(c5c3.ovn.pki_authorities#filter).
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where the certificate of Neutron is
  ansible.builtin.debug:
    msg: >-
      {{ (['neutron'] | c5c3.ovn.pki_clients('/srv/clients', '/srv/ovn-pki') | c5c3.ovn.pki_client_pairs({}, {'central': {'issuer': 'PEM'}})
          | first).certificate }}
"""

RETURN = r"""
_value:
  description: Options of M(c5c3.ovn.ovn_certificate) for each client.
  type: list
  elements: dict
  sample: [{"common_name": "neutron", "issuer": "PEM"}]
"""

import typing as t

from ..module_utils._roles.pki_clients import client_pairs


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_client_pairs": client_pairs}
