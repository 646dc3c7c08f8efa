# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: mixed_versions
short_description: Tell which packages would differ between hosts because of a run
version_added: "0.1.0"
description:
  - Members of one Raft cluster run one version. Debian's revisions, which are patches, may differ; so may what differs already and is not touched by the run.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  hosts:
    description: The hosts that have to agree. Those without a plan are left out. Positional.
    type: list
    elements: str
    required: true
  fact:
    description: The variable with the result of P(c5c3.ovn.packages_plan#filter).
    type: str
    default: ovn_packages_plan
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that all members get one version
  ansible.builtin.assert:
    that: hostvars | c5c3.ovn.mixed_versions(groups['ovn_central']) | length == 0
"""

RETURN = r"""
_value:
  description: One sentence for each package; empty if none differs.
  type: list
  elements: str
  sample: ["ovn-central would be 23.03.1 on central1, central2 and 25.03.0 on central3"]
"""

import typing as t

from ..module_utils._packages import plan


def mixed_versions(
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Iterable[str], fact: str = "ovn_packages_plan"
) -> list[str]:
    plans = {host: hostvars[host].get(fact) for host in hosts}
    return plan.mixed_versions({host: known for host, known in plans.items() if known})


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"mixed_versions": mixed_versions}
