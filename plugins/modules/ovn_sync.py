#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_sync
short_description: Send a heartbeat through an OVN installation and see who answers
version_added: "0.1.0"
description:
  - Counts C(NB_Global.nb_cfg) up by one. northd repeats the number in the Southbound database, then every C(ovn-controller) does, as soon as its
    flows are installed. The time that both took proves that writes, northd and each chassis work; nothing else does.
  - Chassis rows stay in the database when a machine dies. Only the answer to a heartbeat shows which are alive.
  - A chassis that does not answer is a result (RV(late)), and so is a northd that does not (RV(northd_alive)). Only databases that cannot be read or
    written make the module fail.
  - It writes this one counter and nothing else, and reports RV(ignore:changed) as false, since no setting is changed. Each heartbeat makes each chassis
    write one row; with hundreds of chassis, do not send one more often than every few minutes.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_ovsdb
  - c5c3.ovn._ovsdb
attributes:
  check_mode:
    support: full
    details:
      - No heartbeat is sent, as with O(wait_for=none).
  diff_mode:
    support: N/A
    details:
      - No setting is changed.
  idempotent:
    support: N/A
    details:
      - Each run is a new heartbeat.
  platform:
    support: full
    platforms: posix
options:
  northbound:
    description:
      - Endpoints of the Northbound database, C(unix:FILE), C(ssl:HOST:PORT) or C(tcp:HOST:PORT), IPv6 in brackets. Each item may be a comma list.
      - Any connected member will do, it need not lead. Several endpoints are tried in order until one can be used.
      - The default is the distribution's socket of the member on this host.
    type: list
    elements: str
    default: ["unix:/run/ovn/ovnnb_db.sock"]
  southbound:
    description:
      - Endpoints of the Southbound database, in the same form. It is only read, so a listener with the role C(ovn-controller) is enough.
    type: list
    elements: str
    default: ["unix:/run/ovn/ovnsb_db.sock"]
  wait_for:
    description:
      - V(sb) waits until northd has repeated the number, V(hv) also until every chassis has.
      - V(none) sends no heartbeat and reports the answers to the last one. A chassis that died since then still counts as alive.
    type: str
    choices: [none, sb, hv]
    default: hv
  timeout:
    description:
      - Time for everything together, in seconds. A chassis that is dead costs all of it.
    type: float
    default: 30
requirements:
  - "On the managed host: the Python library C(ovs) >= 3.1.2 from PyPI (Debian: C(python3-openvswitch))."
  - "There as well, unless O(wait_for=none): the Python library C(ovsdbapp) >= 2.1.0 (Debian: C(python3-ovsdbapp))."
seealso:
  - module: c5c3.ovn.ovn_raft_status
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Does everything from the Northbound database to the last chassis work?
  c5c3.ovn.ovn_sync:
  register: heartbeat
  failed_when: heartbeat is failed or not heartbeat.northd_alive or heartbeat.late | length > 0

- name: The same from a machine without a database
  c5c3.ovn.ovn_sync:
    northbound: ["ssl:192.0.2.11:6641", "ssl:192.0.2.12:6641", "ssl:192.0.2.13:6641"]
    southbound: ["ssl:192.0.2.11:6642", "ssl:192.0.2.12:6642", "ssl:192.0.2.13:6642"]
    private_key: /etc/ovn/tls/chassis-key.pem
    certificate: /etc/ovn/tls/chassis-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem

- name: Read the chassis without sending a heartbeat
  c5c3.ovn.ovn_sync:
    wait_for: none
"""

RETURN = r"""
nb_cfg:
  description: Number of the heartbeat.
  returned: success
  type: int
  sample: 17
probed:
  description: Whether the chassis were asked now. If not, they are measured by the last heartbeat that reached them.
  returned: success
  type: bool
  sample: true
northd_alive:
  description: Whether northd has repeated the number.
  returned: success
  type: bool
  sample: true
reason:
  description: Why O(wait_for) was not reached at northd; empty otherwise.
  returned: success
  type: str
  sample: ""
sb_ms:
  description: Milliseconds from the write to the answer of northd, V(none) without an answer or if not waited for.
  returned: success
  type: float
  sample: 3.2
hv_ms:
  description: Milliseconds from the write to the answer of the last chassis, V(none) if one is late or if not waited for.
  returned: success
  type: float
  sample: 11.5
alive_count:
  description: Number of chassis that have answered.
  returned: success
  type: int
  sample: 2
late:
  description: Names of the chassis that have not answered, and of left-over rows.
  returned: success
  type: list
  elements: str
  sample: []
misplaced_ports:
  description:
    - Ports that were bound by another chassis than C(Port_Binding.options:requested-chassis) names, before the heartbeat and after it. The role
      C(ovn-controller) does not keep a chassis from that.
    - Empty, too, if the chassis were not asked (RV(probed)).
  returned: success
  type: list
  elements: dict
  contains:
    port:
      description: Name of the logical port.
      type: str
      sample: 6f4a6c0c-3d5b-4a53-8d5c-0a8a2f7c9b11
    requested:
      description: Chassis or host names that were requested.
      type: list
      elements: str
      sample: [hypervisor1]
    chassis:
      description: Other chassis that have bound the port.
      type: list
      elements: str
      sample: [hypervisor2]
lost_gateways:
  description: With O(wait_for=hv), chassis that are not registered, each with the gateway ports and groups that still name it in the Northbound database.
  returned: success
  type: dict
  sample: {"hypervisor9": ["lrp-provider"]}
northd_version:
  description: Version of northd and its Southbound schema, empty if northd has not written it.
  returned: success
  type: str
  sample: 23.03.1-20.27.0-70.6
schema_versions:
  description: Versions of the schemas in use.
  returned: success
  type: dict
  sample: {"northbound": "7.0.0", "southbound": "20.27.0"}
chassis:
  description: All chassis in the Southbound database, sorted by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the chassis, its system id.
      type: str
      sample: hypervisor1
    hostname:
      description: Host name of the machine.
      type: str
      sample: hypervisor1.example.com
    registered:
      description: Whether it has a row in C(Chassis). If not, only a left-over of C(Chassis_Private) is there.
      type: bool
      sample: true
    alive:
      description: Whether it has answered the heartbeat, V(none) if chassis are configured not to answer.
      type: bool
      sample: true
    remote:
      description: Whether it belongs to another availability zone (OVN interconnection). Such a chassis never answers here.
      type: bool
      sample: false
    nb_cfg:
      description: Number of the last heartbeat that it answered, V(none) if it never did.
      type: int
      sample: 17
    nb_cfg_timestamp:
      description: When it answered, in milliseconds since 1970 by its own clock.
      type: int
      sample: 1795164164353
    encapsulations:
      description: Tunnel end points, each with C(type) and C(ip). Those that it names as its own although they are another chassis' come last.
      type: list
      elements: dict
      sample: [{"type": "geneve", "ip": "192.0.2.21"}]
    bridge_mappings:
      description: Provider networks, each with C(physical_network) and C(bridge).
      type: list
      elements: dict
      sample: [{"physical_network": "physnet1", "bridge": "br-ex"}]
    gateway:
      description: Whether it takes gateway traffic (C(enable-chassis-as-gw)).
      type: bool
      sample: false
    cms_options:
      description: Tokens of C(ovn-cms-options).
      type: list
      elements: str
      sample: [enable-chassis-as-gw]
    transport_zones:
      description: Transport zones.
      type: list
      elements: str
      sample: []
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import OvnError
from ..module_utils._chassis.heartbeat_probe import send_heartbeat
from ..module_utils._ovsdb.endpoint import parse_endpoints
from ..module_utils._ovsdb.tls_files import TlsFiles


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "northbound": {"type": "list", "elements": "str", "default": ["unix:/run/ovn/ovnnb_db.sock"]},
            "southbound": {"type": "list", "elements": "str", "default": ["unix:/run/ovn/ovnsb_db.sock"]},
            "wait_for": {"type": "str", "choices": ["none", "sb", "hv"], "default": "hv"},
            "timeout": {"type": "float", "default": 30},
            "private_key": {"type": "path"},
            "certificate": {"type": "path"},
            "ca_certificate": {"type": "path"},
        },
        required_together=[("private_key", "certificate", "ca_certificate")],
        supports_check_mode=True,
    )
    params = module.params
    try:
        result = send_heartbeat(
            parse_endpoints(params["northbound"]),
            parse_endpoints(params["southbound"]),
            TlsFiles(params["private_key"], params["certificate"], params["ca_certificate"]),
            Deadline(params["timeout"]),
            "none" if module.check_mode else params["wait_for"],
            module.warn,
        )
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
