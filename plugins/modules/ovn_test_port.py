#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_test_port
short_description: Plug a test guest into a hypervisor
version_added: "0.1.0"
description:
  - Makes a network namespace with one interface C(eth0), connects it to the integration bridge as a logical port, and waits until C(ovn-controller)
    has installed its flows. To OVN this is the same as a virtual machine.
  - Works with the kernel's and with the userspace datapath. The offload of transmit checksums is switched off, since the userspace datapath may not
    complete them.
  - The namespace is gone after a reboot; the next run makes it again.
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
    platforms: linux
options:
  state:
    description: V(present) makes or repairs the guest, V(absent) removes namespace, interface and port.
    type: str
    choices: [present, absent]
    default: present
  logical_port:
    description: Name of the logical switch port, C(iface-id). Needed for O(state=present).
    type: str
  mac:
    description: MAC address of the guest, the one in the Northbound database. Needed for O(state=present).
    type: str
  address:
    description: Address of the guest with prefix length, like V(198.18.0.1/16) or V(2001:2::1/48). Needed for O(state=present).
    type: str
  mtu:
    description: MTU of the guest's interface, in octets. A Geneve tunnel needs 58 octets more in the underlay, with IPv6 78.
    type: int
    default: 1400
  namespace:
    description: Name of the network namespace.
    type: str
    default: c5c3-ping
  device:
    description: Name of the interface on the bridge, at most 15 characters.
    type: str
    default: c5c3-ping
  bridge:
    description: The integration bridge.
    type: str
    default: br-int
  database:
    description: Local database of Open vSwitch, C(unix:FILE).
    type: str
    default: unix:/run/openvswitch/db.sock
  wait_timeout:
    description: How long to wait for the flows of the port, in seconds.
    type: int
    default: 30
seealso:
  - module: c5c3.ovn.ovn_test_network
  - module: c5c3.ovn.ovn_ping
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Plug a guest into this hypervisor
  c5c3.ovn.ovn_test_port:
    logical_port: c5c3-ping-hypervisor1
    mac: "02:c5:c3:00:00:01"
    address: 198.18.0.1/16

- name: Unplug it
  c5c3.ovn.ovn_test_port:
    state: absent
"""

RETURN = r"""
commands:
  description: Commands of C(ip) that were run, in order. In check mode, those that would be.
  returned: success
  type: list
  elements: str
  sample: ["ip netns add c5c3-ping"]
"""

import dataclasses
import ipaddress
import json
import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import Conflict, InvalidInput, OvnError, Refused, TimedOut
from ..module_utils._connectivity_test import guest
from ..module_utils._connectivity_test.netns import FOLDER, device_up, inside, tx_checksum
from ..module_utils._machine.commands import Commands
from ..module_utils._ovsdb.endpoint import parse_endpoint
from ..module_utils._ovsdb.rows import transact
from ..module_utils._ovsdb.tls_files import TlsFiles
from ..module_utils._ovsdb.wire import Connection


class GuestPort:
    """One guest on this host. Of `module` it uses params and check_mode."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        p = module.params
        self.desired = guest.Guest(
            p["namespace"], p["device"], (p["mac"] or "").lower(), _address(p["address"]), p["mtu"]
        )
        self.commands: list[list[str]] = []
        self._host = Commands()
        self._milliseconds = p["wait_timeout"] * 1000

    def _ip(self, *arguments: str) -> str:
        code, out, err = self._host.run([self._host.find("ip") or "ip", *arguments])
        if code != 0:
            raise Refused(f"`ip {' '.join(arguments)}` failed: {(err or out).strip()}")
        return out

    def _actual(self) -> guest.ActualGuest:
        present = os.path.exists(f"{FOLDER}/{self.desired.namespace}")
        link = None
        if present:
            link = guest.parse_link(
                json.loads(self._ip("-netns", self.desired.namespace, "-json", "-details", "address", "show") or "[]")
            )
        up = device_up(self.desired.device)
        return guest.ActualGuest(present, up is not None, bool(up), link)

    def _change_guest(self, commands: list[list[str]]) -> None:
        self.commands = commands
        if not self.module.check_mode:
            for command in commands:
                self._ip(*command)

    def _change_port(self, connection: Connection, operations: list[guest.Operation]) -> None:
        """Write, and wait until ovs-vswitchd has done it."""
        if not operations or self.module.check_mode:
            return
        comment = {"op": "comment", "comment": "c5c3.ovn.ovn_test_port"}
        answers = transact(connection, guest.DATABASE, [*operations, comment, *guest.next_configuration()])
        number = answers[-1]["rows"][0]["next_cfg"]
        try:
            transact(connection, guest.DATABASE, [guest.configuration_wait(number, self._milliseconds)])
        except Conflict as e:  # the wait operation "timed out"
            raise TimedOut(
                f"ovs-vswitchd did not take over the change of port {self.desired.device} within {self._milliseconds / 1000:g} s. "
                "Does it run? See /var/log/openvswitch/ovs-vswitchd.log."
            ) from e

    def _offload_off(self) -> bool:
        """Switch the offload off, except in check mode; return whether it was on."""
        if self.module.check_mode and self.commands:
            return False  # the namespace may not be there yet
        with inside(self.desired.namespace):
            if not tx_checksum(guest.GUEST_DEVICE):
                return False
            return self.module.check_mode or not tx_checksum(guest.GUEST_DEVICE, False)

    def run(self) -> dict[str, t.Any]:
        p = self.module.params
        endpoint = parse_endpoint(p["database"])
        with Connection(endpoint, TlsFiles(), Deadline(guest.ANSWER_SECONDS + 3 * p["wait_timeout"])) as connection:
            answers = transact(connection, guest.DATABASE, guest.port_queries(p["bridge"], p["device"]))
            port = guest.actual_port(p["bridge"], answers)
            if p["state"] == "absent":
                operations = guest.port_removal(p["bridge"], port)
                self._change_port(connection, operations)
                self._change_guest(guest.guest_removal(self.desired, self._actual()))
                offload = False
            else:
                operations = guest.port_operations(p["bridge"], p["device"], p["logical_port"], port)
                commands = guest.guest_commands(self.desired, self._actual())
                if guest.makes_device(commands) and port.port:
                    # The userspace datapath keeps a device that is gone: remove its port before a new device gets the name.
                    self._change_port(connection, guest.port_removal(p["bridge"], port))
                    port = dataclasses.replace(port, port=None, holder=None, interface=None)
                    operations = guest.port_operations(p["bridge"], p["device"], p["logical_port"], port)
                self._change_guest(commands)
                offload = self._offload_off()
                self._change_port(connection, operations)
                if not self.module.check_mode:
                    self._wait(connection)
        return {
            "changed": bool(operations or self.commands or offload),
            "commands": [f"ip {' '.join(c)}" for c in self.commands],
        }

    def _wait(self, connection: Connection) -> None:
        p = self.module.params
        try:
            transact(connection, guest.DATABASE, [guest.installed_wait(p["device"], self._milliseconds)])
        except Conflict as e:  # the wait operation "timed out"
            raise TimedOut(
                f"ovn-controller did not install the flows of logical port {p['logical_port']} within {p['wait_timeout']} s. Does the port exist in the "
                "Northbound database, is this chassis registered, is br-int's datapath usable? See /var/log/ovn/ovn-controller.log."
            ) from e


def _address(text: str | None) -> str:
    if not text:
        return ""
    try:
        return str(ipaddress.ip_interface(text))
    except ValueError as e:
        raise InvalidInput(f'address: "{text}" is not an IP address with a prefix length, like 198.18.0.1/16.') from e


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "logical_port": {"type": "str"},
            "mac": {"type": "str"},
            "address": {"type": "str"},
            "mtu": {"type": "int", "default": 1400},
            "namespace": {"type": "str", "default": "c5c3-ping"},
            "device": {"type": "str", "default": "c5c3-ping"},
            "bridge": {"type": "str", "default": "br-int"},
            "database": {"type": "str", "default": "unix:/run/openvswitch/db.sock"},
            "wait_timeout": {"type": "int", "default": 30},
        },
        required_if=[("state", "present", ("logical_port", "mac", "address"))],
        supports_check_mode=True,
    )
    try:
        module.exit_json(**GuestPort(module).run())
    except OvnError as e:
        module.fail_json(**e.as_result())


if __name__ == "__main__":
    main()
