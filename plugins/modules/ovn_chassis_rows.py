#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_chassis_rows
short_description: (internal) Delete the rows of a dead chassis
version_added: "0.1.0"
description:
  - Internal to the role P(c5c3.ovn.ovn_hypervisor#role) with C(ovn_hypervisor_state=gone), its options may change at any time. Where the chassis is alive,
    M(c5c3.ovn.ovn_chassis) with O(c5c3.ovn.ovn_chassis#module:state=absent) is the way.
  - Deletes what the Southbound database has of the chassis in the tables C(Chassis), C(Chassis_Private) and C(Encap), in one transaction, and checks whether
    it registers again. Runs where the database is, not on the host of the chassis.
  - A row of another host is refused before anything is changed. A row is of the chassis if it does not carry the mark of a Kubernetes cluster and shows
    O(hostname) or one of O(addresses).
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
  system_id:
    description: Name of the chassis.
    type: str
    required: true
  hostname:
    description: Host name of the dead machine.
    type: str
    required: true
  addresses:
    description: Addresses where its tunnels ended.
    type: list
    elements: str
    default: []
  southbound:
    description: Members of the Southbound database, each V(unix:FILE) or V(tcp:HOST:PORT).
    type: list
    elements: str
    default: ["unix:/run/ovn/ovnsb_db.sock"]
  northbound:
    description:
      - Members of the Northbound database, each V(unix:FILE) or V(tcp:HOST:PORT). A heartbeat is sent through it, and a chassis that answers is refused
        before anything is deleted. If it does not answer, only C(came_back) shows that the chassis is alive.
    type: list
    elements: str
    default: ["unix:/run/ovn/ovnnb_db.sock"]
  cluster:
    description: Name of an C(OVNCluster), whose pods are asked instead of O(southbound) and O(northbound).
    type: str
  namespace:
    description: Namespace of O(cluster).
    type: str
    default: ovn-system
  timeout:
    description: How long a database may take to answer, and northd to pass the heartbeat on, in seconds.
    type: int
    default: 30
  watch:
    description:
      - How long to wait for the answer to the heartbeat once northd has passed it on, and then whether the chassis registers again, in seconds. A controller
        needs less than two.
    type: int
    default: 4
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Delete the rows of a machine that is lost for good
  c5c3.ovn.ovn_chassis_rows:
    system_id: compute9
    hostname: compute9
    addresses: [198.51.100.29]
  delegate_to: central1
"""

RETURN = r"""
deleted_rows:
  description:
    - What was deleted, by table; in check mode what would be. Empty if there was nothing.
    - Rows of C(Chassis) and C(Chassis_Private) appear by name, rows of C(Encap) by type and address.
  returned: success
  type: dict
  sample: {"Chassis": ["compute9"], "Chassis_Private": ["compute9"], "Encap": ["geneve 198.51.100.29"]}
gateways:
  description: Gateway ports and groups whose C(Gateway_Chassis) or C(HA_Chassis) rows in the Northbound database still name the chassis.
  returned: success
  type: list
  elements: str
  sample: ["lrp-provider"]
came_back:
  description: Whether the chassis has registered again, so that its machine is not dead.
  returned: success
  type: bool
  sample: false
diff:
  description: RV(deleted_rows) are under C(southbound) before, nothing is after.
  returned: success
  type: dict
  sample: {"before": {}, "after": {}}
"""

import functools
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.databases import Database
from ..module_utils._base.errors import OvnError
from ..module_utils._base.ip_addresses import canonical_host
from ..module_utils._chassis.registration import LocalChassis
from ..module_utils._chassis.southbound_removal import (
    ListeningMembers,
    Members,
    comes_back,
    delete_rows,
    read_gateways,
    refuse_living,
)
from ..module_utils._chassis.southbound_rows import gateway_warning
from ..module_utils._kubernetes.auth import AUTH_ARG_SPEC, hide_only_secrets
from ..module_utils._ovsdb.endpoint import parse_endpoints
from ..module_utils._ovsdb.tls_files import TlsFiles


def members_of(params: dict[str, t.Any], database: Database) -> Members:
    """Return how the database is reached: by commands in its pods, or through sockets."""
    if params["cluster"]:
        from ..module_utils._control_plane.database_pods import DatabasePods
        from ..module_utils._kubernetes.client import Cluster

        return DatabasePods(Cluster(params), params["namespace"], params["cluster"], database)
    return ListeningMembers(parse_endpoints(params[database]), TlsFiles())


def execute(params: dict[str, t.Any], members: Members, *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of the module. A failure after the deletion carries it in its details."""
    encapsulations = frozenset(("", canonical_host(address)) for address in params["addresses"])
    dead = LocalChassis(params["system_id"], params["hostname"], encapsulations)
    if not check_mode and delete_rows(dead, members, params["timeout"], module="ovn_chassis_rows", check_mode=True):
        northbound = functools.partial(members_of, params, "northbound")
        refuse_living(dead.name, members, northbound, params["watch"], params["timeout"])
    gateways = read_gateways(dead.name, members, params["timeout"])
    deleted = delete_rows(dead, members, params["timeout"], module="ovn_chassis_rows", check_mode=check_mode)
    result = {
        "changed": bool(deleted),
        "gateways": gateways,
        "deleted_rows": deleted,
        "came_back": False,
        "diff": {"before": {"southbound": deleted} if deleted else {}, "after": {}},
    }
    if deleted and not check_mode:
        try:
            result["came_back"] = comes_back(dead.name, members, params["watch"], params["timeout"])
        except OvnError as e:
            e.details = {**result, **e.details}
            raise
    return result


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "system_id": {"type": "str", "required": True},
            "hostname": {"type": "str", "required": True},
            "addresses": {"type": "list", "elements": "str", "default": []},
            "southbound": {"type": "list", "elements": "str", "default": ["unix:/run/ovn/ovnsb_db.sock"]},
            "northbound": {"type": "list", "elements": "str", "default": ["unix:/run/ovn/ovnnb_db.sock"]},
            "cluster": {"type": "str"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "timeout": {"type": "int", "default": 30},
            "watch": {"type": "int", "default": 4},
        },
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    try:
        result = execute(module.params, members_of(module.params, "southbound"), check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    if result["gateways"]:
        module.warn(gateway_warning(module.params["system_id"], result["gateways"]))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
