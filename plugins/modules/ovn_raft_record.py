#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_raft_record
short_description: (internal) Keep this host's copy of the state record of a Raft database
version_added: "0.1.0"
description:
  - The state record says which cluster a Northbound or Southbound database belongs to, who may create it (once in its life) and who its members are.
    It lies outside the database directory, on every central host, so that an empty disk never founds a second cluster.
  - The role P(c5c3.ovn.ovn_central#role) writes it before and after each step that changes the membership. Nothing else should.
  - The copy is replaced in one step. An older revision never replaces a newer one, nor another one of the same revision.
  - A copy that was put on hold after the run had read it is left as it is.
  - A copy that is there but unusable (cut off, of a newer format, about another database, no directory, unreadable) is an error and is left as it is.
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
  path:
    description: Directory of the copy, for example V(/etc/c5c3-ovn/northbound). It becomes a symbolic link to a directory per revision.
    type: path
    required: true
  record:
    description:
      - The whole record, as the role P(c5c3.ovn.ovn_central#role) plans it.
    type: dict
    required: true
  election_timer:
    description: Election timer with which the launcher creates the cluster, in milliseconds (100 to 600000). It has no effect later.
    type: int
    default: 1000
  lock_holder:
    description: Name of the run. If given, O(lock) has to be held by it at the moment of the write.
    type: str
  lock_seconds:
    description: For how many seconds the run renews its lock before it writes. Needs O(lock_holder). The lock is not renewed if absent.
    type: int
  lock_step:
    description: What the run is doing, for the message that others get.
    type: str
    default: write the state record
  lock:
    description: The lock file, as in M(c5c3.ovn.ovn_run_lock).
    type: path
    default: /run/c5c3-ovn/run.lock
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Write the record that the plan asks for
  c5c3.ovn.ovn_raft_record:
    path: /etc/c5c3-ovn/northbound
    record: "{{ ovn_central_plan.record }}"
    election_timer: 5000
"""

RETURN = r"""
revision:
  description: Revision of the copy after the run.
  returned: success
  type: int
  sample: 4
cid:
  description: Cluster id in the record; V(none) until the cluster is created.
  returned: success
  type: str
  sample: a0b739a1-2c38-479b-9e0d-605e9da30330
"""

import contextlib
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError, Refused
from ..module_utils._raft.lock import DEFAULT_PATH, LockRequest, acting, renew
from ..module_utils._raft.record import describe, parse_record, render_files
from ..module_utils._raft.record_dir import read_files, read_record, write_files


def write(path: str, data: dict[str, t.Any], election_timer: int, check_mode: bool) -> dict[str, t.Any]:
    record = parse_record(data)
    current = read_record(path, record.database)
    if current is not None and current != record and current.revision == record.revision:
        raise Refused(
            f"{path} holds revision {current.revision} with another content than the revision {record.revision} of this run: another run works "
            "on the same cluster, or the copy was edited. Nothing was changed. Run again; a run compares all copies first."
        )
    if current is not None and current.revision > record.revision:
        raise Refused(
            f"{path} holds revision {current.revision}, newer than the revision {record.revision} of this run: another run works on the same cluster. "
            "Wait until it has ended, then run again."
        )
    if current is not None and current.hold and not record.hold:
        raise Refused(
            f"The state record of {current.database} was put on hold in {path} after this run had read it: a recovery is under way. This copy was not changed. "
            "Finish the recovery and clear the hold in every copy, then run again."
        )
    before, after = read_files(path), render_files(record, election_timer)
    if before != after and not check_mode:
        write_files(path, after, record.revision)
    sides = {"before": describe(before), "after": describe(after)}
    diff = {**sides, "before_header": path, "after_header": f"{path} (revision {record.revision})"}
    return {"changed": before != after, "diff": diff, "revision": record.revision, "cid": record.cid}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "record": {"type": "dict", "required": True},
            "election_timer": {"type": "int", "default": 1000},
            "lock_holder": {"type": "str"},
            "lock_seconds": {"type": "int"},
            "lock_step": {"type": "str", "default": "write the state record"},
            "lock": {"type": "path", "default": DEFAULT_PATH},
        },
        required_by={"lock_seconds": "lock_holder"},
        supports_check_mode=True,
    )
    p = module.params
    try:
        may_act = p["lock_holder"] and not module.check_mode
        if may_act and p["lock_seconds"]:
            renew(p["lock"], LockRequest(p["lock_holder"], p["lock_step"], p["lock_seconds"]))
        with acting(p["lock"], p["lock_holder"]) if may_act else contextlib.nullcontext():
            written = write(p["path"], p["record"], p["election_timer"], module.check_mode)
        module.exit_json(**written)
    except OvnError as e:
        module.fail_json(**e.as_result())
    except OSError as e:
        module.fail_json(
            msg=f"The record {p['path']} was not written: {e}. Correct the path, the permissions or the disk, then run again."
        )


if __name__ == "__main__":
    main()
