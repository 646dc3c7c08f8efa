# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_unready_members
short_description: Southbound members in Kubernetes that refuse certificates of the chassis CA
version_added: "0.1.0"
description:
  - A member's relay lets in the CAs of a file of its Secret (C(client-ca.crt)) only if it was started with that file. The role
    P(c5c3.ovn.ovn_pki#role) replaces no working certificate by one of the chassis CA before all members are.
  - Pods and StatefulSets count. Pods that have ended, those that are terminating, and those with another Secret are left out.
options:
  issuer:
    description: The CA that signs, as PEM text. Positional.
    type: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._cluster_listings
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the members to restart first
  ansible.builtin.debug:
    msg: "{{ pods.results | c5c3.ovn.pki_unready_members(secrets.results, lookup('ansible.builtin.file', 'chassis-ca.pem')) }}"
"""

RETURN = r"""
_value:
  description: These pods and StatefulSets, as kind, namespace and name.
  type: list
  elements: str
  sample: ["Pod ovn-system/ovn-southbound-0"]
"""

import typing as t

from ..module_utils._roles.pki_pods import unready_members
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_unready_members": as_filter(unready_members)}
