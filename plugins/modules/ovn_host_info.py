#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_host_info
short_description: (internal) Read in one call what several modules would say about a host
version_added: "0.1.0"
description:
  - Reads packages, daemons, members of Raft databases and files of a host, and compares units, settings of databases and certificates with their desired
    state, in one process. A task for each of them would cost a connection and a start of Python each.
  - Changes nothing and waits for nothing, neither for a leader nor for another host. Each option has the options of the module that it names, and its
    result is that module's, in check mode. With O(datapath) a call takes a second.
  - The roles use it to find out whether anything is due on a host before they acquire a lock or change something.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.info_module
attributes:
  platform:
    support: full
    platforms: posix
options:
  packages:
    description: Options of M(c5c3.ovn.ovn_packages_info).
    type: dict
  daemons:
    description: Options of M(c5c3.ovn.ovn_daemons_info).
    type: dict
  openvswitch:
    description:
      - Reads which Open vSwitch the host has, and whether a chassis can be made with it. Its keys are C(mode), V(managed) or V(existing) as
        C(ovn_hypervisor_openvswitch) of the role C(ovn_hypervisor), C(database) and C(database_file), where the database to be used listens and lies,
        C(unit), a unit of Open vSwitch beside those of Debian that is taken over, C(chassis_unit), the unit file of a chassis of ours, with which nothing
        is refused in the mode V(managed), and C(timeout) in seconds.
    type: dict
  datapath:
    description:
      - Reads whether the datapath of the host loses packets, twice with a second in between. Its keys are C(database), the Open vSwitch database, by default
        C(unix:/run/openvswitch/db.sock), and C(timeout) of each answer in seconds.
    type: dict
  neutron:
    description:
      - Reads what services of Neutron are started with, and the files that they read, in the order of oslo.config, in which the last value of an option counts.
      - The command of the unit counts. Where it leaves files to a script or to variables, that of the process does. What a container reads is not known.
    type: dict
    suboptions:
      services:
        description: Units of systemd. One that is not there is left out.
        type: list
        elements: str
        required: true
      config_file:
        description: The file that is to count, written or not.
        type: path
        required: true
      config:
        description: Its text as it will be.
        type: str
        required: true
  members:
    description: For each member its options of M(c5c3.ovn.ovn_raft_member), without O(c5c3.ovn.ovn_raft_member#module:state) and what belongs to a step.
    type: list
    elements: dict
    default: []
  files:
    description: Text files that are read.
    type: list
    elements: path
    default: []
  units:
    description: Options of M(c5c3.ovn.ovn_units), for each of its calls.
    type: list
    elements: dict
    default: []
  databases:
    description: Options of M(c5c3.ovn.ovn_database), for each database.
    type: list
    elements: dict
    default: []
  firewall:
    description: Options of M(c5c3.ovn.ovn_firewall), for each of its calls.
    type: list
    elements: dict
    default: []
  certificates:
    description: Options of M(c5c3.ovn.ovn_certificate), for each pair.
    type: list
    elements: dict
    default: []
seealso:
  - module: c5c3.ovn.ovn_packages_info
  - module: c5c3.ovn.ovn_daemons_info
  - module: c5c3.ovn.ovn_raft_member
  - module: c5c3.ovn.ovn_units
  - module: c5c3.ovn.ovn_database
  - module: c5c3.ovn.ovn_firewall
  - module: c5c3.ovn.ovn_certificate
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Read whether northd would be started, and whether the settings of its database would change
  c5c3.ovn.ovn_host_info:
    units:
      - units: [{name: c5c3-ovn-northd.service, enabled: true, state: started}]
    databases:
      - {database: northbound, election_timer: 4000}
  register: state

- name: Show what a run would do
  ansible.builtin.debug:
    msg: "{{ (state.units + state.databases) | map(attribute='actions') | flatten }}"
  when: state.due
"""

RETURN = r"""
due:
  description: Whether one of O(units), O(databases), O(firewall) or O(certificates) would be changed, or could not be read.
  returned: success
  type: bool
  sample: false
packages:
  description: What M(c5c3.ovn.ovn_packages_info) returns.
  returned: success and with O(packages)
  type: dict
daemons:
  description: What M(c5c3.ovn.ovn_daemons_info) returns.
  returned: success and with O(daemons)
  type: dict
openvswitch:
  description:
    - C(problem) is why no chassis can be made with the Open vSwitch of this host, empty if one can. C(programs) are the processes of Open vSwitch and
      ovn-controller in the network of the host, C(bridges) the bridges of those that run, C(datapath_ports) the ports of the kernel's datapath,
      C(known_interfaces) those of the database, V(null) without one, C(answers) whether it is served, C(hostname) the host name of the chassis,
      C(unknown_units) the units of Open vSwitch that the host does not have.
  returned: success and with O(openvswitch)
  type: dict
  sample: {"problem": "", "programs": ["ovs-vswitchd (pid 812, ovs-vswitchd.service)"], "bridges": ["br-int"], "datapath_ports": ["br-int"],
    "hostname": "compute1", "known_interfaces": ["br-int"], "answers": true, "unknown_units": []}
datapath:
  description:
    - V(null) if no Open vSwitch with a bridge answers. C(type), V(system) or V(netdev), is that of the integration bridge. C(conntrack_zones) says whether
      it has conntrack zones, C(handlers) counts the threads of ovs-vswitchd for packets without a flow; each is V(null) if that is unknown.
    - C(lookups) has the packets since the datapath was created, which may be before ovs-vswitchd was started - C(hit), C(missed) and C(lost). C(missed) and
      C(lost) beside it have those of C(seconds) during this call, V(null) if it restarted meanwhile.
    - C(uplinks_down) has each C(bridge) of a mapping whose ports that lead out pass no packets, with its C(networks) and, in C(ports), what is wrong with
      each of these ports.
  returned: success and with O(datapath)
  type: dict
  sample: {"type": "system", "conntrack_zones": true, "handlers": 2, "lookups": {"hit": 5210, "missed": 98, "lost": 0}, "missed": 1, "lost": 0,
    "seconds": 1.0, "uplinks_down": []}
neutron:
  description:
    - C(problem) is why Neutron would not be a client of OVN as O(neutron.config) says - a service does not read the file, or reads another value of what
      decides that later; empty if it would. C(warnings) say what else does not count, and that Neutron has no routers.
  returned: success and with O(neutron)
  type: dict
  sample: {"problem": "", "warnings": []}
members:
  description: For each of O(members) what M(c5c3.ovn.ovn_raft_member) returns, in order.
  returned: success
  type: list
  elements: dict
files:
  description: The text of each of O(files) that is there.
  returned: success
  type: dict
  sample: {"/etc/openvswitch/system-id.conf": "compute1\n"}
units:
  description: For each of O(units) what M(c5c3.ovn.ovn_units) returns in check mode, in order. C(failed) and C(msg) say what could not be read.
  returned: success
  type: list
  elements: dict
  sample: [{"changed": true, "actions": ["start c5c3-ovn-northd.service"]}]
databases:
  description: For each of O(databases) what M(c5c3.ovn.ovn_database) returns in check mode, in order. C(failed) and C(msg) say what could not be read.
  returned: success
  type: list
  elements: dict
firewall:
  description: For each of O(firewall) what M(c5c3.ovn.ovn_firewall) returns in check mode, in order. C(failed) and C(msg) say what could not be read.
  returned: success
  type: list
  elements: dict
certificates:
  description:
    - For each of O(certificates) what M(c5c3.ovn.ovn_certificate) returns in check mode, in order. C(failed) and C(msg) say what could not be read,
      C(library_missing) that it was the library.
  returned: success
  type: list
  elements: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.neutron_config import OPTIONS as NEUTRON_OPTIONS
from ..module_utils._host.state import read_state
from ..module_utils._machine.commands import Commands


def main() -> t.NoReturn:
    several: dict[str, t.Any] = {"type": "list", "elements": "dict", "default": []}
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "dict"},
            "daemons": {"type": "dict"},
            "openvswitch": {"type": "dict"},
            "datapath": {"type": "dict"},
            "neutron": {"type": "dict", "options": NEUTRON_OPTIONS},
            "members": several,
            "files": {"type": "list", "elements": "path", "default": []},
            "units": several,
            "databases": several,
            "firewall": several,
            "certificates": several,
        },
        supports_check_mode=True,
    )
    try:
        result = read_state(module.params, Commands())
    except OvnError as e:
        module.fail_json(**e.as_result())
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
