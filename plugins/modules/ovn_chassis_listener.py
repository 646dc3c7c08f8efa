#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_chassis_listener
short_description: (internal) Hand the port of chassis over from the Southbound member to the relay
version_added: "0.1.0"
description:
  - Makes the C(ovsdb-server) of the Southbound member on this host give up the port of chassis, and waits until the relay of this host listens there.
  - The member keeps all its other ports, but their clients connect again. The row of the port stays in the table C(Connection), since other members may
    still use it.
  - If the relay is not ready, or does not take the port over, the module fails and the member listens as before.
  - It is a step of P(c5c3.ovn.ovn_central#role), on one host after the other.
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  target:
    description: The listener as the table C(Connection) names it, C(pssl:PORT:ADDRESS).
    type: str
    required: true
  control_socket:
    description: Control socket (unixctl) of the member's C(ovsdb-server).
    type: path
    required: true
  socket:
    description: Database socket of the same server, as C(unix:FILE).
    type: str
    required: true
  relay_control_socket:
    description: Control socket of the relay.
    type: path
    required: true
  relay_socket:
    description: Path of the database socket of the relay.
    type: path
    required: true
  timeout:
    description: Time for one answer of a server, in seconds.
    type: float
    default: 5
  wait_timeout:
    description: How long the relay may take to get the contents of the database, and then to listen, in seconds.
    type: float
    default: 30
seealso:
  - module: c5c3.ovn.ovn_database
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Hand port 6642 over to the relay
  c5c3.ovn.ovn_chassis_listener:
    target: "pssl:6642:[::]"
    control_socket: /run/ovn/ovnsb_db.ctl
    socket: unix:/run/ovn/ovnsb_db.sock
    relay_control_socket: /run/ovn/ovnsb_relay_db.ctl
    relay_socket: /run/ovn/ovnsb_relay_db.sock
  throttle: 1
"""

RETURN = r"""
actions:
  description: What was done, in check mode what would be.
  returned: success
  type: list
  elements: str
  sample: [hand port 6642 over from the Southbound member to its relay]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.chassis_listener import OPTIONS, hand_over_listener


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        result = hand_over_listener(module.params, check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
