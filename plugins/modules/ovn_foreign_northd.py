#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_foreign_northd
short_description: (internal) End an ovn-northd that something else than this collection runs
version_added: "0.1.0"
description:
  - Ends every C(ovn-northd) in the network of the host that a unit of systemd other than ours, a container of Docker or Podman, or nothing keeps running,
    and waits for its end.
  - Before that, what would start it again is told not to. Units are masked, or disabled where they cannot be masked; a container gets the restart policy C(no).
  - Commands of a unit for its stop are left out. With C(ovn-ctl stop_northd), which Debian's unit has, the databases of the host would end as well.
  - Refuses a container that would come back all the same, or that runs other daemons as well, before any northd is ended, and in check mode.
    A northd in a pod is left alone.
  - It is a step of P(c5c3.ovn.ovn_central#role), while northd of another host is active.
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
options: {}
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: End the northd that somebody has started by hand, in a container or by a unit
  c5c3.ovn.ovn_foreign_northd:
"""

RETURN = r"""
ended:
  description: What was ended, in check mode what would be.
  returned: success
  type: list
  elements: str
  sample: [northd in container ovn_northd]
"""

import socket
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.foreign_processes import find_processes
from ..module_utils._host.supervision import Supervision
from ..module_utils._machine.commands import Commands
from ..module_utils._machine.supervisor import Supervisor
from ..module_utils._machine.systemd_units import own_unit


def is_foreign(supervisor: Supervisor) -> bool:
    return supervisor.kind != "pod" and not (supervisor.kind == "unit" and supervisor.name == own_unit("northd"))


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    supervision = Supervision(Commands().run, socket.gethostname())
    try:
        found = [one for one in find_processes() if one.name == "northd" and is_foreign(one.supervisor)]
        for process in found:
            supervision.check(process)
        for process in found if not module.check_mode else ():
            supervision.end(process)
        module.exit_json(changed=bool(found), ended=[f"northd in {one.supervisor}" for one in found])
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
