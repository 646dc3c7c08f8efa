#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_daemons_info
short_description: (internal) Find the database servers and northd that run on a host, and what keeps them running
version_added: "0.1.0"
description:
  - Finds every C(ovsdb-server) of a Northbound or Southbound database and every C(ovn-northd) in the network of the host, regardless of what started it.
    Tells units of systemd, containers of Docker and Podman, pods, and processes that C(ovn-ctl) started by hand apart.
  - Reads the command line of each one, and asks it for its Raft address and ids, its listeners and its certificates. Changes nothing.
  - Servers of other databases, relays, and daemons in another network namespace are left out.
  - Fails where processes of other users may not be read, because it is then unknown what runs there.
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  required_files:
    description: Files that have to be there. Those that are not are in RV(missing_files).
    type: list
    elements: path
    default: []
  ca_certificate:
    description: PEM file with CA certificates, whose digests are in RV(ca_digests).
    type: path
  stopped_units:
    description: Whether RV(stopped_northd_units) is read. It takes systemd a moment, for it looks at every unit that starts with the host.
    type: bool
    default: false
  timeout:
    description: How long each daemon may take to answer, in seconds.
    type: float
    default: 5
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Find out who runs OVN on this host
  c5c3.ovn.ovn_daemons_info:
  register: found

- name: Show what keeps each daemon running
  ansible.builtin.debug:
    msg: "{{ item.name }}: {{ item.supervisor.kind }} {{ item.supervisor.name }}"
  loop: "{{ found.daemons }}"
  loop_control:
    label: "{{ item.pid }}"
"""

RETURN = r"""
daemons:
  description: The daemons, sorted by name and process id.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: V(northbound), V(southbound) or V(northd).
      type: str
      returned: always
      sample: northbound
    pid:
      description: Process id.
      type: int
      returned: always
      sample: 812
    supervisor:
      description:
        - What keeps it running. C(kind) is V(unit), V(container), V(pod) or V(none), C(name) the name of the unit or container, C(runtime) the command of
          the container's engine (V(docker), V(podman), or empty), C(unit) the unit around a container, which would start it again.
      type: dict
      returned: always
      sample: {kind: unit, name: ovn-ovsdb-server-nb.service, runtime: "", unit: ""}
    container:
      description:
        - V(null) if it does not run in a container. Else C(name), restart C(policy), C(units) that start the container, and C(problem), why it cannot be
          ended and kept from coming back; empty if it can.
      type: dict
      returned: always
      sample: {name: ovn_nb_db, policy: unless-stopped, units: [kolla-ovn_nb_db-container.service], problem: ""}
    own:
      description: Whether a unit of this collection runs it.
      type: bool
      returned: always
    file:
      description: Database file as the process sees it; empty for northd.
      type: str
      returned: always
      sample: /var/lib/ovn/ovnnb_db.db
    root:
      description: How its files are reached from the host while it runs, if it has a root directory of its own; else empty.
      type: str
      returned: always
      sample: ""
    clustered:
      description: Whether the file is that of a Raft member.
      type: bool
      returned: always
    control_socket:
      description: Control socket, for C(ovs-appctl -t).
      type: str
      returned: always
      sample: /run/ovn/ovnnb_db.ctl
    sockets:
      description: Its C(control) socket and the C(database) socket for clients, as the host reaches them while it runs; empty if there is none.
      type: dict
      returned: always
      sample: {control: /run/ovn/ovnnb_db.ctl, database: /run/ovn/ovnnb_db.sock}
    remotes:
      description: Connection methods on the command line. They end with the process.
      type: list
      elements: str
      returned: always
      sample: ["punix:/run/ovn/ovnnb_db.sock", "db:OVN_Northbound,NB_Global,connections", "ptcp:6641:0.0.0.0"]
    connections:
      description: Rows of the Connection table, with C(_uuid), C(target) and, in a Southbound database, C(role).
      type: list
      elements: dict
      returned: always
    address:
      description: Raft address; empty for a standalone database and for northd.
      type: str
      returned: always
      sample: tcp:192.0.2.11:6643
    cluster_id:
      description: Cluster id, empty if there is none.
      type: str
      returned: always
    server_id:
      description: Server id, empty if there is none.
      type: str
      returned: always
    private_key:
      description: File of the private key, from the command line or the SSL table; empty if there is none.
      type: str
      returned: always
    certificate:
      description: File of the certificate.
      type: str
      returned: always
    ca_certificate:
      description: File of the CA certificates.
      type: str
      returned: always
    ca_digests:
      description: SHA-256 of each certificate in RV(daemons[].ca_certificate), in hexadecimal digits.
      type: list
      elements: str
      returned: always
    version:
      description: Version of the running program.
      type: str
      returned: always
      sample: 3.1.0
    state:
      description: V(active), V(standby), V(paused) or V(unreachable) for northd, else empty.
      type: str
      returned: always
    problem:
      description: Why something of it is not known; empty if all is.
      type: str
      returned: always
stopped_northd_units:
  description:
    - With O(stopped_units) the units that do not run now and would start C(ovn-northd) with the host, without those of this collection; otherwise none.
  returned: success
  type: list
  elements: str
  sample: [my-northd.service]
version:
  description: Version of the installed C(ovsdb-server), empty without one.
  returned: success
  type: str
  sample: 3.1.0
missing_files:
  description: Those of O(required_files) that are not there.
  returned: success
  type: list
  elements: str
ca_digests:
  description: SHA-256 of each certificate in O(ca_certificate), in hexadecimal digits; none if it cannot be read.
  returned: success
  type: list
  elements: str
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.daemons import OPTIONS, read_host_daemons
from ..module_utils._machine.commands import Commands


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        result = read_host_daemons(module.params, Commands())
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
