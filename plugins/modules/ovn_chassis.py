#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_chassis
short_description: Open vSwitch settings that make a host an OVN chassis
version_added: 0.1.0
description:
  - Writes everything that C(ovn-controller) reads from the local C(Open_vSwitch) database, together with the bridges and ports that
    the settings need, in B(one) transaction. A killed run leaves the old or the new state, never half of it.
  - Only what the task names is compared and changed. Keys, list tokens, bridges and ports of others (Neutron, netplan, the distribution) survive.
  - An option that is absent leaves its setting alone. An empty text or list removes the setting. Numbers and booleans are
    removed with V(null) under O(external_ids).
  - Values are compared by what they mean to the program that reads them. The order of a list does not matter. A blank in a list is part of an item for
    C(ovn-controller), so a list with one is written again.
  - Since OVN 23.03 C(ovn-controller) reads C(KEY-SYSTEM_ID) instead of C(KEY). Such a key with another value than the task gives is refused, see O(purge).
  - What tasks have named is recorded in C(external_ids:c5c3-ovn-owned) of the C(Open_vSwitch) row, also if another client wrote them first.
    Bridges, ports and the C(SSL) row that this module created carry a mark of the same name. O(purge) and O(state=absent) remove only
    what is recorded or marked. Stop ovn-controller before O(state=absent), which also deletes the
    integration bridge if only ports of ovn-controller are on it and C(system-id) or C(ovn-remote) is recorded.
author:
  - C5C3 contributors (@c5c3)
requirements:
  - "On the managed host: the Python library C(ovs) (Debian: C(python3-openvswitch))."
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_ovsdb
  - c5c3.ovn._ovsdb
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - The diff holds only the keys, bridges, ports and Southbound rows that differ.
  idempotent:
    support: full
  platform:
    platforms: linux
    support: full
options:
  state:
    description:
      - V(present) writes the settings of this task.
      - V(absent) removes the recorded keys and tokens, the marked ports, the marked bridges that carry no port of others, and the marked C(SSL) row.
        With O(southbound) it first deletes what the Southbound database still has of the chassis. All other settings in the task are ignored.
      - Before V(absent), end C(ovn-controller) with C(ovn-appctl -t ovn-controller exit), which deletes the rows of the chassis as well. One that still
        runs would register again.
    type: str
    choices: [present, absent]
    default: present
  database:
    description:
      - Where the C(Open_vSwitch) database of the chassis listens, as V(unix:FILE), V(tcp:HOST:PORT) or V(ssl:HOST:PORT); IPv6 addresses in brackets.
    type: str
    default: unix:/run/openvswitch/db.sock
  system_id:
    description:
      - Name of the chassis (C(system-id)). It must be unique among all chassis and, with Southbound RBAC, equal the common name of the chassis certificate.
      - It must not contain V(@), which separates name and address in C(ovn-controller)'s tunnel ports.
      - The file C(system-id-override) of ovn-controller has precedence over it.
      - With O(state=absent) and O(southbound), the name whose rows are deleted. It is needed where an earlier run has removed the settings already, and is
        refused if the settings of this host record another name.
      - On a chassis that already has remotes a change is refused, see O(allow_rename).
    type: str
  hostname:
    description:
      - Host name that the chassis row shows (C(hostname)). Neutron compares it with the name of its agents and compute services.
      - If the key is missing, C(ovn-controller) takes the host's own name.
    type: str
  remote:
    description:
      - Southbound database servers or relays that C(ovn-controller) connects to (C(ovn-remote)), each V(ssl:HOST:PORT), V(tcp:HOST:PORT) or V(unix:FILE).
      - Other forms, such as C(ssl://HOST:PORT) or an address with a prefix length, are refused.
      - An item V(cid:UUID) restricts the connection to the cluster with that id.
      - A change makes the controller reconnect; do not change it on all chassis at once.
    type: list
    elements: str
  encapsulation:
    description:
      - The tunnel ends of this chassis. OVN makes one encapsulation of every type with every address.
      - An empty text is an error, C([]) takes the setting and with it the tunnels away.
    type: dict
    suboptions:
      type:
        description: Tunnel types (C(ovn-encap-type)), V(geneve) or V(vxlan). OVN prefers the best one that both ends have.
        type: list
        elements: str
      ip:
        description: IPv4 or IPv6 addresses of this host on the underlay (C(ovn-encap-ip)). OVN sorts them, and takes the first one
          unless O(external_ids) has C(ovn-encap-ip-default) (OVN 24.09 and later).
        type: list
        elements: str
  bridge_mappings:
    description:
      - Physical networks that this chassis reaches, and the bridge that leads to each (C(ovn-bridge-mappings)).
      - The list is complete, mappings that it does not name are removed.
      - A bridge that does not exist is created, see O(bridges).
      - The module warns of a bridge of a mapping, also of one that somebody else has set, that has no port that leads out (internal ports do not),
        and of declared ports there that are down, have no link or cannot be used. Of ports of others it warns only if none leads out. Packets for the provider
        network are dropped there, and nothing else says so. With O(wait_for=none) it does not look.
      - A port that has been added by the same run, or is of DPDK, may have no link yet. With O(allow_missing_ports) a port may wait for its device.
    type: list
    elements: dict
    suboptions:
      physical_network:
        description: Name of the physical network. Comma and colon cannot be expressed.
        type: str
        required: true
      bridge:
        description: Name of the bridge, at most 15 bytes.
        type: str
        required: true
      ports:
        description: As O(bridges[].ports).
        type: list
        elements: str
  bridges:
    description:
      - Bridges that have to exist. Bridges that the list does not name are left alone.
      - A bridge that falls out of the list stays; it goes with O(state=absent) or by hand.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the bridge, at most 15 bytes.
        type: str
        required: true
      ports:
        description:
          - Network devices that have to be ports of the bridge. Other ports of the bridge are left alone.
          - A device that is a port of another bridge is refused, because moving it would cut traffic. So is a device that this host
            does not have, see O(allow_missing_ports).
        type: list
        elements: str
      datapath_type:
        description:
          - V(system) for the kernel datapath, V(netdev) for userspace.
          - If absent, an existing bridge is left as it is and a new one gets the type of O(datapath_type), because patch ports work only
            between bridges of one type.
        type: str
        choices: [system, netdev]
  allow_missing_ports:
    description:
      - Whether ports may be named that are no network devices of this host yet. Open vSwitch takes them in when they appear.
      - The test needs a V(unix:) O(database); for other ones it is not made.
    type: bool
    default: false
  preserve_foreign:
    description:
      - Whether the Open vSwitch belongs to somebody else, for example to Kolla or a network plugin of Kubernetes, and everything stays as they made it.
      - A key of C(external_ids) or C(other_config) that this module has not written is refused if it has another value. One with the same value is used,
        but not recorded, so that O(state=absent) leaves it.
      - A bridge that does not exist is created only if O(bridges) names it, not for a mapping alone. A new port or another datapath type is refused on a
        bridge that this module has not created.
      - The integration bridge, C(br-int) or what C(ovn-bridge) in O(external_ids) names, must not be there before the host is a chassis.
      - The C(SSL) row is not written. Give ovn-controller its files on its command line.
    type: bool
    default: false
  datapath_type:
    description: Datapath of the integration bridge (C(ovn-bridge-datapath-type)), V(system) or V(netdev).
    type: str
  gateway:
    description:
      - Whether the chassis takes gateway traffic. V(true) adds the token C(enable-chassis-as-gw) to C(ovn-cms-options), V(false) removes it.
    type: bool
  availability_zones:
    description:
      - Neutron availability zones of the chassis; replaces the token C(availability-zones=) of C(ovn-cms-options).
    type: list
    elements: str
  cms_options:
    description:
      - Further tokens of C(ovn-cms-options), for example V(enable-chassis-as-extport-host).
      - Tokens of earlier lists of this option are removed if the new list does not name them. Tokens of other tools survive in their order.
    type: list
    elements: str
  mac_mappings:
    description:
      - MAC address of this chassis on each physical network, for distributed routing on VLAN networks (C(ovn-chassis-mac-mappings)). The list is complete.
    type: list
    elements: dict
    suboptions:
      physical_network:
        description: Name of the physical network.
        type: str
        required: true
      mac:
        description: Unicast MAC address.
        type: str
        required: true
  transport_zones:
    description:
      - Tunnels are made only between chassis that share a zone (C(ovn-transport-zones)). A chassis with zones and one without never meet.
    type: list
    elements: str
  monitor_all:
    description: Whether the controller monitors the whole Southbound database (C(ovn-monitor-all)); less load for the servers, more memory on the host.
    type: bool
  remote_probe_interval:
    description: Inactivity probe of the Southbound connection in milliseconds, V(0) for none (C(ovn-remote-probe-interval)). OVN raises values below 1000.
    type: int
  openflow_probe_interval:
    description: Inactivity probe of the OpenFlow connection in seconds, V(0) for none (C(ovn-openflow-probe-interval)). Ignored by OVN 24.03 and later.
    type: int
  bridge_probe_interval:
    description:
      - Inactivity probe of the connections to the integration bridge in milliseconds, V(0) for none (C(ovn-bridge-remote-probe-interval)).
        Read by OVN 24.09 and later.
    type: int
  private_key:
    type: path
    description:
      - Path of the private key (PEM) on the managed host.
      - The three TLS paths are written to the C(SSL) row, where C(ovn-controller) and the local database server look for them, as
        C(ovs-vsctl set-ssl) does, and are used for V(ssl:) endpoints of O(database) and O(southbound).
      - They go together. If all three are empty, the C(SSL) row is removed.
  external_ids:
    description:
      - Further keys of C(Open_vSwitch.external_ids). V(null) removes a key. A value for a key that has an option of its own is refused.
      - Values are stored as text; booleans become V(true) and V(false).
    type: dict
  other_config:
    description: Keys of C(Open_vSwitch.other_config), as O(external_ids).
    type: dict
  purge:
    description:
      - Whether keys and tokens that earlier tasks recorded and that this task does not name are removed. Bridges and ports stay.
      - Also removes the keys C(KEY-SYSTEM_ID) that C(ovn-controller) would read instead of a setting of this task, unless O(preserve_foreign) is set.
      - Use it only if one task names everything about the chassis.
    type: bool
    default: false
  allow_rename:
    description:
      - Whether O(system_id) of a chassis with remotes may change. A controller that runs meanwhile leaves its old row behind, cannot register
        under the new name, and ends with an assertion failure from OVN 24.03.7, 25.03.2, 25.09.1 and 26.03 on.
      - Set it only after C(ovn-appctl -t ovn-controller exit) and when the old row has left the Southbound database.
    type: bool
    default: false
  southbound:
    description:
      - Endpoints of the Southbound database, each V(ssl:HOST:PORT), V(tcp:HOST:PORT) or V(unix:FILE), to check for clashes before anything is written.
      - With O(state=absent), the rows of the chassis in the tables C(Chassis), C(Chassis_Private) and C(Encap) are deleted there, in one transaction and
        before the settings of this host. Rows in C(Chassis_Private) that have lost their C(Chassis) row are found by their name. The module
        does not wait whether the chassis registers again.
      - With O(state=absent), a chassis of another host is refused before anything is changed. A row is of this host if it does not carry the mark
        of another Kubernetes cluster and shows the host name or one of the tunnel addresses that the local settings record, or O(hostname) and
        O(encapsulation) where they record none.
      - A tunnel address that another chassis has is refused. A O(system_id) whose row shows another host name B(and) none of our addresses is refused,
        see O(allow_takeover).
      - If absent, the Southbound database is not asked.
    type: list
    elements: str
  allow_takeover:
    description:
      - Whether this host may take over the O(system_id) of another one, for example as its replacement.
      - With O(state=absent), whether the rows of a chassis are deleted that answers heartbeats and has no tunnel address of this host. Without it that is an
        error, since this disk may be a copy of another host's.
    type: bool
    default: false
  wait_for:
    description:
      - V(applied) waits until C(ovs-vswitchd) has taken over the configuration (C(cur_cfg)) and fails if it could not open one of the bridges and ports.
      - V(registered) waits in addition until the Southbound database has the chassis with exactly the desired encapsulations. It needs O(southbound).
      - V(none) does not wait, for hosts where the daemons do not run yet.
    type: str
    choices: [none, applied, registered]
    default: applied
  wait_timeout:
    description: How long O(wait_for) may take altogether, in seconds. A controller that lost its servers may need 24 seconds to try again.
    type: int
    default: 60
  timeout:
    description: How long each database may take to answer, in seconds.
    type: int
    default: 10
seealso:
  - plugin: c5c3.ovn.chassis
    plugin_type: inventory
  - name: ovn-controller(8)
    description: The keys and their meaning.
    link: https://www.ovn.org/support/dist-docs/ovn-controller.8.html
"""

EXAMPLES = r"""
- name: Make the host a chassis and wait until it is registered
  c5c3.ovn.ovn_chassis:
    system_id: compute-1
    hostname: compute-1.example.com
    remote: [ssl:192.0.2.11:6642, ssl:192.0.2.12:6642, ssl:192.0.2.13:6642]
    encapsulation:
      type: geneve
      ip: 198.51.100.21
    bridge_mappings:
      - physical_network: physnet1
        bridge: br-ex
        ports: [eth1]
    private_key: /etc/ovn/tls/chassis-key.pem
    certificate: /etc/ovn/tls/chassis-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    southbound: [ssl:192.0.2.11:6642, ssl:192.0.2.12:6642, ssl:192.0.2.13:6642]
    wait_for: registered

- name: Make it a gateway in two availability zones
  c5c3.ovn.ovn_chassis:
    gateway: true
    availability_zones: [az1, az2]

- name: Set one further key and remove another
  c5c3.ovn.ovn_chassis:
    external_ids:
      ovn-encap-csum: true
      ovn-limit-lflow-cache: null

- name: Remove the settings after the controller has ended
  c5c3.ovn.ovn_chassis:
    state: absent

- name: Remove the settings and what the Southbound database has of the chassis
  c5c3.ovn.ovn_chassis:
    state: absent
    system_id: compute-1
    hostname: compute-1.example.com
    private_key: /etc/ovn/tls/chassis-key.pem
    certificate: /etc/ovn/tls/chassis-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    southbound: [ssl:192.0.2.11:6642, ssl:192.0.2.12:6642, ssl:192.0.2.13:6642]
"""

RETURN = r"""
system_id:
  description: Name of the chassis after the task; V(null) if it has none.
  returned: success
  type: str
  sample: compute-1
hostname:
  description: Host name that the chassis has, as ovn-controller registers it.
  returned: success
  type: str
  sample: compute-1.example.com
owned:
  description: What is recorded as ours after the task.
  returned: success
  type: dict
  sample: {"external_ids": ["ovn-remote", "system-id"], "other_config": [], "cms_options": ["enable-chassis-as-gw"]}
  contains:
    external_ids:
      description: Keys of C(external_ids).
      type: list
      elements: str
    other_config:
      description: Keys of C(other_config).
      type: list
      elements: str
    cms_options:
      description: Tokens of C(ovn-cms-options).
      type: list
      elements: str
kept:
  description: One sentence for each of our bridges, and the integration bridge, that O(state=absent) left because ports of others are on it.
  returned: success
  type: list
  elements: str
  sample: ["Bridge br-ex stays because ports of others are on it: eth7. Delete it when they are gone."]
deleted_rows:
  description:
    - What O(state=absent) deleted from the Southbound database, by table; in check mode what it would delete. Empty if there was nothing, and without
      O(southbound).
    - Rows of C(Chassis) and C(Chassis_Private) appear by name, rows of C(Encap) by type and address.
  returned: success
  type: dict
  sample: {"Chassis": ["compute-1"], "Chassis_Private": ["compute-1"], "Encap": ["geneve 198.51.100.21"]}
next_cfg:
  description: Configuration number of the write, which C(ovs-vswitchd) confirms with C(cur_cfg); V(null) if nothing was written.
  returned: success
  type: int
  sample: 7
port_errors:
  description: What C(ovs-vswitchd) says of named bridges and ports that it cannot open, with O(allow_missing_ports); by name.
  returned: success
  type: dict
  sample: {"eth9": "could not open network device eth9 (No such device)"}
registered:
  description:
    - Whether the Southbound database has the chassis with exactly the desired encapsulations; before the write unless O(wait_for=registered).
    - V(null) without O(southbound) and with O(state=absent).
  returned: success
  type: bool
  sample: true
diff:
  description: Values before and after, with only the keys that differ. A side lacks keys that do not exist there. RV(deleted_rows) are under C(southbound).
    What the module records as its own is left out, unless nothing else differs; then it is under C(recorded).
  returned: success
  type: dict
  sample: {"before": {}, "after": {"external_ids": {"system-id": "compute-1"}}}
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._chassis.configure import configure
from ..module_utils._chassis.options import CHASSIS_OPTIONS


def _options() -> dict[str, t.Any]:
    return {
        **CHASSIS_OPTIONS,
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "database": {"type": "str", "default": "unix:/run/openvswitch/db.sock"},
        "private_key": {"type": "path"},
        "certificate": {"type": "path"},
        "ca_certificate": {"type": "path"},
        "purge": {"type": "bool", "default": False},
        "allow_rename": {"type": "bool", "default": False},
        "southbound": {"type": "list", "elements": "str"},
        "allow_takeover": {"type": "bool", "default": False},
        "wait_for": {"type": "str", "choices": ["none", "applied", "registered"], "default": "applied"},
        "wait_timeout": {"type": "int", "default": 60},
        "timeout": {"type": "int", "default": 10},
    }


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=_options(), supports_check_mode=True)
    try:
        result = configure(module.params, module.check_mode)
    except OvnError as e:
        failure = e.as_result()
        _report_warnings(module, failure)
        module.fail_json(**failure)
    _report_warnings(module, result)
    module.exit_json(**result)


def _report_warnings(module: AnsibleModule, result: dict[str, t.Any]) -> None:
    for warning in result.pop("warnings", []):
        module.warn(warning)


if __name__ == "__main__":
    main()
