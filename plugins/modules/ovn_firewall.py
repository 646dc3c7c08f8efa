#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_firewall
short_description: (internal) Let only some networks connect to some ports of a host, with a table of nftables
version_added: "0.1.0"
description:
  - Writes the table C(inet c5c3_ovn) of nftables to a file and loads it in one transaction, so that no packet meets half of it.
  - The table drops packets to the ports that it lists, from sources that are not listed for them. It never drops anything else. Other tables, such as
    those of firewalld, ufw or C(/etc/nftables.conf), are not touched, and what they drop stays dropped.
  - Packets of connections that are open count as well, so a source that is removed is shut out at once.
  - The loaded table is compared with the declared one, not the file alone, so rules that somebody changed or flushed come back. A run that was killed
    after it wrote the file is finished by the next one.
  - A unit has to load the file when the machine starts; the roles P(c5c3.ovn.ovn_central#role) and P(c5c3.ovn.ovn_hypervisor#role) have one.
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  state:
    description: V(absent) deletes the table and the file. Then every port is open, as far as this table goes.
    type: str
    choices: [present, absent]
    default: present
  ports:
    description: Ports and who may send to them. Ports that are not listed are open.
    type: list
    elements: dict
    default: []
    suboptions:
      protocol:
        description: Protocol of the port.
        type: str
        choices: [tcp, udp]
        default: tcp
      port:
        description: Number of the port on this host.
        type: int
        required: true
      sources:
        description:
          - Addresses and networks of IPv4 and IPv6, and names, which this host resolves. A name without an address fails the module before anything is
            changed. The host itself may always connect.
        type: list
        elements: str
        required: true
  purge:
    description:
      - Whether sources that are not declared any more are removed from a loaded table. If not, sources are only added to the ports that the table has,
        and nothing is done while there is no table. A rollout does the one before it changes the members of a cluster, the other afterwards.
    type: bool
    default: true
  keep_for:
    description:
      - What still needs the rules of a table that is loaded. As long as one of O(keep_for.files) is there, or one of O(keep_for.units) runs or is enabled,
        O(purge) leaves the rules of ports that are not declared any more, and V(absent) of O(state) leaves all.
      - The reasons are in RV(kept_for).
    type: dict
    suboptions:
      files:
        description: Files that are there as long as it is needed, for example those with the process id of a daemon.
        type: list
        elements: path
        default: []
      units:
        description: Units of systemd that need it while they run, or if they start with the machine.
        type: list
        elements: str
        default: []
  file:
    description: File with the table, for C(nft -f).
    type: path
    default: /etc/c5c3-ovn/firewall.nft
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Let only the central hosts and Neutron connect to the Northbound database
  c5c3.ovn.ovn_firewall:
    ports:
      - port: 6641
        sources: [192.0.2.11, 192.0.2.12, 192.0.2.13, 198.51.100.0/24, "2001:db8::/64"]

- name: Open all ports again
  c5c3.ovn.ovn_firewall:
    state: absent

- name: Open them when the database has ended for good
  c5c3.ovn.ovn_firewall:
    state: absent
    keep_for:
      files: [/run/ovn/ovnsb_db.pid]
      units: [c5c3-ovn-southbound.service]
"""

RETURN = r"""
actions:
  description: What was done, in check mode what would be.
  returned: success
  type: list
  elements: str
  sample: [write /etc/c5c3-ovn/firewall.nft, load table inet c5c3_ovn]
ruleset:
  description: The declared table in the language of nft(8), empty with O(state=absent).
  returned: success
  type: str
kept_for:
  description: Why rules stay that nobody declares, see O(keep_for). Empty if none does.
  returned: success
  type: list
  elements: str
  sample: [/run/ovn/ovnsb_db.pid is there, c5c3-ovn-southbound.service is enabled]
strangers:
  description:
    - Who is connected to one of the TCP ports of O(ports) without being one of its sources, and will be shut out when the table is loaded for the first time.
      Empty while it is loaded.
  returned: success
  type: list
  elements: dict
  sample: [{"port": 6641, "address": "203.0.113.7"}]
  contains:
    port:
      description: Port of this host.
      type: int
    address:
      description: Address of the other end.
      type: str
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.firewall import OPTIONS, apply_firewall
from ..module_utils._machine.commands import Commands


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        result = apply_firewall(module.params, Commands(), check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
