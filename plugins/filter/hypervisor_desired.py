# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hypervisor_desired
short_description: What the options of the role ovn_hypervisor mean
version_added: "0.1.0"
description:
  - The desired state of one chassis, or of all chassis of a Kubernetes cluster, as the role P(c5c3.ovn.ovn_hypervisor#role) brings it about.
  - An option that is empty counts as absent. Only the options of the backend are read.
options:
  _input:
    description:
      - The role's options without their prefix, C(backend) among them.
      - For a machine C(bridges), C(underlay), C(openvswitch_service), C(unit) and C(underlay_unit), the last two as paths.
      - For a cluster C(tls), C(spec), C(image), C(openvswitch_image), C(datapath_type), C(bridge_mappings) and C(tls_secret). Also C(host),
        C(host_address), C(bridges), C(underlay), C(encapsulation_type), C(encapsulation_ip), C(system_id), C(gateway) and C(for_machines), further
        options of machines that are set, with their values.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show which bridges a machine gets
  ansible.builtin.debug:
    msg: "{{ (_ovn_hypervisor_given | c5c3.ovn.hypervisor_desired).bridges }}"
"""

RETURN = r"""
_value:
  description:
    - For a machine C(openvswitch), its mode, C(bridges), units for M(c5c3.ovn.ovn_units) in C(openvswitch_units), C(units) and
      C(masked_before_packages), C(excluded_packages), C(wanted_unit) and C(controller_arguments) for the unit of ovn-controller, and C(files), which are
      deleted with the chassis.
    - For a cluster C(spec) and C(tls_secret) for M(c5c3.ovn.ovn_hypervisors), and C(ineffective), the options of machines that were given to it.
  type: dict
  sample: {"spec": {"tls": {"enabled": true}}, "tls_secret": "ovn-tls", "ineffective": []}
"""

import typing as t

from ..module_utils._roles.hypervisor import desired_state
from ..module_utils._roles.variables import Variables
from ..plugin_utils._filters import as_filter


def hypervisor_desired(given: Variables) -> dict[str, t.Any]:
    """Return the desired state of a cluster. Ansible-core before 2.19 renders it for machines as well, whose options are read by a step."""
    return desired_state(given) if given["backend"] == "kubernetes" else {}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hypervisor_desired": as_filter(hypervisor_desired)}
