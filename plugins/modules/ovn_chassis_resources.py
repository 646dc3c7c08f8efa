#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_chassis_resources
short_description: (internal) OVNChassis of machines
version_added: "0.1.0"
description:
  - internal - part of the role P(c5c3.ovn.ovn_hypervisor#role); options may change in any release.
  - Makes machines that are chassis visible in a Kubernetes cluster, each by an C(OVNChassis) with the label C(ovn.c5c3.io/machine), which no Node owns. One
    call for all machines of a cluster, on the control node.
  - Machines that are not named stay as they are, and so does every C(OVNChassis) of a Node.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_groups
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
    details:
      - The status follows what is observed and does not count as a change.
  platform:
    support: full
    platforms: posix
options:
  name:
    description: Name of the C(OVNCluster) that the chassis belong to.
    type: str
    default: ovn
  chassis:
    description: The machines.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the machine and of its C(OVNChassis).
        type: str
        required: true
      state:
        description: Whether the C(OVNChassis) should exist.
        type: str
        choices: [present, absent]
        default: present
      system_id:
        description: Name of the chassis in the Southbound database. The default is O(chassis[].name).
        type: str
      hostname:
        description: Its host name. The default is the one that is registered, else recorded. It cannot be changed while the C(OVNChassis) exists.
        type: str
      encapsulation_type:
        description: Protocols of its tunnels. The first one is recorded.
        type: list
        elements: str
        default: [geneve]
      encapsulation_ip:
        description: Addresses where its tunnels end. The first one is recorded.
        type: list
        elements: str
      bridge_mappings:
        description: Physical networks, each C(physical_network), C(bridge) and maybe C(ports). Without any the field is left out.
        type: list
        elements: dict
  southbound:
    description:
      - Endpoints of the Southbound database, which the status is made from. If it cannot be asked the condition C(Ready) is C(Unknown).
    type: list
    elements: str
    default: []
  tls_secret:
    description: Name of a Secret with V(tls.key), V(tls.crt) and V(ca.crt) for C(ssl:) endpoints.
    type: str
  namespace:
    description: Namespace of O(name) and of O(tls_secret).
    type: str
    default: ovn-system
  heartbeat_interval:
    description: Seconds between two heartbeats of the control plane. A chassis that has answered the last one is alive.
    type: float
    default: 60
  private_key:
    description: File on the control node with the private key (PEM), in place of O(tls_secret).
    type: path
  certificate:
    description: File with the certificate (PEM).
    type: path
  ca_certificate:
    description: File with the certificates of the CA (PEM).
    type: path
  force_conflicts:
    description: Whether to take over fields that another field manager set to other values. Without it they are an error that names them.
    type: bool
    default: false
requirements:
  - "kubernetes and jsonschema (PyPI) on the control node"
seealso:
  - module: c5c3.ovn.ovn_hypervisors
  - module: c5c3.ovn.ovn_chassis
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show two machines in a Kubernetes cluster
  c5c3.ovn.ovn_chassis_resources:
    kubeconfig: ~/.kube/rack1
    chassis:
      - {name: compute1, hostname: compute1.example.com, encapsulation_ip: [198.51.100.21]}
      - {name: compute2, state: absent}
    southbound: ["ssl:192.0.2.11:6642"]
    tls_secret: ovn-tls
"""

RETURN = r"""
objects:
  description: Every object that was compared, with C(kind), C(name), C(namespace) and C(action) (V(created), V(changed), V(deleted) or V(unchanged)).
  returned: always
  type: list
  elements: dict
  sample: [{"kind": "OVNChassis", "name": "compute1", "namespace": "", "action": "created"}]
requests:
  description: Number of requests that were sent to the API server.
  returned: always
  type: int
  sample: 3
diff:
  description: Objects before and after, with only those that differ.
  returned: always
  type: dict
  sample: {"before": {}, "after": {}}
"""

import contextlib
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import OvnError
from ..module_utils._hypervisors.machines import MachineResources, machines_from
from ..module_utils._hypervisors.southbound import Registry, read_registry
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, run_module
from ..module_utils._kubernetes.secret_files import secret_files
from ..module_utils._ovsdb.endpoint import parse_endpoints
from ..module_utils._ovsdb.tls_files import TlsFiles

_SOUTHBOUND_SECONDS = 15
_UNKNOWN = "The Southbound database could not be asked, so the OVNChassis of machines are Ready=Unknown:"
_FILES = ("private_key", "certificate", "ca_certificate")


def _read_registry(module: AnsibleModule, cluster: Cluster) -> tuple[Registry | None, str]:
    """Return the chassis of the Southbound database; if it cannot be asked None and why, after a warning."""
    params = module.params
    endpoints = parse_endpoints(params["southbound"])
    given = {name: params[name] for name in _FILES}
    needs_files = any(one.scheme == "ssl" for one in endpoints)
    with contextlib.ExitStack() as stack:
        if needs_files and not any(given.values()) and params["tls_secret"]:
            secret = params["tls_secret"], params["namespace"]
            given.update(stack.enter_context(secret_files(cluster, *secret, module.tmpdir, module.warn)))
        tls = TlsFiles(*(given[name] or None for name in _FILES))
        if not endpoints or (needs_files and not tls.complete):
            reason = (
                f"the control node has no certificate for it (Secret {params['tls_secret']} in namespace {params['namespace']})."
                if endpoints
                else "no endpoint of it is known."
            )
            module.warn(f"{_UNKNOWN} {reason}")
            return None, reason
        try:
            return read_registry(endpoints, tls, Deadline(_SOUTHBOUND_SECONDS)), ""
        except OvnError as e:
            module.warn(f"{_UNKNOWN} {e}")
            return None, str(e)


def execute(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    params = module.params
    machines = machines_from(params["chassis"])
    registry, unreachable = _read_registry(module, cluster) if any(one.present for one in machines) else (None, "")
    run = MachineResources(
        *(cluster, machines, registry, params["name"], params["namespace"]),
        check_mode=module.check_mode,
        force=params["force_conflicts"],
        unreachable=unreachable,
        heartbeat_interval=params["heartbeat_interval"],
    )
    progress = run.progress
    try:
        run.run()
    except OvnError as e:
        e.details = {
            **e.details,
            "objects": progress.as_results(),
            "changed": progress.changed,
            "diff": progress.diff(),
        }
        raise
    return {"changed": progress.changed, "objects": progress.as_results(), "diff": progress.diff()}


def main() -> t.NoReturn:
    texts = {"type": "list", "elements": "str"}
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "name": {"type": "str", "default": "ovn"},
            "chassis": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                    "system_id": {"type": "str"},
                    "hostname": {"type": "str"},
                    "encapsulation_type": {**texts, "default": ["geneve"]},
                    "encapsulation_ip": texts,
                    "bridge_mappings": {"type": "list", "elements": "dict"},
                },
            },
            "southbound": {**texts, "default": []},
            "tls_secret": {"type": "str", "no_log": False},  # its name
            "namespace": {"type": "str", "default": "ovn-system"},
            "heartbeat_interval": {"type": "float", "default": 60},
            "private_key": {"type": "path"},
            "certificate": {"type": "path"},
            "ca_certificate": {"type": "path"},
            "force_conflicts": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    run_module(module, execute)


if __name__ == "__main__":
    main()
