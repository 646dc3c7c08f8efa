#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_database
short_description: Settings that live inside a Northbound or Southbound database
version_added: "0.1.0"
description:
  - Sets what is stored in one OVN database and valid for all its members - listeners for clients, options and the election timer of its Raft cluster.
  - Run the task on every central host at the same time. Only the host whose member leads acts; the others wait until their own replica
    has the desired state. If the leadership moves to another member midway, that host goes on. RV(ignore:changed) means that this host wrote something.
  - Rows are compared first and written in one transaction that expects the values that were compared. Two runs at once do no harm, and a write whose
    answer was lost is checked in the database instead of being repeated.
  - Works on standalone databases as well, except for O(election_timer).
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  check_mode:
    support: full
    details:
      - As in a real run, only the host of the leader reports changes.
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  database:
    description: The database of the member on this host.
    type: str
    choices: [northbound, southbound]
    required: true
  control_socket:
    description:
      - Control socket (unixctl) of the member's C(ovsdb-server).
      - By default the distribution's, C(/run/ovn/ovnnb_db.ctl) or C(/run/ovn/ovnsb_db.ctl).
    type: path
  socket:
    description:
      - Database socket of the same server, as C(unix:FILE).
      - By default the distribution's, C(unix:/run/ovn/ovnnb_db.sock) or C(unix:/run/ovn/ovnsb_db.sock).
    type: str
  election_timer:
    description:
      - Time without a sign of the leader after which a member starts an election, in milliseconds, V(100) to V(600000).
      - A longer timer is reached in steps of at most twice the value before, a shorter one in one step.
      - If absent, the timer is left alone.
    type: int
  connections:
    description:
      - Where the servers listen for clients, rows of the table C(Connection). They are replicated, so a target holds on every member - listen on all
        addresses.
      - A row is found by its O(connections[].target) and changed in place. Rows with other targets are left alone unless O(purge_connections).
      - If absent, all rows are left alone.
    type: list
    elements: dict
    suboptions:
      target:
        description: Connection method, for example V(pssl:6642:[::]) for TLS on all addresses, IPv4 and IPv6.
        type: str
        required: true
      state:
        description: Whether the row is there. Nothing else of an entry counts with V(absent).
        type: str
        choices: [present, absent]
        default: present
      role:
        description:
          - Role that the clients of this listener have, V(ovn-controller) or the empty string for none. Southbound only.
          - With the role C(ovn-controller), a chassis can register and change no other chassis; the name in its certificate has to be its system id.
          - If absent, the role of an existing row is left alone.
        type: str
      read_only:
        description: Clients of this listener cannot write. Southbound only. If absent, left alone.
        type: bool
      inactivity_probe:
        description:
          - Time without a sign of a client before it is probed, in milliseconds, V(0) for never.
          - If absent, left alone; the server's default is V(5000).
        type: int
      max_backoff:
        description: Longest pause between two attempts of a connection that the server opens itself, in milliseconds, at least V(1000). If absent, left alone.
        type: int
  purge_connections:
    description: Remove the rows that O(connections) does not name.
    type: bool
    default: false
  serve_connections:
    description:
      - Makes the server of this host listen where the table C(Connection) says, if it was told at run time not to (C(ovsdb-server/remove-remote)).
      - Servers that were started without C(--remote=db:) as well. Not replicated, so the module has to run on every host.
    type: bool
    default: false
  options:
    description:
      - Keys of the column C(options) of C(NB_Global) or C(SB_Global), for example C(northd_probe_interval). Everything is stored as a string.
      - Only the named keys are compared and changed. A null value removes the key.
    type: dict
  timeout:
    description: Time for one answer of the server, in seconds.
    type: float
    default: 5
  wait_timeout:
    description:
      - Time for everything together, in seconds. The election timer needs some time for each step.
      - An election is waited for (three election timers and 2 seconds); then the module fails because of the missing quorum.
    type: float
    default: 60
notes:
  - The columns C(status) and C(is_connected) of C(Connection) are never read. In a cluster all members write them into the same row.
  - A fresh database has no row in C(NB_Global) or C(SB_Global). The module creates it, as C(ovn-nbctl init) does.
seealso:
  - module: c5c3.ovn.ovn_raft_status
  - module: c5c3.ovn.ovn_sync
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Let chassis and central components in, and give the members more time
  hosts: ovn_central
  tasks:
    - name: Southbound settings
      c5c3.ovn.ovn_database:
        database: southbound
        election_timer: 4000
        connections:
          - target: "pssl:6642:[::]"
            role: ovn-controller
            inactivity_probe: 60000
          - target: "pssl:16642:[::]"
            role: ""
            inactivity_probe: 60000

    - name: Northbound settings
      c5c3.ovn.ovn_database:
        database: northbound
        election_timer: 4000
        connections:
          - target: "pssl:6641:[::]"
            inactivity_probe: 60000
        options:
          northd_probe_interval: 10000
          use_logical_dp_groups: true
          obsolete_key: null
"""

RETURN = r"""
role:
  description:
    - Role of the member of this host when it was last read. Only a V(leader) or a V(standalone) server writes.
  returned: success
  type: str
  choices: [leader, follower, standalone, none]
  sample: leader
actions:
  description: What this host wrote, in order; in check mode, what it would write.
  returned: success
  type: list
  elements: str
  sample:
    - "add connection pssl:6641:[::]"
    - change the election timer from 1000 to 2000 ms
    - change the election timer from 2000 to 4000 ms
election_timer:
  description: Election timer in milliseconds as the own member shows it, V(none) for a standalone database.
  returned: success
  type: int
  sample: 4000
connections:
  description: All rows of the table C(Connection), ours and others. Empty if neither O(connections) nor O(options) is given.
  returned: success
  type: list
  elements: dict
  contains:
    target:
      description: Connection method.
      type: str
      sample: "pssl:6642:[::]"
    role:
      description: Role of the clients (Southbound only).
      type: str
      sample: ovn-controller
    read_only:
      description: Whether clients cannot write (Southbound only).
      type: bool
      sample: false
    inactivity_probe:
      description: In milliseconds, V(none) for the server's default.
      type: int
      sample: 60000
    max_backoff:
      description: In milliseconds, V(none) for the server's default.
      type: int
      sample: 8000
options:
  description: All options of the database. Empty if neither O(connections) nor O(options) is given.
  returned: success
  type: dict
  sample: {"northd_probe_interval": "10000"}
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.database import OPTIONS, apply_database_settings


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        result = apply_database_settings(module.params, check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
