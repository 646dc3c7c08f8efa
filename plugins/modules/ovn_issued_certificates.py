#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_issued_certificates
short_description: (internal) Record when the certificates of chassis, metadata agents and clients end, for the observers
version_added: "0.1.0"
description:
  - Internal to the role P(c5c3.ovn.ovn_pki#role), its options may change at any time.
  - Keeps the list from which the observers of a control plane know the certificates that no server shows them. A list is a file on each central host, or a
    ConfigMap beside the C(OVNCluster). It has no secrets.
  - What a run does not name stays in the list, whatever several runs do at once. A holder has one certificate. A list that cannot be read is made again.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_kubernetes
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  certificates:
    description: Certificates in use.
    type: list
    elements: dict
    default: []
    suboptions:
      kind:
        description: Whether a chassis, the metadata agent on its machine or a client has it.
        type: str
        required: true
        choices: [chassis, metadata-agent, client]
      holder:
        description:
          - Name of the chassis, also of its metadata agent, or of the client. A hypervisor cluster whose nodes share one certificate has the name of the
            cluster.
        type: str
        required: true
      issuer:
        description: Common name of the CA that signed it.
        type: str
        required: true
      serial_number:
        description: Its serial number, hexadecimal.
        type: str
        required: true
      not_after:
        description: When it ends, in UTC, as V(2027-11-21T16:00:00Z). May be empty in check mode for one that would be issued.
        type: str
        required: true
      issued:
        description: Whether this run has issued it. One that was only found replaces none that ends later, which another run may have issued meanwhile.
        type: bool
        default: false
  removed_chassis:
    description: Chassis that are removed.
    type: list
    elements: str
    default: []
  removed_metadata_agents:
    description: Chassis whose metadata agent is removed, or somebody else's.
    type: list
    elements: str
    default: []
  clients:
    description: Names of all clients; others leave the list. Without it clients stay as they are.
    type: list
    elements: str
  path:
    description: The file. Its directory is made (0755) if it is missing.
    type: path
  cluster:
    description: Name of an C(OVNCluster), whose list is changed instead of O(path).
    type: str
  namespace:
    description: Namespace of O(cluster).
    type: str
    default: ovn-system
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Record the certificate of a chassis
  c5c3.ovn.ovn_issued_certificates:
    path: /etc/c5c3-ovn/issued-certificates.json
    certificates:
      - {kind: chassis, holder: compute1, issuer: OVN chassis CA, serial_number: 3a91c0, not_after: '2027-11-21T16:00:00Z', issued: true}
  delegate_to: central1
"""

RETURN = r"""
diff:
  description: The certificates of the list that differ, before and after.
  returned: success
  type: dict
  sample: {"before": "", "after": "chassis compute1 until 2027-11-21T16:00:00Z\n"}
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.certificate import read_change, update_file
from ..module_utils._kubernetes.auth import AUTH_ARG_SPEC, hide_only_secrets
from ..module_utils._pki.issued import describe_change

_CERTIFICATE: dict[str, dict[str, t.Any]] = {
    "kind": {"type": "str", "required": True, "choices": ["chassis", "metadata-agent", "client"]},
    "holder": {"type": "str", "required": True},
    "issuer": {"type": "str", "required": True},
    "serial_number": {"type": "str", "required": True},
    "not_after": {"type": "str", "required": True},
    "issued": {"type": "bool", "default": False},
}


def update(params: dict[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of the module."""
    change = read_change(params, check_mode=check_mode)
    if params["cluster"]:
        from ..module_utils._control_plane.tls_secret import update_config_map
        from ..module_utils._kubernetes.client import Cluster

        before, after = update_config_map(
            Cluster(params), params["cluster"], params["namespace"], change, check_mode=check_mode
        )
    else:
        before, after = update_file(params["path"], change, check_mode=check_mode)
    return {"changed": before != after, "diff": describe_change(before, after)}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "certificates": {"type": "list", "elements": "dict", "default": [], "options": _CERTIFICATE},
            "removed_chassis": {"type": "list", "elements": "str", "default": []},
            "removed_metadata_agents": {"type": "list", "elements": "str", "default": []},
            "clients": {"type": "list", "elements": "str"},
            "path": {"type": "path"},
            "cluster": {"type": "str"},
            "namespace": {"type": "str", "default": "ovn-system"},
        },
        required_one_of=[("path", "cluster")],
        mutually_exclusive=[("path", "cluster")],
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    try:
        result = update(module.params, check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
