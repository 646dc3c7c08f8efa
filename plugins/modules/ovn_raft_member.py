#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_raft_member
short_description: (internal) Examine, start, stop or remove a member of a Raft database on a central host
version_added: "0.1.0"
description:
  - Observes one member of the Northbound or Southbound cluster on its own host, or executes one step on it.
  - The module decides nothing. The role P(c5c3.ovn.ovn_central#role) decides from what all hosts saw, and calls it.
    By hand use O(state=examined) only.
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
  database:
    description: The database.
    type: str
    choices: [northbound, southbound]
    required: true
  member:
    description: Name of this member in the state record, usually the host's name in the inventory.
    type: str
    required: true
  state:
    description:
      - V(examined) changes nothing and returns RV(observation).
      - V(started) starts the unit and waits until the member takes part in its cluster. The launcher decides from record and file whether it creates,
        joins or just starts.
      - V(stopped) and V(restarted) hand the leadership over first. Without the checks of the plan they can cost the quorum.
      - V(kicked) removes O(server_id) from the cluster; only on the leader's host.
      - V(waited) waits until the member's own state changes, two seconds at most.
    type: str
    choices: [examined, started, stopped, restarted, kicked, waited]
    default: examined
  server_id:
    description: Server id, or its first four digits, for O(state=kicked).
    type: str
  record:
    description: Directory of this host's copy of the state record.
    type: path
    required: true
  environment_file:
    description: Settings of the launcher, one C(KEY=VALUE) a line.
    type: path
    required: true
  launcher:
    description: The launcher.
    type: path
    default: /usr/lib/c5c3-ovn/ovn-raft-launcher
  unit:
    description: The systemd unit. C(c5c3-ovn-DATABASE.service) if absent.
    type: str
  database_file:
    description: Where the database file is on a host that has no O(environment_file) yet. The distribution's if absent.
    type: path
  adopt:
    description:
      - Whether a server that no unit of this collection runs is a member to take over. It is one that has to restart, and O(state=restarted) ends it, masks
        the unit that ran it and starts O(unit) from the same file.
      - One in a container of Docker or Podman has to be replaced. O(state=stopped) keeps its engine and units from starting it again, and stops it. Its
        file stays in the container; O(state=started) lets a new member join.
      - O(state=started) masks the distribution's unit first.
    type: bool
    default: false
  revision:
    description: Digest of the settings that the process should run with, C(OVN_REVISION). That of O(environment_file) if absent.
    type: str
  address:
    description: Declared Raft address of the member. RV(observation.host_problem) says whether this host has it.
    type: str
  expects:
    description:
      - What the step relies on, as the plan saw it (C(running), C(connected), C(leader), and C(sid) or C(file_class)).
      - If the member has changed meanwhile, nothing is done, and RV(outdated) says why. The next plan decides.
    type: dict
  lock_holder:
    description: Name of the run. If given, O(lock) has to be held by it at the moment of the act.
    type: str
  lock:
    description: The lock file, as in M(c5c3.ovn.ovn_run_lock).
    type: path
    default: /run/c5c3-ovn/run.lock
  wait_timeout:
    description: How long O(state=started), O(state=restarted) and O(state=kicked) wait, in seconds.
    type: int
    default: 120
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: See what lies on the disk and what the process says
  c5c3.ovn.ovn_raft_member:
    database: southbound
    member: "{{ inventory_hostname }}"
    record: /etc/c5c3-ovn/southbound
    environment_file: /etc/c5c3-ovn/southbound.env
  register: examined
"""

RETURN = r"""
observation:
  description: What this host knows of its member.
  returned: O(state=examined)
  type: dict
  contains:
    database:
      description: The database.
      type: str
      returned: always
      sample: southbound
    member:
      description: Name of the member.
      type: str
      returned: always
      sample: central1
    installed:
      description: Whether launcher and settings are there.
      type: bool
      returned: always
    file_class:
      description:
        - What the database file is, for example V(member), V(none), V(joining), V(standalone), V(broken).
        - V(unexamined) is a file on a host without launcher.
      type: str
      returned: always
      sample: member
    running:
      description: Whether a process answers on the control or database socket.
      type: bool
      returned: always
    connected:
      description: Whether it takes part in its cluster.
      type: bool
      returned: always
    leader:
      description: Whether it says that it leads.
      type: bool
      returned: always
    cid:
      description: Cluster id that the process names.
      type: str
      returned: always
    sid:
      description: Server id that the process names.
      type: str
      returned: always
    listed:
      description: First four digits of the server ids in this member's list, with their Raft addresses.
      type: dict
      returned: always
    restart_reason:
      description: Why a restart is due; empty if none is.
      type: str
      returned: always
    host_problem:
      description: Why a server would not start on this host with any settings - O(address) is not here, or the disk is full; empty if none is known.
      type: str
      returned: always
    replace_reason:
      description: Why the running member has to give way to a new one on its host; empty if it has not.
      type: str
      returned: always
    ours:
      description: Whether it runs, or a run has begun to take it over. V(true) without O(adopt).
      type: bool
      returned: always
    record:
      description: This host's copy of the state record.
      type: dict
      returned: always
outdated:
  description: Why nothing was done although a step was requested; empty if it was done.
  returned: O(state) is not V(examined)
  type: str
  sample: ""
"""

import contextlib
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import Changed, InvalidInput, OvnError
from ..module_utils._host.member import OPTIONS, member_of, observe_member
from ..module_utils._machine.commands import Commands
from ..module_utils._raft.host import HostMember
from ..module_utils._raft.lock import DEFAULT_PATH, acting


def act(member: HostMember, state: str, server_id: str | None, seconds: float) -> None:
    if state in ("started", "restarted"):
        if state == "started":
            member.start()
        else:
            member.restart()
        member.wait_connected(Deadline(seconds))
    elif state == "stopped":
        member.stop()
    elif state == "kicked":
        member.kick(server_id or "", Deadline(seconds))
    else:
        member.wait_for_change(2.0)


def main() -> t.NoReturn:
    states = ["examined", "started", "stopped", "restarted", "kicked", "waited"]
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "state": {"type": "str", "choices": states, "default": "examined"},
            "server_id": {"type": "str"},
            "expects": {"type": "dict"},
            "lock_holder": {"type": "str"},
            "lock": {"type": "path", "default": DEFAULT_PATH},
            "wait_timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    p = module.params

    commands = Commands()
    try:
        if p["state"] == "kicked" and not p["server_id"]:
            raise InvalidInput("state=kicked needs server_id.")
        if p["state"] == "examined":
            module.exit_json(changed=False, **observe_member(p, commands))
        member = member_of(p, commands)
        if not module.check_mode:
            with acting(p["lock"], p["lock_holder"]) if p["lock_holder"] else contextlib.nullcontext():
                if p["expects"] is not None and p["state"] != "waited":
                    member.check_target(p["expects"])
                act(member, p["state"], p["server_id"], p["wait_timeout"])
        module.exit_json(changed=p["state"] != "waited", outdated="")
    except Changed as e:
        module.exit_json(changed=False, outdated=str(e))
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
