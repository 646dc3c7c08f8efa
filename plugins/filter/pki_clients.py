# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pki_clients
short_description: Certificates of clients that are no hosts of the inventory
version_added: "0.1.0"
description:
  - Computes from the option O(c5c3.ovn.ovn_pki#role:main:ovn_pki_clients) of the role P(c5c3.ovn.ovn_pki#role) which certificates are issued,
    and where they are kept.
  - Fails if a client has the name of a chassis.
positional: directory, ca_directory, cluster_name
options:
  _input:
    description: Names, or dictionaries with C(name), C(common_name), C(subject_alt_names), C(access) and C(secret).
    type: list
    elements: raw
    required: true
  directory:
    description: Directory of the files on the control node.
    type: path
    required: true
  ca_directory:
    description: Directory of the CA, which has to be another one.
    type: path
    required: true
  cluster_name:
    description: Name of the OVNCluster, with which names of Secrets begin.
    type: str
    default: ovn
  hostvars:
    description: C(hostvars), for the names of chassis.
    type: dict
    default: {}
  groups:
    description: C(groups), for the names of chassis.
    type: dict
    default: {}
  chassis_ca:
    description: Whether chassis have a CA of their own. Without one, there is no C(access) V(chassis).
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where the certificate of Neutron is
  ansible.builtin.debug:
    msg: "{{ (['neutron'] | c5c3.ovn.pki_clients('/srv/clients', '/srv/ovn-pki') | first).pair.certificate }}"
"""

RETURN = r"""
_value:
  description:
    - For each client C(name), C(access), C(secret) (its name in Kubernetes) and C(pair).
    - C(pair) are options of M(c5c3.ovn.ovn_certificate) (C(private_key), C(certificate),
      C(ca_certificate), C(common_name), C(subject_alt_names)).
  type: list
  elements: dict
  sample: [{"name": "neutron", "pair": {"common_name": "neutron", "subject_alt_names": []}, "access": "central", "secret": "ovn-client-neutron"}]
"""

import typing as t

from ..module_utils._roles.pki_clients import desired_clients
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"pki_clients": as_filter(desired_clients)}
