#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_precheck
short_description: (internal) Measure what a host has for its part in OVN
version_added: "0.1.0"
description:
  - Internal; the role P(c5c3.ovn.ovn_precheck#role) calls it once on each machine, before the first change. Measures, judges nothing, changes nothing.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.info_module
options:
  local_addresses:
    description: Addresses or names that are to be addresses of the host.
    type: list
    elements: str
    default: []
  peers:
    description: TCP ports to connect to, all at the same time.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name in the inventory.
        type: str
        required: true
      address:
        description: Address or name.
        type: str
        required: true
      port:
        description: TCP port.
        type: int
        required: true
  tcp_ports:
    description: TCP ports at which the host is to listen.
    type: list
    elements: int
    default: []
  udp_ports:
    description: UDP ports at which the tunnels of the host are to end.
    type: list
    elements: int
    default: []
  tunnel:
    description: The tunnels of a hypervisor. Without it nothing of them is measured.
    type: dict
    suboptions:
      address:
        description: Where they end.
        type: str
        required: true
      interface:
        description: The interface that carries them. Without it, the one that has O(tunnel.address).
        type: str
      packet_size:
        description: Size of a packet with encapsulation, in octets, its IP header included. Such echo requests are sent unfragmented.
        type: int
        required: true
      peers:
        description: Where the tunnels of other hypervisors end. Each gets a small echo request, and if that comes back, up to three of O(tunnel.packet_size).
        type: list
        elements: dict
        default: []
        suboptions:
          host:
            description: Name in the inventory.
            type: str
            required: true
          address:
            description: Address.
            type: str
            required: true
  paths:
    description: Directories that will hold data. They need not exist.
    type: list
    elements: path
    default: []
  packages:
    description: Packages that the host needs.
    type: list
    elements: str
    default: []
  library_packages:
    description: Packages that the host needs if its Python lacks the library C(cryptography).
    type: list
    elements: str
    default: []
  archive_uris:
    description: Where the packages of a source are that the run will add. If a package has to be installed, the hosts of archives are connected to.
    type: list
    elements: str
    default: []
  archive_proxy:
    description: The proxy for downloads of the run, for hosts whose apt has none, without a password.
    type: str
  kernel_modules:
    description: Modules of the kernel that the host needs.
    type: list
    elements: str
    default: []
  openvswitch_database:
    description: The Open vSwitch database, C(unix:FILE) or C(tcp:HOST:PORT). Without one, or if it does not answer, the host has no chassis.
    type: str
    default: unix:/run/openvswitch/db.sock
  southbound:
    description: The Southbound server of a central host, C(unix:FILE), which is asked for the chassis that are registered. Without one none are known.
    type: str
    default: unix:/run/ovn/ovnsb_db.sock
  timeout:
    description: Seconds in which O(peers) have to answer, and another limit of that length for each of the archives and Open vSwitch.
    type: float
    default: 3
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Measure a host that is to be a member
  c5c3.ovn.ovn_precheck:
    local_addresses: [192.0.2.11]
    peers: [{host: db2, address: 192.0.2.12, port: 6643}]
    tcp_ports: [6641, 6642, 6643, 6644, 16642]
  register: measured
"""

RETURN = r"""
facts:
  description:
    - C(registered) has rows of the Southbound database by table, C(control_plane) the ids of those C(daemons) that are northd or serve its databases.
    - C(system), C(own_units), C(daemons), C(open_vswitch), C(chassis), C(local_addresses), C(listeners), C(peers), C(tunnel_devices), C(underlay), C(paths),
      C(underlays) (of each local address), C(file_systems), C(kernel_modules), C(datapath) (as M(c5c3.ovn.ovn_host_info)
      returns it), C(packages), and C(clock) with the time of the host when the measuring
      C(began) and C(ended), seconds since 1970.
  returned: success
  type: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._machine.commands import Commands
from ..module_utils._precheck.measure import measure


def _texts(**options: bool) -> dict[str, t.Any]:
    return {name: {"type": "str", "required": required} for name, required in options.items()}


def main() -> t.NoReturn:
    peer = _texts(host=True, address=True)
    texts: dict[str, t.Any] = {"type": "list", "elements": "str", "default": []}
    numbers: dict[str, t.Any] = {"type": "list", "elements": "int", "default": []}
    tunnel = {
        **_texts(address=True, interface=False),
        "packet_size": {"type": "int", "required": True},
        "peers": {"type": "list", "elements": "dict", "default": [], "options": peer},
    }
    peers_options = {**peer, "port": {"type": "int", "required": True}}
    module = AnsibleModule(
        argument_spec={
            "local_addresses": texts,
            "peers": {"type": "list", "elements": "dict", "default": [], "options": peers_options},
            "tcp_ports": numbers,
            "udp_ports": numbers,
            "tunnel": {"type": "dict", "options": tunnel},
            "paths": {"type": "list", "elements": "path", "default": []},
            "packages": texts,
            "library_packages": texts,
            "archive_uris": texts,
            "archive_proxy": {"type": "str"},
            "kernel_modules": texts,
            "openvswitch_database": {"type": "str", "default": "unix:/run/openvswitch/db.sock"},
            "southbound": {"type": "str", "default": "unix:/run/ovn/ovnsb_db.sock"},
            "timeout": {"type": "float", "default": 3},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, facts=measure(module.params, Commands()))
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
