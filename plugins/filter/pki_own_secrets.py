# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_own_secrets
short_description: Kubernetes clusters whose Secret the role ovn_pki makes
version_added: "0.1.0"
description:
  - Leaves out machines, and clusters whose Secret another owner manages.
options:
  _input:
    description: Hosts of the inventory.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
  - c5c3.ovn._inventory.groups
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the clusters whose certificates come from our CA
  ansible.builtin.debug:
    msg: "{{ groups['ovn_central'] | c5c3.ovn.pki_own_secrets(hostvars, groups) }}"
"""

RETURN = r"""
_value:
  description: The hosts that stand for these clusters.
  type: list
  elements: str
  sample: ["rack1"]
"""

import typing as t

from ..module_utils._roles.pki import hosts_with_own_secret
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_own_secrets": as_filter(hosts_with_own_secret)}
