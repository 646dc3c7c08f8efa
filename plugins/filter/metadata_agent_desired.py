# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: metadata_agent_desired
short_description: What a metadata agent has to get
version_added: "0.1.0"
description:
  - Computes the configuration of Neutron's metadata agent for the role P(c5c3.ovn.ovn_metadata_agent#role).
positional: southbound, shared_secret
options:
  _input:
    description:
      - The role's options without their prefix, C(host), and whether it is a C(gateway).
      - C(files_found) is the list of those C(former_settings) that are on the host. C(endpoints_follow) says that C(southbound) may be empty, in check mode
        before there is a control plane.
    type: dict
    required: true
  southbound:
    description: Endpoints of the Southbound database for chassis.
    type: list
    elements: str
    required: true
  shared_secret:
    description: The secret of Nova and the agent.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show why a host can have no agent
  ansible.builtin.debug:
    msg: "{{ (_ovn_metadata_agent_given | c5c3.ovn.metadata_agent_desired(['ssl:192.0.2.11:6642'], 'secret')).problem }}"
"""

RETURN = r"""
_value:
  description:
    - C(config) is the text of the file, C(files) are paths of the certificate, C(problem) says why there can be no agent.
    - C(service_units), C(left_units) and C(left_files) are options of M(c5c3.ovn.ovn_units), the latter two for a former agent.
    - C(former_settings) is the file that tells whether a former agent got its settings from the role, empty if it ends anyway.
  type: dict
  sample: {"config": "", "problem": "gateway1 is a gateway (group ovn_gateways) and gets no metadata agent"}
"""

import typing as t

from ..module_utils._roles.metadata_agent import desired_metadata_agent
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"metadata_agent_desired": as_filter(desired_metadata_agent)}
