#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_run_lock
short_description: (internal) Let one run at a time change a control plane
version_added: "0.1.0"
description:
  - Acquires, renews or releases a lock file on a central host. A run needs it on all of them.
  - The lock expires O(seconds) after it was acquired or renewed, by the clock of the host, and with a restart of the host (it lies in a directory that does
    not survive one). A step that still runs on the host keeps others out until it is over, also after that.
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
    description: Lock file. Its directory must exist, or is created.
    type: path
    default: /run/c5c3-ovn/run.lock
  holder:
    description: Name of the run, unlike that of any other run. Tasks of Ansible do without; it is this run then.
    type: str
    required: true
  step:
    description: What the run is doing, for the message that others get.
    type: str
    default: ""
  seconds:
    description: How long the lock is valid without being renewed, in seconds.
    type: int
    default: 300
  state:
    description:
      - V(present) acquires the lock, or renews it if this run holds it.
      - V(renewed) renews it and fails if this run holds it no longer.
      - V(absent) releases it; a lock of another run is left alone then.
    type: str
    choices: [present, renewed, absent]
    default: present
  wait_timeout:
    description: How long O(state=present) waits for another run, in seconds. The lock of a dead run expires meanwhile and is acquired then.
    type: int
    default: 0
  ended_runs:
    description:
      - Names of runs that are known to have ended without releasing their locks, which are acquired at once. The role P(c5c3.ovn.ovn_central#role) knows those
        of the same control node.
    type: list
    elements: str
    default: []
  break:
    description: Acquire the lock although another run holds it. Only when that run is known to be dead.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Acquire the lock for five minutes, after at most ten minutes of waiting
  c5c3.ovn.ovn_run_lock:
    step: roll out the control plane
    wait_timeout: 600

- name: Stop if another run has it by now
  c5c3.ovn.ovn_run_lock:
    step: install packages
    state: renewed

- name: Release it
  c5c3.ovn.ovn_run_lock:
    state: absent
"""

RETURN = r"""
holder:
  description: The holder of the lock after the run; V(none) if there is none. In check mode, the run that would hold it.
  returned: success
  type: str
  sample: "2026-11-21T16:00:00Z on deploy1, process 4711 [4e0b8d5e-6f4e-4f52-9d8c-1c1f6ed22f0a/4026531836/123456]"
held_by:
  description: The run that holds the lock.
  returned: failure, if another run holds it
  type: dict
  contains:
    holder:
      description: Its name.
      type: str
      returned: always
    step:
      description: What it is doing.
      type: str
      returned: always
    seconds:
      description: After how many seconds its lock expires unless it renews it.
      type: int
      returned: always
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._raft.lock import DEFAULT_PATH, LockRequest, acquire, release, renew


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": DEFAULT_PATH},
            "holder": {"type": "str", "required": True},
            "step": {"type": "str", "default": ""},
            "seconds": {"type": "int", "default": 300},
            "state": {"type": "str", "choices": ["present", "renewed", "absent"], "default": "present"},
            "wait_timeout": {"type": "int", "default": 0},
            "ended_runs": {"type": "list", "elements": "str", "default": []},
            "break": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    p = module.params
    request = LockRequest(p["holder"], p["step"], p["seconds"], tuple(p["ended_runs"]), p["break"])
    holder: str | None = request.holder
    try:
        if p["state"] == "present":
            acquire(p["path"], request, p["wait_timeout"], module.check_mode)
        elif p["state"] == "renewed":
            renew(p["path"], request, module.check_mode)
        else:
            holder = release(p["path"], request.holder, module.check_mode)
        module.exit_json(changed=False, holder=holder)  # a lock is no part of the desired state
    except OvnError as e:
        module.fail_json(**e.as_result())
    except OSError as e:
        module.fail_json(
            msg=f"The lock {p['path']} cannot be used: {e}. Correct the path, its permissions or the disk."
        )


if __name__ == "__main__":
    main()
