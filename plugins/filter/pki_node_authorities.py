# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_node_authorities
short_description: The ConfigMap with the CAs that nodes with certificates of their own trust
version_added: "0.1.0"
description:
  - Nodes that do not share a certificate (C(ovn_node_certificates), C(tls.nodeCertificates)) cannot read the Secret. The role P(c5c3.ovn.ovn_pki#role)
    writes the CAs of the Secret into this ConfigMap as well, so that these nodes trust a CA before it signs.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  host:
    description: The host that stands for the hypervisor cluster.
    type: str
    required: true
  bundle:
    description: The CAs, as PEM text.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the ConfigMap
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.pki_node_authorities(inventory_hostname, bundle) }}"
"""

RETURN = r"""
_value:
  description: The object; empty where nodes share the Secret, or have the CAs from C(tls.caConfigMapRef).
  type: dict
  sample: {}
"""

import typing as t

from ..module_utils._roles.node_authorities import node_authorities
from ..module_utils._roles.variables import Hostvars


def pki_node_authorities(hostvars: Hostvars, host: str, bundle: str) -> dict[str, t.Any]:
    return node_authorities(hostvars[host], bundle)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_node_authorities": pki_node_authorities}
