# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: founding_witnesses
short_description: Sentences about an older control plane
version_added: "0.1.0"
description:
  - Summarizes what hosts and the note beside the CA tell of an older control plane, before clusters are created.
options:
  _input:
    description: Results of M(c5c3.ovn.ovn_founding_witnesses) in loops over hosts. Hosts that were skipped or unreachable are among them.
    type: list
    elements: dict
    required: true
  databases:
    description: The databases that are to be created. Positional.
    type: list
    elements: str
    required: true
  central:
    description: The central hosts among the hosts. Positional.
    type: list
    elements: str
    required: true
  note:
    description: The note beside the CA, C(path) and C(text), which is empty if there is none. Absent where there is no CA.
    type: dict
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Tell who knows of an older control plane
  ansible.builtin.debug:
    msg: "{{ looked.results | c5c3.ovn.founding_witnesses(['northbound', 'southbound'], groups['ovn_central']) }}"
"""

RETURN = r"""
_value:
  description: C(witnesses), a list of sentences, and C(unexamined), hosts with the reason why nothing is known of them.
  type: dict
  sample: {witnesses: ["hypervisor compute1 has ovn-remote ssl:192.0.2.11:6642"], unexamined: {compute2: unreachable}}
"""

import typing as t

from ..module_utils._raft.founding_report import note_witnesses, witness_report


def founding_witnesses(
    results: t.Iterable[t.Mapping[str, t.Any]],
    databases: t.Collection[str],
    central: t.Collection[str],
    note: t.Mapping[str, str] | None = None,
) -> dict[str, t.Any]:
    report = witness_report(results, databases, central)
    return {
        "witnesses": report.witnesses + (note_witnesses(note["text"], note["path"], databases) if note else []),
        "unexamined": report.unexamined,
    }


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"founding_witnesses": founding_witnesses}
