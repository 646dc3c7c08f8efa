# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: packages_plan
short_description: Plan which packages of a host are installed, upgraded, held and unheld
version_added: "0.1.0"
description:
  - Compares what M(c5c3.ovn.ovn_packages_info) has found with what the role P(c5c3.ovn.ovn_packages#role) is to bring about. Packages that need a changing one
    in exactly one version, or are needed by it so, change with it.
options:
  _input:
    description: The result of M(c5c3.ovn.ovn_packages_info).
    type: dict
    required: true
  given:
    description:
      - C(host), its name in messages. C(hold), left alone if it is empty. C(allow_downgrade), and C(downgrade_option), the name of the option that allows it.
        C(refreshed), whether the lists of packages are of this run. C(files), which prove that the packages are there on a host without apt.
        C(versions), whose keys have to match a package, and C(role_packages), further names that count. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what a run would install
  ansible.builtin.debug:
    msg: "{{ (found | c5c3.ovn.packages_plan({'host': inventory_hostname, 'hold': true})).changes }}"
"""

RETURN = r"""
_value:
  description:
    - C(install), what the package manager is given. C(targets), the versions of desired packages afterwards, empty while no source is known to have them.
      C(changed), packages that get another version. C(missing), desired packages that are not installed. C(hold) and C(unhold). C(downgrade), whether a package
      gets an older version. C(repair), packages whose installation was cut off. C(changes), all of that as text. C(refusals), why the run must stop.
      C(warnings), the keys of versions that match no package. C(manager), V(apt) or empty.
  type: dict
  sample:
    install: [ovn-host=25.03.0-1, ovn-common=25.03.0-1]
    targets: {"ovn-host": "25.03.0-1"}
    changed: [ovn-common, ovn-host]
    missing: []
    hold: []
    unhold: []
    downgrade: false
    repair: []
    changes: [upgrade ovn-host 23.03.1-1 to 25.03.0-1, upgrade ovn-common 23.03.1-1 to 25.03.0-1]
    refusals: []
    warnings: []
    manager: apt
"""

import typing as t

from ansible.utils.display import Display

from ..module_utils._roles.packages import packages_plan
from ..plugin_utils._filters import as_filter

display = Display()


def plan_and_warn(found: t.Mapping[str, t.Any], given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    plan = packages_plan(found, given)
    for warning in plan["warnings"]:
        display.warning(warning)
    return plan


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"packages_plan": as_filter(plan_and_warn)}
