# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_desired
short_description: What the role ovn_pki brings about for one host
version_added: "0.1.0"
description:
  - Computes from options, inventory and groups which certificate a host gets, and in Kubernetes which Secret holds it.
  - An option that is an empty text counts as absent.
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
- name: Show which names the certificate of this host has
  ansible.builtin.debug:
    msg: "{{ ({} | c5c3.ovn.pki_desired(hostvars, groups, inventory_hostname)).pair.subject_alt_names }}"
"""

RETURN = r"""
_value:
  description:
    - C(certificate) (V(central) or V(chassis)), C(backend), C(chassis_ca) (chassis have a CA of their own) and C(central_backend).
    - C(pair) (options of M(c5c3.ovn.ovn_certificate)) and C(new_ca) (whether a second CA may be created).
    - For Kubernetes C(cluster_name) and C(secret) (C(namespace), C(name), C(place) for messages, C(client_ca_key), its key for those whom the Southbound lets
      in, empty if these are everybody's, and C(ca_config_map), the ConfigMap with the CAs that
      pods trust, empty if these are in the Secret).
  type: dict
  sample: {"certificate": "chassis", "pair": {"common_name": "compute1", "subject_alt_names": ["compute1", "192.0.2.21"]}}
"""

import typing as t

from ..module_utils._roles.pki import desired_state
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_desired": as_filter(desired_state)}
