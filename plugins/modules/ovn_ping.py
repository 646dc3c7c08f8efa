#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_ping
short_description: Measure the way from this hypervisor's test guest to others
version_added: "0.1.0"
description:
  - Sends ICMP echo requests from a network namespace to several addresses at once, in packets of full size that must not be fragmented, so that a too
    small MTU of the underlay shows up.
  - It waits for the first answers before it counts, because the first packets of a new path are often lost while the switches learn addresses.
  - Returns which tunnel leads to each target.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.info_module
attributes:
  platform:
    support: full
    platforms: linux
options:
  source:
    description: Name of this end, for the report.
    type: str
    default: this host
  namespace:
    description: Network namespace to send from. Without it, the namespace of the host itself.
    type: str
  targets:
    description: Where to send to.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the other end, for the report.
        type: str
        required: true
      address:
        description: IPv4 or IPv6 address, of one version for all targets.
        type: str
        required: true
      chassis:
        description: System id of the other end's chassis, to find the tunnel to it.
        type: str
  count:
    description: Number of requests per target.
    type: int
    default: 5
  interval:
    description: Time between two requests, in seconds.
    type: float
    default: 0.1
  packet_size:
    description: Size of the packets with their IP header, in octets.
    type: int
    default: 1400
  reply_timeout:
    description: How long to wait for the last answers, in seconds.
    type: float
    default: 1
  wait_timeout:
    description: How long to wait for the first answer of each target, in seconds.
    type: int
    default: 30
  max_loss:
    description: Highest permitted loss, in percent. The task fails if a target exceeds it; V(100) never fails.
    type: float
    default: 0
  database:
    description: Local database of Open vSwitch, C(unix:FILE), which knows the tunnels. Only used if a target has a C(chassis).
    type: str
    default: unix:/run/openvswitch/db.sock
seealso:
  - module: c5c3.ovn.ovn_test_network
  - module: c5c3.ovn.ovn_test_port
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Ping the guest on the other hypervisor
  c5c3.ovn.ovn_ping:
    source: hypervisor1
    namespace: c5c3-ping
    targets:
      - {name: hypervisor2, address: 198.18.0.2, chassis: hypervisor2}
"""

RETURN = r"""
ok:
  description: Whether no target exceeded O(max_loss).
  returned: always
  type: bool
  sample: true
results:
  description: One entry per target, in their order. Round trips are in milliseconds, null without any answer.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the target.
      type: str
      sample: hypervisor2
    address:
      description: Address of the target.
      type: str
      sample: 198.18.0.2
    sent:
      description: Number of requests.
      type: int
      sample: 5
    received:
      description: Number of answers.
      type: int
      sample: 5
    loss:
      description: Loss in percent.
      type: float
      sample: 0.0
    rtt_min:
      description: Shortest round trip.
      type: float
      sample: 0.31
    rtt_avg:
      description: Average round trip.
      type: float
      sample: 0.42
    rtt_max:
      description: Longest round trip.
      type: float
      sample: 0.6
    tunnel:
      description: The tunnel that leads to the target's chassis, null if there is none, for example on the same host.
      type: dict
      sample: {"type": "geneve", "interface": "ovn0-hyperv-0", "remote_ip": "172.31.0.22"}
report:
  description: The results in one line per target.
  returned: always
  type: list
  elements: str
  sample: ["hypervisor1 -> hypervisor2: 5 of 5 answers, 0.42 ms (0.31 to 0.60), 1400 octets, geneve tunnel to 172.31.0.22"]
"""

import ipaddress
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import InvalidInput, OvnError
from ..module_utils._connectivity_test import tunnels
from ..module_utils._connectivity_test.guest import ANSWER_SECONDS
from ..module_utils._connectivity_test.icmp import HEADER, Tally, report_line, version_of
from ..module_utils._connectivity_test.netns import Pinger, inside
from ..module_utils._ovsdb.endpoint import parse_endpoint
from ..module_utils._ovsdb.rows import transact
from ..module_utils._ovsdb.tls_files import TlsFiles
from ..module_utils._ovsdb.wire import Connection

_LARGEST = 65535


def _checked(params: t.Mapping[str, t.Any]) -> None:
    versions = set()
    for target in params["targets"]:
        try:
            versions.add(ipaddress.ip_address(target["address"]).version)
        except ValueError as e:
            raise InvalidInput(f'targets: "{target["address"]}" is not an IP address.') from e
    if len(versions) > 1:
        raise InvalidInput("targets: IPv4 and IPv6 cannot be mixed, packets of one size differ. Use two tasks.")
    smallest = version_of(target["address"] for target in params["targets"]).ip_header + HEADER
    if not smallest <= params["packet_size"] <= _LARGEST:
        raise InvalidInput(f"packet_size: {params['packet_size']} is not between {smallest} and {_LARGEST} octets.")
    if params["count"] < 1:
        raise InvalidInput(f"count: {params['count']} requests prove nothing; at least 1 is needed.")


def _tunnels(params: t.Mapping[str, t.Any]) -> dict[str, tunnels.Tunnel]:
    """Return the tunnel to each chassis that a target names."""
    chassis = sorted({target["chassis"] for target in params["targets"] if target["chassis"]})
    if not chassis:
        return {}
    with Connection(parse_endpoint(params["database"]), TlsFiles(), Deadline(ANSWER_SECONDS)) as connection:
        interfaces = tunnels.parse_interfaces(transact(connection, "Open_vSwitch", tunnels.interface_queries()))
        return tunnels.by_chassis(
            chassis, interfaces, transact(connection, "Open_vSwitch", tunnels.port_queries(interfaces))
        )


def _run(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    _checked(params)
    by_chassis = _tunnels(params)
    # As answers name them: IPv6 addresses can be written in several ways.
    places = [str(ipaddress.ip_address(target["address"])) for target in params["targets"]]
    addresses = list(dict.fromkeys(places))
    with inside(params["namespace"]), Pinger(addresses, params["packet_size"]) as pinger:
        silent = pinger.wait_for_first_answers(Deadline(params["wait_timeout"])) if addresses else set()
        pinger.addresses = [address for address in addresses if address not in silent]
        tallies = pinger.measure(params["count"], params["interval"], params["reply_timeout"])
        problem = pinger.problem
    results = []
    for target, place in zip(params["targets"], places):
        tally = tallies.get(place) or Tally(sent=params["count"])
        tunnel = by_chassis.get(target["chassis"])
        results.append(
            {
                "name": target["name"],
                "address": target["address"],
                **tally.as_result(),
                "tunnel": tunnel.as_result() if tunnel else None,
            }
        )
    report = [report_line(params["source"], result, params["packet_size"]) for result in results]
    bad = [line for line, result in zip(report, results) if result["loss"] > params["max_loss"]]
    answer: dict[str, t.Any] = {"changed": False, "ok": not bad, "results": results, "report": report}
    if bad:
        why = f" The kernel says: {problem}." if problem else ""
        raise OvnError(
            f"{'; '.join(bad)}.{why} Check the tunnel (ovs-appctl ofproto/list-tunnels), UDP port 6081 in firewalls of the underlay, and its MTU: "
            f"a packet of {params['packet_size']} octets needs 58 more there.",
            **answer,
        )
    return answer


def main() -> t.NoReturn:
    target = {
        "name": {"type": "str", "required": True},
        "address": {"type": "str", "required": True},
        "chassis": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "str", "default": "this host"},
            "namespace": {"type": "str"},
            "targets": {"type": "list", "elements": "dict", "options": target, "required": True},
            "count": {"type": "int", "default": 5},
            "interval": {"type": "float", "default": 0.1},
            "packet_size": {"type": "int", "default": 1400},
            "reply_timeout": {"type": "float", "default": 1},
            "wait_timeout": {"type": "int", "default": 30},
            "max_loss": {"type": "float", "default": 0},
            "database": {"type": "str", "default": "unix:/run/openvswitch/db.sock"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**_run(module.params))
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
