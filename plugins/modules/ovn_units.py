#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_units
short_description: (internal) Write, mask, enable, start and, only if needed, restart systemd units
version_added: "0.1.0"
description:
  - Brings several units to their declared state in one call.
  - A running unit is restarted when its main process has another environment than the unit file declares, or when its binary was replaced. That is
    read from the process, not remembered from an earlier task, so a run that was killed after it wrote the unit file is finished by the next one.
    A unit takes part by carrying a digest of its settings in C(Environment=).
  - Unit files are read again when systemd says that they changed on disk.
  - The files that units are made of can be written in the same call, which costs one connection instead of two or more for each file.
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
  files:
    description:
      - Files that the units are made of, such as unit files and what they start, written before the units are handled. Each one is replaced at once or not
        at all, folders that are missing are made (0755).
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Absolute path.
        type: path
        required: true
      content:
        description: The whole content. Required if O(files[].state=present).
        type: str
      mode:
        description: Permissions, as an octal number in quotes.
        type: str
        default: "0644"
      skip_without_directory:
        description:
          - Whether the file is left out while its directory does not exist. For settings of a program that may not be installed, whose package brings the
            directory.
        type: bool
        default: false
      state:
        description: V(absent) deletes the file after the units are handled, so that a unit can still be stopped and disabled.
        type: str
        choices: [present, absent]
        default: present
  masked:
    description:
      - Units that must never run here. They are stopped and masked, also before their package is installed.
      - A unit whose file lies in C(/etc/systemd/system), where its mask would be, cannot be masked. It is stopped and disabled.
    type: list
    elements: str
    default: []
  stop_masked:
    description:
      - Whether units of O(masked) are stopped. If not, the module fails when one of them has a process, and changes nothing.
    type: bool
    default: true
  units:
    description: Units in the order in which they are handled.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name with suffix, for example V(c5c3-ovn-northd.service).
        type: str
        required: true
      enabled:
        description:
          - Whether it starts with the machine. Left alone if absent. A unit without an C([Install]) section cannot be enabled; that is a warning.
        type: bool
      state:
        description: Whether it runs now. Left alone if absent.
        type: str
        choices: [started, stopped]
  keep_for:
    description:
      - What still needs the units and their files. As long as one of these O(keep_for.files) is there, or one of O(keep_for.units) runs or is enabled, no file
        is deleted, and no unit of O(units) is disabled or stopped; all the rest is done.
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
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Mask the distribution's units
  c5c3.ovn.ovn_units:
    masked: [ovn-central.service, ovn-northd.service]

- name: Write a unit and run it; changed settings restart it
  c5c3.ovn.ovn_units:
    files:
      - path: /etc/systemd/system/example.service
        content: "{{ lookup('ansible.builtin.template', 'example.service.j2') }}"
    units:
      - name: example.service
        enabled: true
        state: started

- name: Start northd, with its present settings
  c5c3.ovn.ovn_units:
    units:
      - name: c5c3-ovn-northd.service
        enabled: true
        state: started
"""

RETURN = r"""
actions:
  description:
    - What was done, or would be in check mode. An entry is a verb of systemctl and a unit, with the reason of a restart, or C(write) or C(delete) and a file.
  returned: success
  type: list
  elements: str
  sample: ["restart c5c3-ovn-northd.service (its settings have changed)"]
not_loaded:
  description: Units that are to be started and that systemd cannot load, with the reason as C(LoadState) of C(systemctl show) has it.
  returned: success
  type: dict
  sample: {"neutron-ovn-agent.service": "not-found"}
kept_for:
  description: Why files and units stay that would be deleted, disabled or stopped without O(keep_for). Empty if none does.
  returned: success
  type: list
  elements: str
  sample: [/run/ovn/ovnsb_db.pid is there, c5c3-ovn-southbound.service is enabled]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.units import OPTIONS, apply_units
from ..module_utils._machine.commands import Commands


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        result = apply_units(module.params, Commands(), check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    for text in result.pop("warnings"):
        module.warn(text)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
