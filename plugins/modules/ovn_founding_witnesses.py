#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_founding_witnesses
short_description: (internal) Find out what a host knows of an older control plane
version_added: "0.1.0"
description:
  - Searches for settings of the chassis, state records and database files of an older control plane. The role P(c5c3.ovn.ovn_central#role) calls it before
    clusters are created, on central hosts and hypervisors. Changes nothing.
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
  own_endpoints:
    description:
      - Southbound endpoints of the control plane that is to be created. A chassis that names these is evidence of an older one only if a server answers there.
    type: list
    elements: str
    default: []
  openvswitch_database:
    description: The Open vSwitch database of the host. It is skipped if its socket does not exist.
    type: str
    default: unix:/run/openvswitch/db.sock
  record_directories:
    description: Directories with state records. Those beside them whose name begins like theirs count, too.
    type: list
    elements: path
    default: [/etc/c5c3-ovn]
  database_directories:
    description: Directories with database files.
    type: list
    elements: path
    default: [/var/lib/ovn]
  timeout:
    description: How long Open vSwitch may take to answer, in seconds.
    type: int
    default: 5
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Search for an older control plane
  c5c3.ovn.ovn_founding_witnesses:
    own_endpoints: ["ssl:192.0.2.11:6642", "ssl:192.0.2.12:6642", "ssl:192.0.2.13:6642"]
  register: evidence
"""

RETURN = r"""
witnesses:
  description: What the host has of an older control plane.
  returned: success
  type: list
  elements: dict
  contains:
    text:
      description: What it has, to be read after C(has).
      type: str
      returned: always
      sample: ovn-remote ssl:192.0.2.21:6642
    database:
      description: V(northbound) or V(southbound), empty if it concerns both.
      type: str
      returned: always
      sample: ""
unexamined:
  description: What could not be searched, and why.
  returned: success
  type: list
  elements: str
  sample: []
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._raft.founding_report import Evidence, chassis_evidence, file_evidence, record_evidence


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "own_endpoints": {"type": "list", "elements": "str", "default": []},
            "openvswitch_database": {"type": "str", "default": "unix:/run/openvswitch/db.sock"},
            "record_directories": {"type": "list", "elements": "path", "default": ["/etc/c5c3-ovn"]},
            "database_directories": {"type": "list", "elements": "path", "default": ["/var/lib/ovn"]},
            "timeout": {"type": "int", "default": 5},
        },
        supports_check_mode=True,
    )
    p = module.params
    searches: list[t.Callable[[], list[Evidence]]] = [
        lambda: chassis_evidence(p["openvswitch_database"], p["own_endpoints"], p["timeout"]),
        lambda: record_evidence(p["record_directories"]),
        lambda: file_evidence(p["database_directories"]),
    ]
    witnesses: list[Evidence] = []
    unexamined: list[str] = []
    for search in searches:
        try:
            witnesses += search()
        except (OvnError, OSError) as e:
            unexamined.append(str(e))
    module.exit_json(changed=False, witnesses=[known._asdict() for known in witnesses], unexamined=unexamined)


if __name__ == "__main__":
    main()
