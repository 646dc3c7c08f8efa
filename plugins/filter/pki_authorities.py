# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_authorities
short_description: Which CA signs which certificates, and which ones are trusted
version_added: "0.1.0"
description:
  - There are two CAs. The central one signs for members, northd and clients, and everybody trusts it. Only the relays of the Southbound let in
    what the chassis CA signed, so a certificate of a chassis opens nothing else.
positional: files, desired
options:
  _input:
    description: Options of the CAs of the role P(c5c3.ovn.ovn_pki#role), from C(ovn_pki_ca_certificate) to C(ovn_pki_rotate).
    type: dict
    required: true
  files:
    description: >-
      PEM texts of the certificates beside the inventory. C(central) and C(chassis), each with C(active), C(next) and C(previous), which are empty if there is
      none.
    type: dict
    required: true
  desired:
    description: >-
      The value of P(c5c3.ovn.pki_desired#filter), with C(certificate), C(backend), C(chassis_ca) (chassis have a CA of their own, null if that is
      not known) and C(central_backend). Where they have none the central CA signs for all.
    type: dict
    default: {}
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the bundle
  ansible.builtin.debug:
    msg: "{{ ({} | c5c3.ovn.pki_authorities({'central': {'active': lookup('ansible.builtin.file', 'ovn-pki/ca.pem')}, 'chassis': {}})).own.bundle }}"
"""

RETURN = r"""
_value:
  description:
    - C(own) is for the certificate of the host in O(desired), C(central) for one with all rights, C(chassis) for one with the rights of a chassis on a
      machine, and C(hypervisor_cluster) for that of a hypervisor cluster.
    - Each has C(name) (the CA that signs, V(central) or V(chassis)), C(given) (it is one of the user's) and C(issuer) (its certificate, empty while there is
      none).
    - C(own) has besides C(active) (certificate of its file that counts), C(bundle) (all CAs that hosts trust), C(client_bundle) (all that the server of
      chassis lets in), C(rotates) (the CAs whose files a phase moves), C(missing) (the CAs that have to be made first) and C(former_layout) (chassis have
      certificates of the central CA although they should have a CA of their own).
  type: dict
  sample: {"own": {"name": "central", "given": false, "active": "", "issuer": "", "bundle": "", "client_bundle": "", "rotates": [], "missing": ["central"]}}
"""

import typing as t

from ..module_utils._roles.authorities import authorities
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_authorities": as_filter(authorities)}
