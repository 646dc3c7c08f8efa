#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_client_certificate
short_description: (internal) Private key, certificate and CAs of a client, replaced all at once
version_added: "0.1.0"
description:
  - Writes the three files that a client of the databases connects with. They lie in a directory of their own, which the link C(current) in O(directory) names.
    A renewed certificate comes with a new directory and one rename of the link, so a run that is killed leaves the old files or the new ones, never a key of
    one certificate beside another.
  - That is how files of a Secret change in a pod. A client that opens them one after the other at this very moment may fail once, and gets all new ones when
    it connects again.
  - The key has to fit the certificate, else nothing changes.
  - Files with another owner or mode are replaced as well, not corrected where they are.
  - Of two runs at the same time one waits for the other, at most 20 s.
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: It says what does not fit, and shows nothing of the files.
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  directory:
    description: Absolute path of the directory with the link. It is made if it is missing. It, and what is in it, are for O(owner) and O(group) alone.
    type: path
    required: true
  private_key:
    description: The private key, PEM text; C(current/key.pem). Required to write files, as the two others.
    type: str
  certificate:
    description: The certificate, PEM text; C(current/cert.pem).
    type: str
  ca_certificate:
    description: The CAs that the client trusts, PEM text; C(current/ca.pem).
    type: str
  owner:
    description: Name of the user who owns the files. Without it, the user who runs the task.
    type: str
  group:
    description: Name of the group that can read the files. Without it, that of the user who runs the task.
    type: str
  run:
    description:
      - Name of the run that tries staged files, unlike that of any other run. Until its V(unstaged), or for an hour,
        other runs do not delete them.
    type: str
    default: ""
  state:
    description:
      - V(present) puts the files in place.
      - V(staged) writes them beside those in use, so that they can be tried first; RV(files) says where. A later V(present) takes them from there.
      - V(unstaged) deletes what is not in use and no other O(run) tries, and needs O(directory) alone.
    type: str
    choices: [present, staged, unstaged]
    default: present
seealso:
  - module: c5c3.ovn.ovn_certificate
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Bring Neutron its certificate
  c5c3.ovn.ovn_client_certificate:
    directory: /etc/neutron/ovn
    private_key: "{{ lookup('ansible.builtin.file', 'clients/neutron-key.pem', rstrip=false) }}"
    certificate: "{{ lookup('ansible.builtin.file', 'clients/neutron-cert.pem', rstrip=false) }}"
    ca_certificate: "{{ lookup('ansible.builtin.file', 'clients/ca.pem', rstrip=false) }}"
    group: neutron
"""

RETURN = r"""
files:
  description:
    - Paths of the files, by the names of the options. With O(state=staged) those with these contents, else those that a client opens.
    - In check mode, and if they are not written yet, where a client will find them.
  returned: success
  type: dict
  sample:
    private_key: /etc/neutron/ovn/current/key.pem
    certificate: /etc/neutron/ovn/current/cert.pem
    ca_certificate: /etc/neutron/ovn/current/ca.pem
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.client_certificate import OPTIONS, REQUIRED_IF, apply_client_certificate


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, required_if=REQUIRED_IF, supports_check_mode=True)
    try:
        module.exit_json(**apply_client_certificate(module.params, check_mode=module.check_mode))
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
