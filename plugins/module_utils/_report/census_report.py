# SPDX-License-Identifier: GPL-3.0-or-later
"""What c5c3.ovn.census prints. Pure."""

from __future__ import annotations

import collections
import contextlib
import ipaddress
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import InvalidInput
from .census_rows import WHOLE_OVN, Census, CensusWarning, OwnedRow, named, owners_of, take_census
from .neutron_maintenance import maintenance_warnings
from .neutron_sync import parse_mode, sync_warnings
from .owner_marks import KUBE_OVN, NEUTRON, OURS, OWNERS, UNKNOWN, family, owner_by_mark, owner_by_name

# Names and addresses that two owners use, and names that another owner would take for its own. Pure.

# Which ports of routers share a switch, and which can reach one another through switches and routers. Pure.


class _Union:
    """Sets of keys that grow together."""

    def __init__(self) -> None:
        self._parent: dict[t.Hashable, t.Hashable] = {}

    def find(self, key: t.Hashable) -> t.Hashable:
        path = []
        while (parent := self._parent.get(key, key)) != key:
            path.append(key)
            key = parent
        self._parent.update(dict.fromkeys(path, key))
        return key

    def join(self, one: t.Hashable, other: t.Hashable) -> None:
        self._parent[self.find(one)] = self.find(other)


class Segments:
    """Switches whose localnet ports name the same physical network and VLAN are one segment, because packets pass between them."""

    def __init__(self, census: Census) -> None:
        self._segments, self._components = _Union(), _Union()
        for port in census.of("Logical_Switch_Port"):
            options: t.Mapping[str, str] = port.row["options"] or {}
            for switch in port.holders:
                if port.row["type"] == "localnet":
                    self._connect(switch, ("physical network", options.get("network_name"), port.row["tag"]))
                elif port.row["type"] == "router" and "router-port" in options:
                    self._connect(switch, ("port", options["router-port"]))
        for port in census.of("Logical_Router_Port"):
            if port.row["peer"]:
                self._connect(("port", port.name), ("port", port.row["peer"]))
            for router in port.holders:
                self._components.join(("port", port.name), router)

    def _connect(self, one: t.Hashable, other: t.Hashable) -> None:
        self._segments.join(one, other)
        self._components.join(one, other)

    def segment(self, port: OwnedRow) -> t.Hashable:
        """Return a key that is equal for ports on one segment."""
        return self._segments.find(("port", port.name))

    def component(self, port: OwnedRow) -> t.Hashable:
        """Return a key that is equal for ports that can reach one another."""
        return self._components.find(("port", port.name))


# The schema has no index for these names; clients find a row by its name all the same.
_NOT_UNIQUE = ("Logical_Switch", "Logical_Router", "Load_Balancer")


def clash_warnings(census: Census) -> list[CensusWarning]:
    return [
        *_same_names(census),
        *_shared_switches(census),
        *_ports_of_both_kinds(census),
        *_implicit_sets(census),
        *_schemes(census),
        *_same_addresses(census),
    ]


def _apart(rows: t.Iterable[OwnedRow]) -> bool:
    """Return whether the rows may have different owners; of two unknown rows nobody knows."""
    rows = list(rows)
    families = {row.family for row in rows}
    return len(rows) > 1 and (len(families) > 1 or UNKNOWN in families)


def _told(rows: t.Iterable[OwnedRow]) -> str:
    return ", ".join(f"{row.table} {row.name} of {row.owner} ({row.uuid})" for row in rows)


def _same_names(census: Census) -> t.Iterator[CensusWarning]:
    for table in _NOT_UNIQUE:
        named = collections.defaultdict(list)
        for row in census.of(table):
            named[row.name].append(row)
        for name, rows in named.items():
            if _apart(rows):
                yield CensusWarning(
                    f"{table} {name}",
                    f"{len(rows)} rows have this name: {_told(rows)}. Who looks for it by name may change or delete the other one.",
                    "Rename one of them in the system that owns it.",
                )


def _shared_switches(census: Census) -> t.Iterator[CensusWarning]:
    """kube-ovn takes a switch that has the name of one of its subnets, whoever made it."""
    ports = collections.defaultdict(list)
    for port in census.of("Logical_Switch_Port"):
        for holder in port.holders:
            ports[holder].append(port)
    for switch in census.of("Logical_Switch"):
        if len({port.family for port in ports[switch.uuid]} - {UNKNOWN}) > 1:
            yield CensusWarning(
                f"Logical_Switch {switch.name}",
                f"It has ports of several owners: {owners_of(ports[switch.uuid])}. Who deletes the switch deletes the ports of the others.",
                "Give the network of one of them another name in the system that owns it.",
            )


def _of_one_name(rows: t.Iterable[OwnedRow], others: t.Mapping[str, OwnedRow]) -> t.Iterator[tuple[OwnedRow, OwnedRow]]:
    """Return each row with the one of `others` (by name) that has its name, if they may have different owners."""
    for row in rows:
        other = others.get(row.name)
        if other and _apart([row, other]):
            yield row, other


def _ports_of_both_kinds(census: Census) -> t.Iterator[CensusWarning]:
    routers = {row.name: row for row in census.of("Logical_Router_Port")}
    for row, other in _of_one_name(census.of("Logical_Switch_Port"), routers):
        yield CensusWarning(
            f"port {row.name}",
            f"A switch and a router have a port of this name: {_told([row, other])}. northd gives one of them no Port_Binding.",
            "Rename one of them in the system that owns it.",
        )


def _implicit_sets(census: Census) -> t.Iterator[CensusWarning]:
    groups = {f"{row.name}_ip{version}": row for row in census.of("Port_Group") for version in (4, 6)}
    for row, group in _of_one_name(census.of("Address_Set"), groups):
        yield CensusWarning(
            f"Address_Set {row.name}",
            f"northd makes a set of the same name of a port group: {_told([row, group])}. Rules of one owner match addresses of the other.",
            "Rename one of them in the system that owns it.",
        )


def _schemes(census: Census) -> t.Iterator[CensusWarning]:
    for row in census.rows:
        scheme = owner_by_name(row.table, row.name)
        marked = owner_by_mark(row.table, row.row)
        if UNKNOWN not in (scheme, marked) and family(scheme) != family(marked):
            yield CensusWarning(
                f"{row.table} {row.name}",
                f"It is marked as {marked}'s, and {scheme} makes such names ({row.uuid}). Tools of {scheme} that go by names take it for theirs.",
                f"Rename it in {marked}.",
            )


def _interfaces(texts: t.Iterable[str]) -> t.Iterator[ipaddress.IPv4Interface | ipaddress.IPv6Interface]:
    """Return what is an address; OVN's schema takes any text, and what is none clashes with nothing."""
    for text in texts:
        with contextlib.suppress(ValueError):
            yield ipaddress.ip_interface(text)


def _same_addresses(census: Census) -> t.Iterator[CensusWarning]:
    """Only of ports whose networks are connected: two tenants may have the same addresses apart from each other."""
    segments = Segments(census)
    by_mac, by_address, by_network = (collections.defaultdict[t.Any, list[OwnedRow]](list) for _number in range(3))
    for row in census.of("Logical_Router_Port"):
        segment, component = segments.segment(row), segments.component(row)
        by_mac[segment, row.row["mac"].lower()].append(row)
        for interface in _interfaces(row.row["networks"]):
            if not interface.ip.is_link_local:
                by_address[component, interface.ip].append(row)
                by_network[component, interface.network].append(row)
    for kind, found in (("MAC address", by_mac), ("address", by_address)):
        for (_where, value), rows in found.items():
            if _apart(rows):
                yield CensusWarning(
                    f"{kind} {value}",
                    f"{_told(rows)} have it, and their networks are connected.",
                    f"Give one of them another {kind} in the system that owns it.",
                )
    for (_component, network), rows in by_network.items():
        if _apart(rows) and len({segments.segment(row) for row in rows}) > 1:
            yield CensusWarning(
                f"network {network}",
                f"{_told(rows)} are in it on different switches, and their routers are connected.",
                "Give one of them another network in the system that owns it.",
            )


# What kube-ovn's controller does to rows of other owners. Pure. Source: pkg/controller/gc.go and init.go, pkg/ovs/ovn-nb-acl.go and ovn-nb_global.go, read in
# the releases 1.12.35, 1.13.15, 1.14.41, 1.15.24 and 1.16.2; 1.13.15 and 1.16.2 were run beside rows of all owners. The garbage collection works at each
# start of the controller, that of ports again and again. Which settings kube-ovn has is not in the database, so a warning names the setting on which it
# depends.

_OPTIONS = ("ls_ct_skip_dst_lport_ips", "ls_dnat_mod_dl_dst", "use_ct_inv_match")
_COLLECT_NOTHING = "Set GC_INTERVAL=0 of kube-ovn (--gc-interval): then it collects nothing, its own leftovers neither."


def kube_ovn_warnings(census: Census) -> list[CensusWarning]:
    """Return a warning for each kind of rows of others that kube-ovn deletes or writes. Ours are among them: the network of c5c3.ovn.ping."""
    others = [row for row in census.rows if row.table not in WHOLE_OVN and row.owner != KUBE_OVN]
    if KUBE_OVN not in census.families or not others:
        return []
    of = {table: [row for row in others if row.table == table] for table in {row.table for row in others}}
    ports = [row for row in of.get("Logical_Switch_Port", []) if row.row["type"] == ""]
    return [
        *_without_external_vpc([of.get("Logical_Switch", []), of.get("Logical_Router", []), ports]),
        *_load_balancers(of.get("Load_Balancer", [])),
        *_acls(of.get("ACL", [])),
        *_older_releases(of.get("ACL", []), of.get("Port_Group", [])),
        *_chassis([row for row in others if row.owner != OURS]),
        *_whole_ovn(census),
    ]


def _without_external_vpc(kinds: t.Iterable[t.Sequence[OwnedRow]]) -> t.Iterator[CensusWarning]:
    found = [named(rows) for rows in kinds if rows]
    if found:
        yield CensusWarning(
            "kube-ovn without ENABLE_EXTERNAL_VPC",
            f"Its garbage collection deletes {'; '.join(found)}: switches and routers at each start, with all that they have, ports every GC_INTERVAL "
            "(360 s) as well. Its default is false.",
            "Set ENABLE_EXTERNAL_VPC=true of kube-ovn before it starts for the first time.",
        )


def _load_balancers(balancers: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    if balancers:
        yield CensusWarning(
            named(balancers),
            "kube-ovn's garbage collection deletes every load balancer that is not its own at each start, also with ENABLE_EXTERNAL_VPC. "
            "With ENABLE_LB=false releases since 1.15.0 leave them alone, older ones do not.",
            _COLLECT_NOTHING,
        )


def _acls(acls: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    if acls:
        yield CensusWarning(
            named(acls),
            "kube-ovn since 1.13.0 writes tier=2 to every ACL that has tier 0 at each start. Rules that their owner makes later have tier 0, so they are "
            "looked at before these, whatever their priorities are: harmless only where each rule that allows outranks those that drop, as in Neutron's "
            "security groups.",
            "Restart kube-ovn-controller after another owner has made rules, so that all of them have one tier.",
        )


def _older_releases(acls: t.Sequence[OwnedRow], groups: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    found = [f"{named(rows)}{since}" for rows, since in ((acls, ""), (groups, " since 1.13.0")) if rows]
    if found:
        yield CensusWarning(
            "kube-ovn before 1.15.0",
            f"At each start it deletes {'; '.join(found)}.",
            "Update kube-ovn to 1.15.0 or newer.",
        )


def _chassis(others: t.Sequence[OwnedRow]) -> t.Iterator[CensusWarning]:
    if others:
        yield CensusWarning(
            "Chassis of the Southbound database",
            "kube-ovn's garbage collection deletes every chassis that is no node of its Kubernetes cluster at each start, with every setting of "
            "ENABLE_EXTERNAL_VPC: ports on hypervisors and gateways of others have no chassis until ovn-controller has registered these again.",
            _COLLECT_NOTHING,
        )


def _whole_ovn(census: Census) -> t.Iterator[CensusWarning]:
    now = {key: value for row in census.of("NB_Global") for key, value in (row.row["options"] or {}).items()}
    shown = ", ".join(f"{key}={now[key]}" for key in _OPTIONS if key in now) or "all unset"
    yield CensusWarning(
        f"NB_Global options {', '.join(_OPTIONS)}",
        f"They hold for every owner of this OVN, and kube-ovn writes them at each start, and ipsec (now {shown}).",
        "Set them in kube-ovn's configuration (LS_CT_SKIP_DST_LPORT_IPS, LS_DNAT_MOD_DL_DST, ENABLE_OVN_IPSEC) alone.",
    )


def census_lines(
    facts: t.Mapping[str, t.Any], sync_modes: t.Sequence[t.Any] = (), *, operated: bool = True, rows: bool = False
) -> list[str]:
    """Return the lines for a result of ovn_database_info: how many rows each owner has, the warnings, and with `rows` each row.

    `sync_modes` are those that the inventory gives Neutron; `operated` says whether we run these databases.
    """
    tables = facts.get("tables")
    if facts.get("database") != DATABASE_NAMES["northbound"] or not isinstance(tables, t.Mapping):
        raise InvalidInput(
            f"Cannot take a census of {str(facts)[:100]}: it is no result of ovn_database_info with database: northbound."
        )
    modes = [parse_mode(mode) for mode in sync_modes]
    census = take_census(tables, operated=operated)
    return [
        *_table(census),
        "",
        *_warning_lines(census_warnings(census, modes)),
        *(["", *_rows(census)] if rows else []),
    ]


def census_warnings(census: Census, modes: t.Sequence[str]) -> list[CensusWarning]:
    """Return all warnings. Those about Neutron need one that has rows, or one that is declared; those about kube-ovn one that has rows."""
    of_neutron = (
        [*sync_warnings(census, modes), *maintenance_warnings(census)] if modes or NEUTRON in census.families else []
    )
    return [*of_neutron, *kube_ovn_warnings(census), *clash_warnings(census)]


def _warning_lines(warnings: t.Sequence[CensusWarning]) -> list[str]:
    return [line for warning in warnings for line in warning.lines()] or ["No warnings."]


def _table(census: Census) -> list[str]:
    """Return the numbers of rows: a line for each table, a column for each owner."""
    counts = census.counts()
    owners = [owner for owner in OWNERS if any(count[owner] for count in counts.values())]
    if not owners:
        return ["The Northbound database has no rows."]
    lines = [["rows", *owners], *([table, *(str(count[owner]) for owner in owners)] for table, count in counts.items())]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
        for line in lines
    ]


def _rows(census: Census) -> list[str]:
    """Return one line for each row: its owner, table and name, and of which rows it is, if it has no name of its own."""
    lines = []
    for owner in OWNERS:
        for row in census.rows:
            if row.owner == owner:
                holders = sorted({census.by_uuid[holder].name for holder in row.holders if not row.row.get("name")})
                lines.append(f"{owner}  {row.table}  {row.name}" + (f"  (of {', '.join(holders)})" if holders else ""))
    return lines
