"""A Northbound database as OpenStack fills it, of any size, the same for the same seed.

A project is a router with a floating network, four networks with DHCP, security groups (port groups with ACLs and an address set)
and the ports of its instances; all of it is one transaction. The port group that drops what no rule allows names every port.

`python tests/integration/_cloud.py --ports 100000 --socket unix:/run/ovn/ovnnb_db.sock` fills a running database.
"""

from __future__ import annotations

import argparse
import random
import time
import typing as t
import uuid

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import Endpoint, parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import Operation, encode_map, transact
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

PORTS_OF_PROJECT = 400
NETWORKS_OF_PROJECT = 4
GROUPS_OF_PROJECT = 8
DROP_GROUP = "neutron_pg_drop"
_ANSWER_SECONDS = 120.0


class Counts(t.NamedTuple):
    """Rows of the tables that a cloud fills."""

    ports: int
    switches: int
    routers: int
    port_groups: int
    acls: int


def fill(endpoint: Endpoint, ports: int, seed: int = 1) -> float:
    """Write the cloud into an empty Northbound database; return the seconds that it took.

    A server repeats a transaction that an election cut off, also one that was committed. Names are unique, so the repetition fails, and the
    last row of the transaction says which of both happened.
    """
    started = time.monotonic()
    for operations in transactions(ports, seed):
        while True:
            try:
                with Connection(endpoint, TlsFiles(), Deadline(_ANSWER_SECONDS)) as connection:
                    transact(connection, "OVN_Northbound", operations)
            except (Conflict, TimedOut):
                if not _committed(endpoint, operations):
                    continue
            break
    return time.monotonic() - started


def _committed(endpoint: Endpoint, operations: list[Operation]) -> bool:
    name = [
        operation["row"]["name"]
        for operation in operations
        if operation.get("table") == "Port_Group" and "row" in operation
    ][-1]
    select = {"op": "select", "table": "Port_Group", "where": [["name", "==", name]], "columns": ["name"]}
    with Connection(endpoint, TlsFiles(), Deadline(_ANSWER_SECONDS)) as connection:
        return bool(transact(connection, "OVN_Northbound", [select])[0]["rows"])


def transactions(ports: int, seed: int = 1) -> t.Iterator[list[Operation]]:
    """The operations of each transaction: the drop group, then project after project until there are so many ports of instances."""
    chance = random.Random(seed)
    yield _drop_group()
    for project, first in enumerate(range(0, ports, PORTS_OF_PROJECT)):
        yield _Project(chance, project, min(PORTS_OF_PROJECT, ports - first)).operations()


def count(endpoint: Endpoint) -> Counts:
    """What a database holds of it; ports are those of instances."""
    tables = ("Logical_Switch_Port", "Logical_Switch", "Logical_Router", "Port_Group", "ACL")
    with Connection(endpoint, TlsFiles(), Deadline(_ANSWER_SECONDS)) as connection:
        answers = transact(
            connection,
            "OVN_Northbound",
            [
                {
                    "op": "select",
                    "table": table,
                    "where": [["type", "==", ""]] if table == "Logical_Switch_Port" else [],
                    "columns": ["_uuid"],
                }
                for table in tables
            ],
        )
    return Counts(*(len(answer["rows"]) for answer in answers))


def _named(*names: str) -> list[t.Any]:
    return ["set", [["named-uuid", name] for name in names]]


def _insert(table: str, name: str, row: dict[str, t.Any]) -> Operation:
    return {"op": "insert", "table": table, "uuid-name": name, "row": row}


def _acl(name: str, direction: str, match: str, action: str = "allow-related", priority: int = 1002) -> Operation:
    ids = encode_map({"neutron:security_group_rule_id": name})
    return _insert(
        "ACL",
        name,
        {"direction": direction, "match": match, "action": action, "priority": priority, "external_ids": ids},
    )


def _drop_group() -> list[Operation]:
    return [
        _acl("drop_in", "to-lport", f"outport == @{DROP_GROUP} && ip", "drop", 1001),
        _acl("drop_out", "from-lport", f"inport == @{DROP_GROUP} && ip", "drop", 1001),
        _insert("Port_Group", "drop_group", {"name": DROP_GROUP, "acls": _named("drop_in", "drop_out")}),
    ]


class _Project:
    """One project's objects; names of rows count up within its transaction, names in columns are identifiers as OpenStack makes them."""

    def __init__(self, chance: random.Random, number: int, ports: int) -> None:
        self.chance, self.number, self.ports = chance, number, ports
        self.id = self._id().replace("-", "")
        self.groups = [self._id().replace("-", "_") for _group in range(GROUPS_OF_PROJECT)]
        self.members: list[list[str]] = [[] for _group in self.groups]
        self.addresses: list[list[str]] = [[] for _group in self.groups]
        self.done: list[Operation] = []

    def _id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def _mac(self) -> str:
        return "fa:16:3e:" + ":".join(f"{self.chance.getrandbits(8):02x}" for _octet in range(3))

    def operations(self) -> list[Operation]:
        router_ports, floating = [], list[str]()
        for network in range(NETWORKS_OF_PROJECT):
            share = range(network, self.ports, NETWORKS_OF_PROJECT)
            if share:
                router_ports.append(self._network(network, share, floating))
        self._router(router_ports, floating)
        for number, name in enumerate(self.groups):
            self._group(number, name)
        every = [port for members in self.members for port in members]
        where = [["name", "==", DROP_GROUP]]
        self.done.append(
            {"op": "mutate", "table": "Port_Group", "where": where, "mutations": [["ports", "insert", _named(*every)]]}
        )
        return self.done

    def _network(self, network: int, share: t.Sequence[int], floating: list[str]) -> str:
        subnet, name = f"10.{self.number % 250}.{network}", f"neutron-{self._id()}"
        options = {"lease_time": "43200", "mtu": "1442", "router": f"{subnet}.1", "server_id": f"{subnet}.1"}
        options["server_mac"] = self._mac()
        ids = encode_map({"subnet_id": self._id(), "neutron:revision_number": "0"})
        self.done.append(
            _insert(
                "DHCP_Options",
                f"dhcp{network}",
                {"cidr": f"{subnet}.0/24", "options": encode_map(options), "external_ids": ids},
            )
        )
        ports = [self._port(number, host, subnet, network, name, floating) for host, number in enumerate(share, 10)]
        gateway = self._id()
        self.done.append(
            _insert(
                "Logical_Router_Port",
                f"lrp{network}",
                {"name": f"lrp-{gateway}", "mac": self._mac(), "networks": f"{subnet}.1/24"},
            )
        )
        to_router = {"name": gateway, "type": "router", "addresses": "router"}
        to_router["options"] = encode_map({"router-port": f"lrp-{gateway}"})
        self.done.append(_insert("Logical_Switch_Port", f"gw{network}", to_router))
        row = {"name": name, "ports": _named(*ports, f"gw{network}")}
        row["external_ids"] = encode_map(
            {"neutron:mtu": "1442", "neutron:network_name": f"net-{self.number}-{network}"}
        )
        row["other_config"] = encode_map({"mcast_snoop": "false", "vlan-passthru": "false"})
        self.done.append(_insert("Logical_Switch", f"ls{network}", row))
        return f"lrp{network}"

    def _port(self, number: int, host: int, subnet: str, network: int, switch: str, floating: list[str]) -> str:
        group, address, mac, port = number % GROUPS_OF_PROJECT, f"{subnet}.{host}", self._mac(), self._id()
        ids = {
            "neutron:cidrs": f"{address}/24",
            "neutron:device_id": self._id(),
            "neutron:device_owner": "compute:nova",
            "neutron:network_name": switch,
            "neutron:port_name": f"instance-{self.number}-{number}",
            "neutron:project_id": self.id,
            "neutron:revision_number": "4",
            "neutron:security_group_ids": self.groups[group].replace("_", "-"),
        }
        chassis = f"compute-{self.chance.randrange(500):04d}.example.com"
        row = {
            "name": port,
            "addresses": f"{mac} {address}",
            "port_security": f"{mac} {address}",
            "enabled": True,
            "up": True,
            "dhcpv4_options": ["named-uuid", f"dhcp{network}"],
            "options": encode_map({"requested-chassis": chassis, "mcast_flood_reports": "true"}),
            "external_ids": encode_map(ids),
        }
        self.done.append(_insert("Logical_Switch_Port", f"p{number}", row))
        self.members[group].append(f"p{number}")
        self.addresses[group].append(address)
        if number % 10 == 0:
            external = f"198.{18 + self.number // 256 % 2}.{self.number % 256}.{10 + number // 10}"
            nat = {"type": "dnat_and_snat", "external_ip": external, "logical_ip": address, "logical_port": port}
            self.done.append(_insert("NAT", f"fip{number}", nat))
            floating.append(f"fip{number}")
        return f"p{number}"

    def _router(self, ports: t.Sequence[str], floating: list[str]) -> None:
        self.done.append(
            _insert(
                "NAT",
                "snat",
                {"type": "snat", "external_ip": f"198.51.{self.number % 256}.2", "logical_ip": "10.0.0.0/8"},
            )
        )
        self.done.append(
            _insert("Logical_Router_Static_Route", "route", {"ip_prefix": "0.0.0.0/0", "nexthop": "198.51.100.1"})
        )
        row = {"name": f"neutron-{self._id()}", "enabled": True, "ports": _named(*ports)}
        row |= {"nat": _named("snat", *floating), "static_routes": _named("route")}
        row["external_ids"] = encode_map({"neutron:router_name": f"router-{self.number}"})
        self.done.append(_insert("Logical_Router", "router", row))

    def _group(self, number: int, name: str) -> None:
        group, addresses = f"pg_{name}", f"as_{name}"
        rules = [
            ("from-lport", f"inport == @{group} && ip4"),
            ("from-lport", f"inport == @{group} && ip6"),
            ("to-lport", f"outport == @{group} && ip4 && ip4.src == ${addresses}"),
            ("to-lport", f"outport == @{group} && ip4 && ip4.src == 0.0.0.0/0 && icmp4"),
            ("to-lport", f"outport == @{group} && ip4 && ip4.src == 0.0.0.0/0 && tcp && tcp.dst == 22"),
            ("to-lport", f"outport == @{group} && ip4 && ip4.src == 0.0.0.0/0 && tcp && tcp.dst == 443"),
        ]
        for position, (direction, match) in enumerate(rules):
            self.done.append(_acl(f"acl{number}_{position}", direction, match))
        acls = _named(*(f"acl{number}_{position}" for position in range(len(rules))))
        self.done.append(
            _insert("Port_Group", f"pg{number}", {"name": group, "acls": acls, "ports": _named(*self.members[number])})
        )
        self.done.append(
            _insert("Address_Set", f"as{number}", {"name": addresses, "addresses": ["set", self.addresses[number]]})
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill an empty Northbound database as OpenStack does.")
    parser.add_argument("--ports", type=int, default=100_000, help="logical ports of instances (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--socket", required=True, help="where the database answers, for example unix:/run/ovn/ovnnb_db.sock"
    )
    given = parser.parse_args()
    endpoint = parse_endpoint(given.socket)
    seconds = fill(endpoint, given.ports, given.seed)
    print(f"{count(endpoint)} in {seconds:.1f} s")


if __name__ == "__main__":
    main()
