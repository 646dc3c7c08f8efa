# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: issued_change
short_description: What a run knows of issued certificates, and which central hosts have another list of them
version_added: "0.1.0"
description:
  - Observers know the certificates of chassis, their metadata agents and clients from a list on the central hosts. This compares
    it with what the run has read and issued.
  - Of certificates the run knows what the roles P(c5c3.ovn.ovn_pki#role) and P(c5c3.ovn.ovn_hypervisor#role) have recorded, of the list of a machine what the
    role P(c5c3.ovn.ovn_central#role) has read before. A machine whose list was not read is named as well.
options:
  _input:
    description: The hosts that take part in the run, usually C(ansible_play_batch).
    type: list
    elements: str
    required: true
  hostvars:
    description: C(hostvars), or any mapping of host names to variables. Positional.
    type: dict
    required: true
  groups:
    description: C(groups), or any mapping of group names to host names. Positional.
    type: dict
    required: true
  clients:
    description:
      - What P(c5c3.ovn.pki_clients#filter) returns; null if the run has nothing to do with clients. Clients that hosts of C(ovn_controllers) use count once
        the role P(c5c3.ovn.ovn_neutron#role) has brought their files to all of these hosts in this run.
    type: list
    elements: dict
  kind:
    description: Whose certificates the run has issued to the hosts, besides those of clients. Metadata agents are those on machines.
    type: str
    choices: [chassis, metadata-agent]
    default: chassis
  removed_chassis:
    description: Names of chassis that leave the list besides those that the inventory removes; a list, or a text with commas.
    type: raw
    default: []
  check_mode:
    description: Whether certificates that are needed have not been issued.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what is not recorded yet
  ansible.builtin.debug:
    msg: "{{ ansible_play_batch | c5c3.ovn.issued_change(hostvars, groups) }}"
"""

RETURN = r"""
_value:
  description: C(change) are options of M(c5c3.ovn.ovn_issued_certificates). C(machines) and C(clusters) are the central hosts where they are due.
  type: dict
  sample:
    change:
      certificates:
        - {kind: chassis, holder: compute1, issuer: OVN chassis CA, serial_number: 3a91c0, not_after: '2027-11-21T16:00:00Z',
           issued: true}
      removed_chassis: []
      removed_metadata_agents: []
    machines: [central1, central2, central3]
    clusters: []
"""

import typing as t

from ..module_utils._roles.issued import issued_change
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"issued_change": as_filter(issued_change)}
