# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit that loads the table when a machine starts. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
import typing as t

from .._base.errors import BadAnswer
from .._base.flows import Protocol

# A loaded table as `nft -j` lists it (libnftables-json(5)), in a form that can be compared with the desired one. Pure.

# The table `inet c5c3_ovn` of nftables: which sources may send to which ports. It only ever drops packets to these ports. Pure.

Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

FAMILY, TABLE, CHAIN = "inet", "c5c3_ovn", "input"
_HEADER = "# Written by Ansible: changes are lost. Who may connect to the ports of OVN; other ports and other tables are left alone.\n"
_VERSIONS: tuple[t.Literal[4, 6], ...] = (4, 6)
_SET_NAME = re.compile(r"(tcp|udp)_([0-9]+)_ipv[46]")
_SOURCE = {4: "ip saddr", 6: "ip6 saddr"}


@dataclasses.dataclass(frozen=True)
class PortFilter:
    """One port, and the networks that may send to it."""

    protocol: Protocol
    port: int
    networks: tuple[Network, ...]

    def of_version(self, version: int) -> tuple[Network, ...]:
        """Return the networks of IPv4 or IPv6 without overlaps, in order: nftables refuses intervals that overlap."""
        return collapse(network for network in self.networks if network.version == version)

    @property
    def last_rule(self) -> str:
        return f"{self.protocol} dport {self.port} drop"

    def set_name(self, version: int) -> str:
        return f"{self.protocol}_{self.port}_ipv{version}"


@dataclasses.dataclass(frozen=True)
class Table:
    """A table as nftables has it: sets by name with their networks, chains by name with type, hook, priority and policy, rules in order.

    `other` has, as JSON, what no table of ours has.
    """

    sets: dict[str, tuple[Network, ...]]
    chains: dict[str, str]
    rules: tuple[str, ...]
    other: tuple[str, ...] = ()


def collapse(networks: t.Iterable[Network]) -> tuple[Network, ...]:
    """Return the fewest networks of one version that have the same addresses."""
    # ipaddress types the versions apart, and its function takes either.
    return tuple(ipaddress.collapse_addresses(t.cast("t.Iterable[ipaddress.IPv4Network]", networks)))


def table_of(filters: t.Sequence[PortFilter]) -> Table:
    """Return the table that has these filters and nothing else."""
    rules = ['iif "lo" accept']
    for one in filters:
        port = f"{one.protocol} dport {one.port}"
        rules += [f"{port} {_SOURCE[version]} @{one.set_name(version)} accept" for version in _VERSIONS]
        rules.append(one.last_rule)
    return Table(
        sets={one.set_name(version): one.of_version(version) for one in filters for version in _VERSIONS},
        chains={CHAIN: "type filter hook input priority 0; policy accept;"},
        rules=tuple(rules),
    )


def render_table(table: Table) -> str:
    """Return the table in the language of nft(8)."""
    lines = [f"table {FAMILY} {TABLE} {{"]
    for name, networks in table.sets.items():
        elements = ",\n\t\t\t".join(map(_address, networks))
        lines += [f"\tset {name} {{", f"\t\ttype {name.rpartition('_')[2]}_addr", "\t\tflags interval"]
        lines += [f"\t\telements = {{\n\t\t\t{elements}\n\t\t}}"] if elements else []
        lines.append("\t}")
    for name, properties in table.chains.items():
        lines += [f"\tchain {name} {{", f"\t\t{properties}", *(f"\t\t{rule}" for rule in table.rules), "\t}"]
    lines += [f"\t# {one}" for one in table.other]
    return "\n".join([*lines, "}"]) + "\n"


def render_script(table: Table) -> str:
    """Return a file for `nft -f` that replaces the table in one transaction, whether or not there is one."""
    name = f"{FAMILY} {TABLE}"
    # `destroy` is unknown to nft before 1.0.7: the empty table is there for `delete`.
    return f"{_HEADER}table {name} {{\n}}\ndelete table {name}\n{render_table(table)}"


def narrowed(filters: t.Iterable[PortFilter], loaded: Table | None) -> list[PortFilter]:
    """Return those of the filters that a loaded table lacks, whose ports are open until now: what they leave out is known to nobody yet."""
    sets = loaded.sets if loaded else {}
    return [one for one in filters if not all(one.set_name(version) in sets for version in _VERSIONS)]


def extend(filters: t.Iterable[PortFilter], loaded: Table) -> list[PortFilter]:
    """Return what a loaded table has to become so that it lets all of `filters` in and shuts nobody out that it lets in now.

    A port without a filter in the loaded table is open, and stays so.
    """
    extended = []
    for one in filters:
        names = [one.set_name(version) for version in _VERSIONS]
        if all(name in loaded.sets for name in names):
            networks = [network for name in names for network in loaded.sets[name]]
            extended.append(dataclasses.replace(one, networks=(*one.networks, *networks)))
    return extended


def undeclared(filters: t.Iterable[PortFilter], loaded: Table) -> list[PortFilter]:
    """Return what a loaded table has for ports that `filters` leave out, in the order of its rules."""
    declared = {(one.protocol, one.port) for one in filters}
    found: dict[tuple[Protocol, int], list[Network]] = {}
    for name, networks in loaded.sets.items():
        match = _SET_NAME.fullmatch(name)
        key = (t.cast("Protocol", match[1]), int(match[2])) if match else None
        if key and key not in declared:
            found.setdefault(key, []).extend(networks)
    kept = [PortFilter(protocol, port, tuple(networks)) for (protocol, port), networks in found.items()]
    return sorted(kept, key=lambda one: loaded.rules.index(one.last_rule) if one.last_rule in loaded.rules else -1)


def _address(network: Network) -> str:
    """Return a network as nft lists it: a single address without its length."""
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)


Json = dict[str, t.Any]


def has_table(text: str) -> bool:
    """Return whether the answer of `nft -j list tables` has our table."""
    return any(
        one["table"].get("family") == FAMILY and one["table"].get("name") == TABLE
        for one in _objects(text)
        if "table" in one
    )


def parse_table(text: str) -> Table:
    """Return the table in the answer of `nft -j list table`. What no table of ours has is kept as JSON, so that it differs from every desired one."""
    sets: dict[str, tuple[Network, ...]] = {}
    chains: dict[str, str] = {}
    rules: list[str] = []
    other: list[str] = []
    for one in _objects(text):
        if "set" in one and (networks := _networks(one["set"])) is not None:
            sets[one["set"]["name"]] = networks
        elif "chain" in one and "hook" in one["chain"]:
            chain = one["chain"]
            place = f"type {chain['type']} hook {chain['hook']} priority {chain['prio']}"
            chains[chain["name"]] = f"{place}; policy {chain['policy']};"
        elif "rule" in one:
            rules.append(_rule(one["rule"]["expr"]))
        elif "metainfo" not in one and "table" not in one:
            other.append(json.dumps(one, sort_keys=True))
    return Table(sets, chains, tuple(rules), tuple(other))


def _objects(text: str) -> list[Json]:
    try:
        return t.cast("list[Json]", json.loads(text)["nftables"])
    except (ValueError, KeyError, TypeError) as e:
        raise BadAnswer(
            f"The answer of nft cannot be read: {text[:200]!r}. Is it a version with JSON (nft --version)?"
        ) from e


def _networks(a_set: Json) -> tuple[Network, ...] | None:
    """Return the networks of a set; None if it is no set of ours. From nft 1.1.4 on a single flag is no list."""
    if a_set.get("type") not in ("ipv4_addr", "ipv6_addr") or a_set.get("flags") not in (["interval"], "interval"):
        return None
    try:
        return collapse(network for element in a_set.get("elem") or () for network in _element(element))
    except (ValueError, KeyError, TypeError):
        return None


def _element(element: t.Any) -> t.Iterable[Network]:
    if isinstance(element, str):
        return [ipaddress.ip_network(element)]
    if "prefix" in element:
        return [ipaddress.ip_network(f"{element['prefix']['addr']}/{element['prefix']['len']}")]
    first, last = map(ipaddress.ip_address, element["range"])
    return ipaddress.summarize_address_range(t.cast("t.Any", first), t.cast("t.Any", last))


def _rule(expressions: t.Sequence[Json]) -> str:
    return " ".join(map(_expression, expressions))


def _expression(expression: Json) -> str:
    """Return an expression in the language of nft(8) if rules of ours have it, else as JSON."""
    if expression in ({"accept": None}, {"drop": None}):
        return next(iter(expression))
    match = expression.get("match") or {}
    left, right = match.get("left") or {}, match.get("right")
    if match.get("op") == "==" and isinstance(right, (int, str)):
        if left == {"meta": {"key": "iif"}}:
            return f'iif "{right}"'
        payload = left.get("payload") or {}
        if set(payload) == {"protocol", "field"}:
            return f"{payload['protocol']} {payload['field']} {right}"
    return json.dumps(expression, sort_keys=True)


FILE = "/etc/c5c3-ovn/firewall.nft"
UNIT = "c5c3-ovn-firewall.service"
_TEXT = f"""\
# Written by Ansible: changes are lost.
[Unit]
Description=Firewall rules for the ports of OVN
Documentation=man:nft(8)
ConditionPathExists={FILE}
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target network-pre.target
Wants=network-pre.target
Before=c5c3-ovn-northbound.service c5c3-ovn-southbound.service c5c3-ovn-southbound-relay.service c5c3-ovn-controller.service
# Its configuration usually begins with "flush ruleset", which deletes all tables, also when it is only reloaded.
After=nftables.service
PartOf=nftables.service
ReloadPropagatedFrom=nftables.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {FILE}
ExecReload=/usr/sbin/nft -f {FILE}
ExecStop=-/usr/sbin/nft delete table {FAMILY} {TABLE}
CapabilityBoundingSet=CAP_NET_ADMIN CAP_DAC_READ_SEARCH
NoNewPrivileges=yes
ProtectHome=yes
ProtectSystem=full

[Install]
WantedBy=sysinit.target nftables.service
"""


def unit_files(*, managed: bool) -> list[dict[str, str]]:
    """Return the files of the unit, in the form of `ovn_units`."""
    path = f"/etc/systemd/system/{UNIT}"
    return [{"path": path, "content": _TEXT} if managed else {"path": path, "state": "absent"}]


def units(*, managed: bool) -> list[dict[str, t.Any]]:
    """Return the state of the unit, in the form of `ovn_units`. Where it is stopped it has deleted the table."""
    return [{"name": UNIT, "enabled": managed, "state": "started" if managed else "stopped"}]
