# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_desired
short_description: Guests of the connectivity test
version_added: "0.1.0"
description:
  - What the options of the role P(c5c3.ovn.ovn_ping#role) mean on one hypervisor, or on the nodes of one Kubernetes cluster.
  - Addresses follow from the place of the hypervisor in its group, so a limited run gives the same ones.
options:
  _input:
    description:
      - The role's options without their prefix - C(backend), C(state), C(name) and, on a machine, C(system_id), in Kubernetes C(nodes). Also C(host), C(hosts)
        (C(groups['ovn_hypervisors'])), and the results of M(kubernetes.core.k8s_info) for the hypervisors' C(pods) and for the C(OVNChassis) (C(chassis)).
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the guests
  ansible.builtin.debug:
    msg: "{{ (_ovn_ping_given | c5c3.ovn.ping_desired).guests }}"
"""

RETURN = r"""
_value:
  description:
    - C(guests), each with C(port) and C(target), in Kubernetes also with C(cluster), C(pod) and C(via). For a removal there those that exist.
    - In Kubernetes C(nodes) that can have a guest, and C(pod), what the pods of guests have in common with those of the hypervisors.
  type: dict
  sample: {"guests": [{"port": {"name": "c5c3-ping-compute1", "mac": "02:c5:c3:00:00:01", "ip": "198.18.0.1"}, "address": "198.18.0.1/16"}]}
"""

import typing as t

from ..module_utils._roles.ping import desired_state
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_desired": as_filter(desired_state)}
