# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_central
short_description: Who writes to the Northbound database for the connectivity test
version_added: "0.1.0"
description:
  - The first central host, through the socket of its member. If that is a Kubernetes cluster, the first guest does, or its machine.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  given:
    description:
      - C(backend) of the role P(c5c3.ovn.ovn_ping#role), C(host), C(central_hosts) (C(groups['ovn_central'])), C(guests), C(answer), the result of
        M(c5c3.ovn.ovn_cluster_info), and C(config), that of M(kubernetes.core.k8s_info) for the ConfigMap C(ovn-config). What was not asked is empty.
        Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who writes
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.ping_central(_ovn_ping_given)).writer }}"
"""

RETURN = r"""
_value:
  description: C(host) and C(is_cluster) of the control plane, C(writer), the endpoints C(northbound), and the paths of the writer's TLS files.
  type: dict
  sample:
    host: central1
    is_cluster: false
    writer: central1
    northbound: ["unix:/run/ovn/ovnnb_db.sock"]
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
"""

import typing as t

from ..module_utils._roles.ping import choose_writer
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_central": as_filter(choose_writer)}
