# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_node_certificates
short_description: Hypervisor clusters whose nodes have certificates of their own
version_added: "0.1.0"
description:
  - Finds the Kubernetes clusters among the hypervisors whose nodes do not share a certificate (C(ovn_node_certificates), C(tls.nodeCertificates)). The
    agents of these nodes ask for them, and runs of the role P(c5c3.ovn.ovn_hypervisor#role) sign.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.groups
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the clusters
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.pki_node_certificates(groups) }}"
"""

RETURN = r"""
_value:
  description: The hosts that stand for these clusters. Clusters that are to be removed are not among them.
  type: list
  elements: str
  sample: [rack1]
"""

import typing as t

from ..module_utils._roles.pki import clusters_with_node_certificates
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_node_certificates": as_filter(clusters_with_node_certificates)}
