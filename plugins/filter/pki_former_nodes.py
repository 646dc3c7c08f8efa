# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_former_nodes
short_description: Nodes that may still use a certificate of another CA
version_added: "0.1.0"
description:
  - Nodes with certificates of their own (C(ovn_node_certificates), C(tls.nodeCertificates)) have them on themselves alone. But the pod of ovn-controller names
    the CA that it was started for, and is not ready before its node has a certificate of that one. The role P(c5c3.ovn.ovn_pki#role) retires a CA only
    when that is so everywhere.
options:
  _input:
    description: Results of a loop over M(kubernetes.core.k8s_info) that listed pods and DaemonSets of hypervisor clusters.
    type: list
    elements: dict
    required: true
  accepted:
    description: The CAs that remain, as PEM text. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who would be refused without the former CA
  ansible.builtin.debug:
    msg: "{{ listed.results | c5c3.ovn.pki_former_nodes(lookup('ansible.builtin.file', 'chassis-ca.pem')) }}"
"""

RETURN = r"""
_value:
  description: These pods and DaemonSets, as kind, namespace and name, with node and reason. Those of nodes that share a certificate are not among them.
  type: list
  elements: str
  sample: ["Pod ovn-hypervisors/ovn-controller-x7k2p on node worker1 is not ready"]
"""

import typing as t

from ..module_utils._roles.former_nodes import former_nodes
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_former_nodes": as_filter(former_nodes)}
