# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: issued_place
short_description: Where the list of issued certificates of a central host is
version_added: "0.1.0"
description:
  - The file of a machine, or for a control plane in Kubernetes the OVNCluster whose ConfigMap it is, and the way to its cluster.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory.host
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where the observer of central1 reads the list
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.issued_place('central1')).title }}"
"""

RETURN = r"""
_value:
  description:
    - Options of M(c5c3.ovn.ovn_issued_certificates), C(path), or C(kubeconfig), C(context), C(namespace) and C(cluster). An empty one counts as absent.
    - C(title), the list in messages.
  type: dict
  sample: {title: /etc/c5c3-ovn/issued-certificates.json, path: /etc/c5c3-ovn/issued-certificates.json}
"""

import typing as t

from ..module_utils._roles.issued_place import issued_place
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"issued_place": as_filter(issued_place)}
