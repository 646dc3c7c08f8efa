# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: chassis
short_description: Lists OVN chassis from the Southbound database
version_added: 0.1.0
description:
  - Asks the Southbound database once for all chassis and makes a host of each, with its settings in the variable C(ovn_chassis).
  - The configuration file's name must end with C(ovn_chassis.yml) or C(ovn_chassis.yaml).
  - Everything comes from the database and is never evaluated as a template.
author:
  - C5C3 contributors (@c5c3)
requirements:
  - "On the control node: the Python library C(ovs)."
extends_documentation_fragment:
  - ansible.builtin.constructed
options:
  plugin:
    description: Marks the file as configuration of this plugin.
    type: str
    required: true
    choices: [c5c3.ovn.chassis]
  endpoints:
    description:
      - Members or relays of the Southbound database, each V(ssl:HOST:PORT), V(tcp:HOST:PORT) or V(unix:FILE); IPv6 addresses in brackets.
      - The first one that answers is asked. A member that has lost its cluster is passed over.
    type: list
    elements: str
    required: true
  private_key:
    description: Path of the client's private key (PEM) on the control node. Needed for V(ssl:) endpoints, as the other two.
    type: path
  certificate:
    description: Path of the client's certificate (PEM) on the control node.
    type: path
  ca_certificate:
    description: Path of the certificates (PEM) on the control node that the servers' certificates are checked against.
    type: path
  hostnames:
    description:
      - What becomes the name of the host in the inventory, in order of preference; an empty value is passed over.
      - V(name) is the chassis name (system id), V(hostname) is the host name that the chassis has registered.
      - If two chassis have the same host name, the second one keeps its chassis name.
      - A host that another inventory source has under this name gets the variables in addition to its own.
    type: list
    elements: str
    choices: [name, hostname]
    default: [name]
  timeout:
    description: How long the database may take to answer, in seconds.
    type: int
    default: 10
notes:
  - "C(ovn_chassis) holds C(name), C(hostname), C(encapsulations) (list of C(type), C(ip)), C(bridge_mappings) (list of C(physical_network), C(bridge)),
    C(cms_options) (tokens), C(gateway) (boolean), C(availability_zones), C(transport_zones), C(other_config) (all that the chassis has registered),
    C(nb_cfg) (the last configuration number that it has taken over), C(nb_cfg_timestamp) (milliseconds since 1970 by its own clock) and C(current)
    (C(nb_cfg) equals the newest number of the database)."
  - A chassis writes only after the number in the Northbound database rose. Rows of hosts that are gone stay, with an old C(nb_cfg).
seealso:
  - module: c5c3.ovn.ovn_chassis
"""

EXAMPLES = r"""
# ovn_chassis.yml
plugin: c5c3.ovn.chassis
endpoints: [ssl:192.0.2.11:16642, ssl:192.0.2.12:16642, ssl:192.0.2.13:16642]
private_key: /etc/ovn/tls/client-key.pem
certificate: /etc/ovn/tls/client-cert.pem
ca_certificate: /etc/ovn/tls/ca.pem
hostnames: [hostname, name]
compose:
  ansible_host: ovn_chassis.encapsulations[0].ip
groups:
  ovn_gateways: ovn_chassis.gateway
  stale: not ovn_chassis.current
keyed_groups:
  - prefix: az
    key: ovn_chassis.availability_zones
"""

import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

from ..module_utils._base.databases import DATABASE_NAMES
from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import OvnError
from ..module_utils._chassis.lookup import list_chassis
from ..module_utils._chassis.southbound_rows import DETAILS
from ..module_utils._ovsdb.endpoint import parse_endpoints
from ..module_utils._ovsdb.session import Session
from ..module_utils._ovsdb.tls_files import TlsFiles


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Hosts from the Chassis table. ansible-core treats variables of inventory plugins as untrusted: never as templates."""

    NAME = "c5c3.ovn.chassis"

    def verify_file(self, path: str) -> bool:
        core: t.Any = super()  # its methods carry no types
        return bool(core.verify_file(path)) and path.endswith(("ovn_chassis.yml", "ovn_chassis.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        core: t.Any = super()
        core.parse(inventory, loader, path, cache)
        core._read_config_data(path)
        option: t.Callable[[str], t.Any] = core.get_option
        try:
            chassis = _ask(option)
        except OvnError as e:
            raise AnsibleParserError(f"{path}: {e}") from e
        taken: set[str] = set()  # not inventory.hosts: a host that another source knows by this name is the same host
        for facts in chassis:
            host = self._name(taken, facts, option("hostnames"))
            taken.add(host)
            inventory.add_host(host)
            inventory.set_variable(host, "ovn_chassis", facts)
            variables = {"ovn_chassis": facts}
            for construct, name in (
                (core._set_composite_vars, "compose"),
                (core._add_host_to_composed_groups, "groups"),
                (core._add_host_to_keyed_groups, "keyed_groups"),
            ):
                construct(option(name), variables, host, strict=option("strict"))

    def _name(self, taken: set[str], facts: dict[str, t.Any], kinds: list[str]) -> str:
        name = next((facts[kind] for kind in kinds if facts[kind]), facts["name"])
        if name not in taken:
            return str(name)
        self.display.warning(
            f"Chassis {facts['name']} has the host name of another one, {name}: it keeps its own name."
        )
        return str(facts["name"])


def _ask(option: t.Callable[[str], t.Any]) -> list[dict[str, t.Any]]:
    """All chassis; any member is good enough."""
    tls = TlsFiles(option("private_key"), option("certificate"), option("ca_certificate"))
    deadline = Deadline(option("timeout"))
    name = DATABASE_NAMES["southbound"]
    with Session(
        parse_endpoints(option("endpoints")), name, DETAILS, tls=tls, deadline=deadline, leader_only=False
    ) as session:
        return list_chassis(session.rows)
