# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_note
short_description: The note about the clusters that use a CA
version_added: "0.1.0"
description:
  - Adds clusters to the note beside the CA, by which a later run knows that this CA belongs to a control plane.
options:
  _input:
    description: Content of the note, empty if there is none.
    type: str
    required: true
  path:
    description: Where the note is, for messages. Positional.
    type: str
    required: true
  cluster_ids:
    description: Database to cluster id. Positional.
    type: dict
    required: true
  members:
    description: The central hosts. Positional.
    type: list
    elements: str
    required: true
  now:
    description: The time, as text. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Note the clusters
  ansible.builtin.copy:
    content: "{{ note | c5c3.ovn.cluster_note('ovn-pki/clusters.json', cluster_ids, groups['ovn_central'], now(utc=true) | string) }}"
    dest: ovn-pki/clusters.json
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The new content; the same one if all clusters are noted already.
  type: str
"""

import typing as t

from ..module_utils._raft.founding_report import add_to_note


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"cluster_note": add_to_note}
