#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_listeners_info
short_description: (internal) Try whether listeners of OVN let a certificate in
version_added: "0.1.0"
description:
  - Connects to ports of the databases, those of Raft included, with a certificate of this host, and returns which certificate each of them serves. The playbook
    C(c5c3.ovn.rotate) calls it between its phases. Changes nothing.
  - A server notices new files a moment later, so a listener with a problem is tried again until O(timeout) is over. A problem does not fail the module.
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
  listeners:
    description:
      - Endpoints, each with the serial number (hexadecimal) of the certificate that it should serve. With an empty text any certificate is right that
        O(ca_certificate) trusts.
    type: dict
    required: true
  private_key:
    description: Path of the private key on the host.
    type: path
    required: true
  certificate:
    description: Path of the certificate on the host.
    type: path
    required: true
  ca_certificate:
    description: Path of the CA certificates on the host that the servers' certificates are checked against.
    type: path
    required: true
  timeout:
    description: How long the listeners may take, in seconds.
    type: float
    default: 20
seealso:
  - module: c5c3.ovn.ovn_certificate
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Try the ports of a central host
  c5c3.ovn.ovn_listeners_info:
    listeners: {"ssl:192.0.2.11:6641": "", "ssl:192.0.2.11:6643": ""}
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
  register: tried
"""

RETURN = r"""
listeners:
  description: What came of each listener, in the order of their endpoints.
  returned: success
  type: list
  elements: dict
  contains:
    endpoint:
      description: Where it listens.
      returned: always
      type: str
      sample: ssl:192.0.2.11:6641
    serial_number:
      description: Serial number of the certificate that it serves, hexadecimal; empty without a connection.
      returned: always
      type: str
      sample: 3a91c0
    problem:
      description: Why the certificate of this host opens nothing there, or what is wrong with the one that is served. Empty if all is well.
      returned: always
      type: str
      sample: ""
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.listeners import OPTIONS, try_listeners


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        listeners = try_listeners(module.params)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, listeners=listeners)


if __name__ == "__main__":
    main()
