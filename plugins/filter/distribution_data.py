# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: distribution_data
short_description: Packages, paths and units of OVN on a distribution
version_added: "0.1.0"
description:
  - What is known of Debian and Ubuntu, with what the inventory says in its place. Another distribution has to be described as a whole.
options:
  _input:
    description: C(ovn_central_distribution) or C(ovn_hypervisor_distribution). Only the keys that it has are replaced.
    type: dict
    required: true
  role:
    description: Whose parts, V(central) or V(hypervisor). Positional.
    type: str
    required: true
    choices: [central, hypervisor]
  observed:
    description: C(distribution) of the result of M(c5c3.ovn.ovn_packages_info), empty if the host was not asked yet; then it is taken for Debian. Positional.
    type: dict
    required: true
  host:
    description: Name of the host in messages. Positional.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the packages of a hypervisor
  ansible.builtin.debug:
    msg: "{{ ({} | c5c3.ovn.distribution_data('hypervisor', {'id': 'ubuntu'}, inventory_hostname)).packages }}"
"""

RETURN = r"""
_value:
  description:
    - C(packages), C(files), C(masked_units) and the paths and units of the role. C(runtime_directory) is C(run_directory) relative to C(/run), as units
      have it. C(problem) names the keys that are not known of this distribution, empty if
      there are none.
  type: dict
  sample:
    packages: [openvswitch-switch, ovn-host, python3-openvswitch]
    files: [/usr/bin/ovn-controller, /usr/bin/ovs-vsctl, /usr/lib/python3/dist-packages/ovs]
    masked_units: [ovn-host.service, ovn-controller.service, ovn-controller-vtep.service]
    openvswitch_service: openvswitch-switch.service
    controller: /usr/bin/ovn-controller
    appctl: /usr/bin/ovn-appctl
    run_directory: /run/ovn
    runtime_directory: ovn
    system_id_file: /etc/openvswitch/system-id.conf
    problem: ""
"""

import typing as t

from ..module_utils._machine.distributions import Role, distribution_data
from ..plugin_utils._filters import as_filter


def data(given: t.Mapping[str, t.Any], role: Role, observed: t.Mapping[str, str], host: str) -> dict[str, t.Any]:
    return distribution_data(role, given, observed, host)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"distribution_data": as_filter(data)}
