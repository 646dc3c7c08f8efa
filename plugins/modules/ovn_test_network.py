#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_test_network
short_description: Keep a small logical switch for connectivity tests
version_added: "0.1.0"
description:
  - Makes one logical switch with ports in the Northbound database, in one transaction, or takes it away.
  - Together with M(c5c3.ovn.ovn_test_port) and M(c5c3.ovn.ovn_ping) it proves that packets travel between hypervisors.
  - Its rows carry a mark in their C(external_ids). Rows without it are never touched, so it can live beside Neutron's networks.
  - The switch is connected to nothing, so its addresses may be in use elsewhere.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_groups
  - c5c3.ovn._kubernetes_auth
  - c5c3.ovn._ovsdb
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
  state:
    description: V(present) makes what is missing, V(absent) removes the switch and all of its ports.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Name of the logical switch.
    type: str
    default: c5c3-ping
  ports:
    description: Ports that have to exist. Other ports of the switch stay, so a run for a part of the hypervisors does no harm.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the logical port, unique in the whole database.
        type: str
        required: true
      mac:
        description: MAC address, six pairs of hexadecimal digits.
        type: str
        required: true
      ip:
        description: IPv4 or IPv6 address without prefix length.
        type: str
        required: true
  northbound:
    description:
      - Endpoints of the Northbound database, C(unix:FILE), C(ssl:HOST:PORT) or C(tcp:HOST:PORT), IPv6 in brackets. The first one that answers is used.
      - The default is the distribution's socket of the member on this host.
    type: list
    elements: str
    default: ["unix:/run/ovn/ovnnb_db.sock"]
  client:
    description:
      - V(ovsdbapp) writes with the Northbound commands of this Python library, which the managed host must have.
      - V(json_rpc) speaks JSON-RPC (RFC 7047) with nothing but Python. It is for hypervisors, which do not have the library, and writes the same.
    type: str
    choices: [ovsdbapp, json_rpc]
    default: ovsdbapp
  cluster:
    description:
      - Name of an C(OVNCluster). A command in a pod of its Northbound database writes then, instead of a connection to O(northbound) - it needs no key,
        and no port has to be reachable.
      - The control node runs the module then.
    type: str
  namespace:
    description: Namespace of O(cluster).
    type: str
    default: ovn-system
  timeout:
    description: Time for the whole task, in seconds.
    type: int
    default: 30
requirements:
  - "With O(cluster): kubernetes (PyPI) on the control node."
  - "On the managed host, with O(client=ovsdbapp): the Python libraries C(ovsdbapp) >= 2.1.0 and C(ovs) (Debian: C(python3-ovsdbapp))."
seealso:
  - module: c5c3.ovn.ovn_test_port
  - module: c5c3.ovn.ovn_ping
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Create the test network
  c5c3.ovn.ovn_test_network:
    ports:
      - {name: c5c3-ping-hypervisor1, mac: "02:c5:c3:00:00:01", ip: 198.18.0.1}
      - {name: c5c3-ping-hypervisor2, mac: "02:c5:c3:00:00:02", ip: 198.18.0.2}

- name: Remove it
  c5c3.ovn.ovn_test_network:
    state: absent

- name: Remove it from the databases of an OVNCluster
  c5c3.ovn.ovn_test_network:
    state: absent
    cluster: ovn
    kubeconfig: ~/.kube/control-plane
  delegate_to: localhost
"""

RETURN = r"""
written:
  description: What was created, corrected or removed, one sentence each. In check mode, what would be.
  returned: success
  type: list
  elements: str
  sample: ["switch c5c3-ping", "port c5c3-ping-hypervisor1 (02:c5:c3:00:00:01 198.18.0.1)"]
"""

import ipaddress
import re
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import InvalidInput, OvnError
from ..module_utils._connectivity_test.network import DesiredNetwork, Plan, SwitchPort
from ..module_utils._kubernetes.auth import AUTH_ARG_SPEC, hide_only_secrets
from ..module_utils._ovsdb.endpoint import parse_endpoints
from ..module_utils._ovsdb.tls_files import TlsFiles

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


def _port(entry: t.Mapping[str, str]) -> SwitchPort:
    mac = entry["mac"].lower()
    if not _MAC.fullmatch(mac) or int(mac[:2], 16) & 1:
        raise InvalidInput(f'ports: "{entry["mac"]}" is not a unicast MAC address like 02:c5:c3:00:00:01.')
    try:
        address = ipaddress.ip_address(entry["ip"])
    except ValueError as e:
        raise InvalidInput(f'ports: "{entry["ip"]}" is not an IP address.') from e
    return SwitchPort(entry["name"], f"{mac} {address}")


def _desired(params: t.Mapping[str, t.Any]) -> DesiredNetwork:
    present = params["state"] == "present"
    ports = tuple(map(_port, params["ports"])) if present else ()
    names = [port.name for port in ports]
    if not params["name"] or "" in names:
        raise InvalidInput("The test network and each of its ports need a name: it is empty in name or ports.")
    if len(set(names)) < len(names):
        raise InvalidInput(f"ports: a port is there twice. Give each its own name: {', '.join(names)}.")
    return DesiredNetwork(params["name"], ports, present)


def _converge(params: dict[str, t.Any], desired: DesiredNetwork, check_mode: bool) -> Plan:
    deadline = Deadline(params["timeout"])
    # The libraries of the one cost more than all the rest of the other.
    if params["cluster"]:
        from ..module_utils._connectivity_test.network import converge_on
        from ..module_utils._control_plane.database_pods import DatabasePods
        from ..module_utils._kubernetes.client import Cluster

        pods = DatabasePods(Cluster(params), params["namespace"], params["cluster"], "northbound")
        return pods.ask(lambda connection: converge_on(connection, desired, check_mode), deadline)
    if params["client"] == "json_rpc":
        from ..module_utils._connectivity_test.network import converge
    else:
        from ..module_utils._connectivity_test.network_ovsdbapp import converge
    tls = TlsFiles(params["private_key"], params["certificate"], params["ca_certificate"])
    return converge(parse_endpoints(params["northbound"]), tls, deadline, desired, check_mode)


def _run(params: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    plan = _converge(params, _desired(params), check_mode)
    return {"changed": bool(plan.messages), "written": list(plan.messages)}


def main() -> t.NoReturn:
    port = {
        "name": {"type": "str", "required": True},
        "mac": {"type": "str", "required": True},
        "ip": {"type": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "name": {"type": "str", "default": "c5c3-ping"},
            "ports": {"type": "list", "elements": "dict", "options": port, "default": []},
            "northbound": {"type": "list", "elements": "str", "default": ["unix:/run/ovn/ovnnb_db.sock"]},
            "client": {"type": "str", "choices": ["ovsdbapp", "json_rpc"], "default": "ovsdbapp"},
            "cluster": {"type": "str"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "timeout": {"type": "int", "default": 30},
            "private_key": {"type": "path", "no_log": False},
            "certificate": {"type": "path"},
            "ca_certificate": {"type": "path"},
        },
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    try:
        module.exit_json(**_run(module.params, module.check_mode))
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
