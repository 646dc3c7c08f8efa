# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: central_cluster
short_description: Desired state of a control plane in Kubernetes
version_added: "0.1.0"
description:
  - Returns the specification of the C(OVNCluster) that the options of the role P(c5c3.ovn.ovn_central#role) mean.
options:
  _input:
    description: The options by their names without C(ovn_central_). An option that is absent, V(null) or empty has the role's default.
    type: dict
    required: true
  host:
    description: The host that stands for the cluster. Positional.
    type: str
    required: true
  hostvars:
    description: C(hostvars). Positional.
    type: dict
    required: true
  groups:
    description: C(groups). Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the specification
  ansible.builtin.debug:
    msg: "{{ ({'members': ['cluster1'], 'replicas': 3} | c5c3.ovn.central_cluster('cluster1', hostvars, groups)).spec }}"
"""

RETURN = r"""
_value:
  description:
    - C(spec) and C(pod_security), as M(c5c3.ovn.ovn_cluster) takes them, and C(problem), a text that says why the options do not fit Kubernetes, or empty.
    - C(chassis_certificates) has the files of each machine that is a chassis, with its C(host) and C(system_id), if relays give chassis a role.
  type: dict
"""

import typing as t

from ..module_utils._roles.central import (
    CentralClusterOptions,
    cluster_problem,
    cluster_spec,
    options_for_machines,
)
from ..module_utils._roles.cluster_source import FACT, specification_of_resource
from ..module_utils._roles.pki import machine_certificates, makes_client_bundle, pod_security_of, share_certificates
from ..module_utils._roles.variables import Groups, Hostvars
from ..plugin_utils._filters import as_filter


@as_filter
def central_cluster(given: t.Mapping[str, t.Any], host: str, hostvars: Hostvars, groups: Groups) -> dict[str, t.Any]:
    machines = options_for_machines(hostvars[host])
    options = CentralClusterOptions.from_options({**given, "for_machines": machines})
    specification_of_resource(options.cluster_from, hostvars[host].get(FACT))  # raises if it was not read
    shared = share_certificates(hostvars, groups)
    spec = cluster_spec(options, has_client_bundle=makes_client_bundle(hostvars[host]), shared_certificates=shared)
    gives_role = bool((spec.get("relay") or {}).get("rbac"))
    return {
        "spec": spec,
        "problem": cluster_problem(options, host, shared_certificates=shared),
        "chassis_certificates": machine_certificates(hostvars, groups) if gives_role else [],
        "pod_security": pod_security_of("central", hostvars, groups, host),
    }


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"central_cluster": central_cluster}
