# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_source
short_description: Whether another client applies the OVNCluster, and where
version_added: "0.1.0"
description:
  - With C(ovn_cluster_from=resource) a run reads the C(OVNCluster) in the cluster of the control plane, and takes it as it is.
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  groups:
    description: C(groups). Positional.
    type: dict
    required: true
  given:
    description: C(ovn_cluster_from) of the task. It counts where the group C(ovn_central) has no host. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show whether a run reads the OVNCluster
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.cluster_source(groups, 'inventory')).reads }}"
"""

RETURN = r"""
_value:
  description:
    - C(reads), whether it has to be read in this run, C(host), the one that stands for its cluster, C(namespace) and C(name) of the resource, and C(problem),
      a text that says why it cannot be read, or empty.
  type: dict
  sample: {"reads": true, "host": "control-plane", "namespace": "ovn-system", "name": "ovn", "problem": ""}
"""

import typing as t

from ..module_utils._roles.cluster_source import find_source
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"cluster_source": as_filter(find_source)}
