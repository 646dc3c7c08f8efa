#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_run_lock
short_description: Let one run at a time work on a control plane
version_added: "0.1.0"
description:
  - Takes, renews or gives back a lock file on a central host. A run that finds the lock of another run fails at once and names it.
  - The lock is a courtesy to people. Safety does not rest on it, but on the state record and on the checks before each step.
  - A lock is void after O(seconds), or when the host was restarted (it lies in a directory that does not survive).
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group
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
    description: Name of this run, unlike that of any other run.
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
    description: V(present) takes or renews the lock, V(absent) gives it back; a lock of somebody else is left alone then.
    type: str
    choices: [present, absent]
    default: present
  break:
    description: Take the lock although another run holds it. Only when that run is known to be dead.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Take the lock for five minutes
  c5c3.ovn.ovn_run_lock:
    holder: "2026-11-21T16:00:00Z on deploy1"
    step: bootstrap

- name: Give it back
  c5c3.ovn.ovn_run_lock:
    holder: "2026-11-21T16:00:00Z on deploy1"
    state: absent
"""

RETURN = r"""
holder:
  description: Who holds the lock after the run; V(none) if nobody does. In check mode, who would hold it.
  returned: success
  type: str
  sample: "2026-11-21T16:00:00Z on deploy1"
"""

import fcntl
import json
import os
import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._errors import OvnError, Refused


def _valid_lock(text: str, now: float) -> dict[str, t.Any] | None:
    """The lock in the file if it still counts. A file that cannot be read as a lock is left over from a crash."""
    try:
        lock = json.loads(text)
        return lock if lock["until"] > now and isinstance(lock["holder"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def hold(path: str, wanted: bool, lock: dict[str, t.Any], break_lock: bool, check_mode: bool) -> str | None:
    """Take, renew or give back; the content is read and written under flock(2), so two runs at once see one order."""
    if check_mode and not os.path.exists(path):
        return lock["holder"] if wanted else None
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "r+" if check_mode else "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        current = _valid_lock(file.read(), time.time())
        foreign = current if current and current["holder"] != lock["holder"] else None
        if wanted and foreign and not break_lock:
            left = int(foreign["until"] - time.time()) + 1
            raise Refused(
                f'Another run works on this control plane: "{foreign["holder"]}", step "{foreign.get("step", "")}". '
                f"Wait for it. If it is dead, its lock {path} is void in {left} s; to go on at once set ovn_central_break_lock=true."
            )
        if not check_mode and (wanted or not foreign):
            file.truncate(0)
            file.write(json.dumps(lock) if wanted else "")
    if wanted:
        return str(lock["holder"])
    return foreign["holder"] if foreign else None


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/run/c5c3-ovn/run.lock"},
            "holder": {"type": "str", "required": True},
            "step": {"type": "str", "default": ""},
            "seconds": {"type": "int", "default": 300},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "break": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    p = module.params
    lock = {"holder": p["holder"], "step": p["step"], "until": time.time() + p["seconds"]}
    try:
        holder = hold(p["path"], p["state"] == "present", lock, p["break"], module.check_mode)
        module.exit_json(changed=False, holder=holder)  # a lock is no part of the desired state
    except OvnError as e:
        module.fail_json(**e.as_result())
    except OSError as e:
        module.fail_json(msg=f"The lock {p['path']} cannot be used: {e}.")


if __name__ == "__main__":
    main()
