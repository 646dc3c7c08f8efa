# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: raft_launcher
short_description: The launcher of a Raft member, a shell script
version_added: "0.1.0"
description:
  - Returns the script that starts a member of the Northbound or Southbound cluster if its file and the state record allow it.
  - The same script runs in the units of a machine and in the pods of a Kubernetes cluster. The role P(c5c3.ovn.ovn_central#role) writes it to machines.
options:
  _input:
    description: Path of the POSIX shell that runs it, usually V(/bin/sh).
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Have a look at the launcher
  ansible.builtin.debug:
    msg: "{{ '/bin/sh' | c5c3.ovn.raft_launcher }}"
"""

RETURN = r"""
_value:
  description: The text of the script.
  type: str
  sample: "#!/bin/sh"
"""

import typing as t

from ..module_utils._daemons.raft_launcher import SCRIPT


def raft_launcher(shell: str) -> str:
    return SCRIPT.replace("#!/bin/sh\n", f"#!{shell}\n", 1)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"raft_launcher": raft_launcher}
