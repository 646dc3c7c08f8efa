# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: raft_timers
short_description: Election timer and inactivity probe that the size of a database needs
version_added: "0.1.0"
description:
  - Returns the declared timers, or longer ones where the largest file of the members needs them. A server that compacts its file or sends a snapshot
    answers nobody meanwhile, and the time grows with the file.
  - A longer timer stays until the largest file is half as large as what it was set for.
options:
  _input:
    description: How large the database is, one entry of C(sizes) in the plan that P(c5c3.ovn.raft_plan#filter) returns. Empty if nobody knows.
    type: dict
    required: true
  election_timer:
    description: Declared election timer in milliseconds, the shortest that is returned. Positional.
    type: int
    required: true
  inactivity_probe:
    description: Declared inactivity probe in milliseconds, the shortest that is returned; 0 stays 0. Positional.
    type: int
    required: true
  by_size:
    description: Whether the size counts at all.
    type: bool
    default: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the timers
  ansible.builtin.debug:
    msg: "{{ plan.sizes.northbound | c5c3.ovn.raft_timers(5000, 30000) }}"
"""

RETURN = r"""
_value:
  description: C(election_timer) and C(inactivity_probe) (milliseconds), C(reason) (text, empty if nothing differs from what is declared).
  type: dict
"""

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ..module_utils._raft.sizing import Size, Timers, timers_for


def raft_timers(
    size: t.Mapping[str, t.Any],
    election_timer: int | str,
    inactivity_probe: int | str,
    by_size: bool | str = True,
) -> dict[str, t.Any]:
    # Extra variables of the command line are text, and "false" is a true text.
    timer, probe = int(election_timer), int(inactivity_probe)
    return (timers_for(Size(**size), timer, probe) if boolean(by_size) else Timers(timer, probe))._asdict()


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"raft_timers": raft_timers}
