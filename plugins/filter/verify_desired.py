# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_desired
short_description: How the role ovn_verify asks an installation
version_added: "0.1.0"
description:
  - Computes from options, inventory and the answers of central hosts which endpoints and files are used to ask, and from where.
  - An option that is an empty text counts as absent.
options:
  _input:
    description: Options of the role P(c5c3.ovn.ovn_verify#role) and shared variables, as the running task sees them.
    type: dict
    required: true
extends_documentation_fragment:
  - c5c3.ovn._inventory
  - c5c3.ovn._inventory.host
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which endpoints Neutron gets
  ansible.builtin.debug:
    msg: "{{ ({'ovn_verify_central': groups['ovn_central']} | c5c3.ovn.verify_desired(hostvars, inventory_hostname)).northbound_endpoints }}"
"""

RETURN = r"""
_value:
  description:
    - C(files) (C(private_key), C(certificate), C(ca_certificate); none without TLS), C(own_endpoints) (listeners of this machine) and C(tls_secret).
    - C(asked_from) (the central host on which heartbeat and addresses begin), C(sockets) (of its members), C(northbound_endpoints),
      C(southbound_endpoints) and C(neutron_southbound_endpoints) (without a role). C(run_directory) has the sockets of this machine.
    - Of a control plane in Kubernetes C(cluster) (its host), C(exposed) (its ports can be reached from outside) and C(ports).
    - C(questions) (files of tasks that send the heartbeat on machines), and C(heartbeat_problem) (why none can be sent).
    - C(limits), seconds for the C(first) call on a central host and for another one (C(again)), each with C(northd), C(contents) and C(host).
  type: dict
  sample: {"asked_from": "central1", "northbound_endpoints": ["ssl:192.0.2.11:6641"], "southbound_endpoints": ["ssl:192.0.2.11:16642"]}
"""

import typing as t

from ..module_utils._roles.verify import desired_state
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"verify_desired": as_filter(desired_state)}
