# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_client_due
short_description: Whether check mode foresees another certificate of a client
version_added: "0.1.0"
description:
  - In check mode nothing is issued, so those who bring files of a client somewhere still find the former ones. This tells whether a run would have replaced
    their contents, as the role P(c5c3.ovn.ovn_pki#role) has compared them on central hosts.
positional: central_hosts, certificate
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  central_hosts:
    description: C(groups['ovn_central']).
    type: list
    elements: str
    required: true
  certificate:
    description: Path of the client's certificate on the control node.
    type: path
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show whether Neutron would get another certificate
  ansible.builtin.debug:
    msg: "{{ ansible_check_mode and hostvars | c5c3.ovn.pki_client_due(groups['ovn_central'], '/srv/clients/neutron-cert.pem') }}"
"""

RETURN = r"""
_value:
  description: Whether the private key and the certificate, or the CAs beside them, would be others.
  type: bool
  sample: true
"""

import typing as t

from ..module_utils._roles.pki_clients import is_client_due


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_client_due": is_client_due}
