# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_central
short_description: Who writes to the Northbound database for the connectivity test
version_added: "0.1.0"
description:
  - The first central host, through the socket of its member. If that is a Kubernetes cluster, a command in a pod of its Northbound database.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  given:
    description:
      - The options C(central_host), C(northbound_endpoints), C(private_key), C(certificate) and C(ca_certificate) of the role
        P(c5c3.ovn.ovn_ping#role), the hypervisor C(host), and C(central_hosts) (C(groups['ovn_central'])). Positional.
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
  description:
    - C(place), C(host) or C(kubernetes), the host C(writer), and C(problem), why nobody can write.
    - On a host also C(become), C(client), the endpoints C(northbound), and the paths of TLS files there.
  type: dict
  sample:
    place: host
    writer: central1
    problem: ""
    become: true
    client: ovsdbapp
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
