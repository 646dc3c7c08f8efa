#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_program
short_description: (internal) Install the program of the observer on a machine
version_added: "0.1.0"
description:
  - Writes the Python code that observes a control plane between runs, as one file that C(python3) executes. It is built from the code of this
    collection, the same that pods run, so equal collections give equal files.
  - The file is replaced at once or not at all. An observer that runs continues with the new one by itself.
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
  path:
    description: Absolute path of the file. Its directory is made (0755) if it is missing.
    type: path
    required: true
seealso:
  - module: c5c3.ovn.ovn_units
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Install the program of the observer
  c5c3.ovn.ovn_program:
    path: /usr/lib/c5c3-ovn/c5c3-ovn.pyz
"""

RETURN = r""" # """

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._agent.archive import build_archive
from ..module_utils._base.errors import OvnError
from ..module_utils._host.systemctl import install_program


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec={"path": {"type": "path", "required": True}}, supports_check_mode=True)
    try:
        module.exit_json(changed=install_program(module.params["path"], build_archive(), check_mode=module.check_mode))
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
