# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: neutron_desired
short_description: What a Neutron has to get
version_added: "0.1.0"
description:
  - Computes for the role P(c5c3.ovn.ovn_neutron#role) the configuration of Neutron, the files of its certificate, and the proxy that leads it to the leaders.
positional: endpoints
options:
  _input:
    description: The role's options without their prefix, and C(host).
    type: dict
    required: true
  endpoints:
    description: The value of P(c5c3.ovn.neutron_endpoints#filter).
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the configuration of Neutron
  ansible.builtin.debug:
    msg: "{{ (_ovn_neutron_given | c5c3.ovn.neutron_desired(_ovn_neutron_endpoints)).config }}"
"""

RETURN = r"""
_value:
  description:
    - C(config) is the text of the file, C(files) are paths of the certificate, C(endpoints) the addresses of the members by database.
    - C(helm) are overrides for the chart C(neutron) of OpenStack-Helm.
    - C(proxy) has C(program), C(environment), C(sandbox) and C(revision) of the unit; it is empty without a proxy.
    - C(service_units) is an option of M(c5c3.ovn.ovn_units) for the units of Neutron; P(c5c3.ovn.service_files#filter) makes what restarts them.
    - C(neutron_patch) is what a Neutron resource has to say in C(spec), C(warnings) are texts.
  type: dict
  sample: {"config": "[ovn]\nneutron_sync_mode = log\n", "files": {}, "warnings": []}
"""

import typing as t

from ..module_utils._roles.neutron import desired_neutron
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"neutron_desired": as_filter(desired_neutron)}
