# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: endpoints
short_description: Addresses of the databases on the central hosts of an inventory
version_added: "0.1.0"
description:
  - Lists one endpoint per host, with the host's C(ovn_address), or C(ansible_host), or its name. IPv6 literals get brackets.
  - Computed on each run and never stored, so that a client always has all members of today.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  hosts:
    description: The hosts, usually C(groups['ovn_central']). Positional.
    type: list
    elements: str
    required: true
  database:
    description: V(northbound) or V(southbound). Positional.
    type: str
    required: true
  listener:
    description: >-
      Whose port. V(unrestricted) (6641, 16642) is that of Neutron and of operators, V(client) (6641, 6642) that of chassis, which have a role of their own
      in the Southbound database, V(raft) (6643, 6644) that of the members among themselves. Positional.
    type: str
    choices: [unrestricted, client, raft]
    default: unrestricted
  tls:
    description: Whether the endpoints are V(ssl:) (true) or V(tcp:).
    type: bool
    default: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Give Neutron the Northbound database
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.endpoints(groups['ovn_central'], 'northbound') | join(',') }}"
"""

RETURN = r"""
_value:
  description: Endpoints in the order of the hosts.
  type: list
  elements: str
  sample: ["ssl:192.0.2.11:6641", "ssl:192.0.2.12:6641", "ssl:192.0.2.13:6641"]
"""

import typing as t

from ..module_utils._base.databases import Database
from ..module_utils._roles.endpoints import Listener, endpoints_of
from ..plugin_utils._filters import as_filter


@as_filter
def endpoints(
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    hosts: t.Sequence[str],
    database: Database,
    listener: Listener = "unrestricted",
    tls: bool = True,
) -> list[str]:
    return endpoints_of(hosts, hostvars, database, listener, tls=tls)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"endpoints": endpoints}
