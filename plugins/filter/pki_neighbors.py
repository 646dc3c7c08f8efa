# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_neighbors
short_description: What other hosts mean for the Secret of a Kubernetes cluster
version_added: "0.1.0"
description:
  - Looks for hosts whose parts are in the same namespace of the same cluster, as far as their variables show it.
  - Reads variables of all hosts of C(ovn_central) and C(ovn_hypervisors).
options:
  _input:
    description: Options of the role P(c5c3.ovn.ovn_pki#role) and shared variables, as the running task sees them.
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
  - c5c3.ovn._inventory.groups
  - c5c3.ovn._inventory.host
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who makes the Secret
  ansible.builtin.debug:
    msg: "{{ ({} | c5c3.ovn.pki_neighbors(hostvars, groups, inventory_hostname)).central_twin }}"
"""

RETURN = r"""
_value:
  description:
    - C(central_twin) (the central host that makes the same Secret, empty if there is none), C(given) (the host does not make it), C(rivals) (other hypervisor
      clusters in the namespace) and C(namespace_labels).
  type: dict
  sample: {"central_twin": "", "given": false, "rivals": [], "namespace_labels": {}}
"""

import typing as t

from ..module_utils._roles.pki import neighbors
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_neighbors": as_filter(neighbors)}
