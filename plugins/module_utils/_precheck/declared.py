# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory declares about its hosts, as far as it can be checked before the first change. Pure. An empty value counts as absent."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.databases import PORTS
from .._base.errors import InvalidInput
from .._base.flows import TUNNEL_PORTS, ports_between
from .._base.inventory import address_of, as_list, system_id_of, tunnel_ends_of
from .._base.ip_addresses import canonical_host, literal
from .._machine.distributions import Role, distribution_data
from .._machine.package_plan import desired_versions
from .._roles.cluster_source import encapsulation_types_of, with_resource
from .._roles.endpoints import declared_endpoints, is_managed, socket_of
from .._roles.firewall import needed_packages
from .._roles.packages import LIBRARY
from .._roles.variables import Groups, Hostvars, Variables, backend_of, first_value, is_true, members_of

CENTRAL_PORTS = ports_between("central", "central")
RAFT_PORTS = sorted(ports.raft for ports in PORTS.values())
# Octets of an encapsulated frame around the packet of the guest, without the IP header: inner Ethernet 14, UDP 8,
# and Geneve 8 with OVN's option of 8 or VXLAN 8.
_ENCAPSULATION = {"geneve": 38, "vxlan": 30}
_IP_HEADERS = {4: 20, 6: 40}
# What Neutron gives to its guests fits into an underlay of this MTU, unless somebody says otherwise.
USUAL_MTU = 1500
# Where packages are installed, and where apt keeps them before that.
PACKAGE_PATHS = ("/usr", "/var/cache/apt")
# Hypervisors test the paths to this many others, those that follow them in the group: all of them would be a square.
_NEIGHBORS = 3


@dataclasses.dataclass(frozen=True)
class DeclaredHost:
    """One host of the inventory. `encapsulation` are the addresses where its tunnels end; `elsewhere` the endpoints (address and port) of a Southbound
    database that the inventory names itself."""

    name: str
    central: bool
    hypervisor: bool
    cluster: bool  # it stands for a whole Kubernetes cluster
    address: str
    system_id: str = ""
    encapsulation: tuple[str, ...] = ()
    encapsulation_types: tuple[str, ...] = ()
    underlay: str = ""  # the interface that a bridge will own, which gets the encapsulation address only then
    userspace: bool = False
    elsewhere: tuple[tuple[str, int], ...] = ()
    paths: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    library_packages: tuple[str, ...] = ()  # for issuing certificates, if Python has no library for that there
    repository: tuple[str, ...] = ()  # URIs of a source that only the run itself adds
    proxy: str = ""  # for downloads of the run itself
    distribution_given: bool = False  # the inventory has everything that is to be known about its distribution
    openvswitch_database: str = "unix:/run/openvswitch/db.sock"
    openvswitch_service: str = ""
    southbound: str = "unix:/run/ovn/ovnsb_db.sock"  # of its own member
    hostname: str = ""  # of the chassis, if it is not the name of the machine
    takeover: bool = False  # it may take over the system id of another machine
    existing_switch: bool = False  # somebody else's Open vSwitch is used
    listen_address: str = ""
    filtered: bool = False  # a firewall of ours drops what comes from a host that it was not told of yet
    allow_names: bool = False  # as addresses of members
    problem: str = ""  # why its variables could not be read; then the rest is not known

    @property
    def measured(self) -> bool:
        """Return whether the host is a machine that a run would change."""
        return (self.central or self.hypervisor) and not self.cluster

    @property
    def tunnel_ports(self) -> list[int]:
        """Return the UDP ports that tunnels of the kernel take; a datapath in userspace takes none."""
        kinds = () if self.userspace else self.encapsulation_types
        return [TUNNEL_PORTS[kind] for kind in kinds if kind in TUNNEL_PORTS]

    def overhead(self) -> int:
        """Return the octets that the tunnels add to a packet of a guest, 0 without tunnels whose overhead is known."""
        around = max((_ENCAPSULATION.get(kind, 0) for kind in self.encapsulation_types), default=0)
        header = max((_IP_HEADERS[version] for version in map(_version, self.encapsulation)), default=20)
        return around + header if around else 0


def declared_hosts(hostvars: Hostvars, groups: Groups, names: t.Iterable[str]) -> dict[str, DeclaredHost]:
    """Return what the inventory declares about these hosts."""
    central, hypervisors = members_of(groups, "ovn_central"), members_of(groups, "ovn_hypervisors")
    return {
        name: _read(name, with_resource(hostvars[name], hostvars, groups), name in central, name in hypervisors)
        for name in dict.fromkeys(names)
    }


def _read(name: str, variables: Variables, in_central: bool, in_hypervisors: bool) -> DeclaredHost:
    """One host whose variables cannot be read says nothing about the others."""
    try:
        # A run changes nothing on a central host of others: hypervisors have to reach it, that is all.
        return _host(name, variables, in_central and is_managed(variables), in_hypervisors)
    except Exception as e:  # templates raise many classes, and each version of Ansible has others
        return DeclaredHost(name, in_central, in_hypervisors, cluster=False, address=name, problem=problem_of(e))


def problem_of(error: Exception) -> str:
    """Return why variables of a host could not be read, for a sentence."""
    return f"its variables cannot be read: {str(error).strip() or type(error).__name__}"


def _host(name: str, variables: Variables, in_central: bool, in_hypervisors: bool) -> DeclaredHost:
    hypervisor = in_hypervisors and first_value(variables, "ovn_hypervisor_state", default="present") == "present"
    host = DeclaredHost(
        name=name,
        central=in_central,
        hypervisor=hypervisor,
        cluster=backend_of(variables) == "kubernetes",
        address=address_of(name, variables),
    )
    if host.cluster:
        return host
    host = _with_packages(host, variables)
    if in_central:
        database = first_value(variables, "ovn_central_database_directory", default="/var/lib/ovn")
        records = first_value(variables, "ovn_central_config_directory", default="/etc/c5c3-ovn")
        listen = first_value(variables, "ovn_central_listen_address", default="[::]")
        host = dataclasses.replace(
            host,
            paths=(str(database), str(records)),
            listen_address=canonical_host(str(listen)),
            southbound=socket_of(variables, "southbound"),
            allow_names="names" in as_list(first_value(variables, "ovn_central_permit")),
            filtered=bool(_firewall_packages(host, variables)),
        )
    return _with_chassis(host, variables) if hypervisor else host


def _with_packages(host: DeclaredHost, variables: Variables) -> DeclaredHost:
    parts: list[Role] = ["central"] if host.central else []
    parts += ["hypervisor"] if host.hypervisor else []
    given = [_distribution_options(role, variables) for role in parts]
    excluded = [
        name
        for role, data in zip(parts, given)
        if role == "hypervisor" and _uses_existing_switch(variables)
        for name in distribution_data(role, data, {}, host.name)["openvswitch_packages"]
    ]
    packages = [
        name
        for role, data in zip(parts, given)
        for name in as_list(distribution_data(role, data, {}, host.name)["packages"])
        if name not in excluded
    ]
    packages += _firewall_packages(host, variables) if packages else []
    known = {
        role: not distribution_data(role, data, {"id": "unknown"}, host.name)["problem"]
        for role, data in zip(parts, given)
    }
    return dataclasses.replace(
        host,
        packages=_in_versions(packages, variables),
        library_packages=_library_packages(variables) if parts else (),
        repository=_repository(variables),
        proxy=_without_password(str(first_value(variables, "ovn_packages_proxy"))),
        distribution_given=bool(known) and all(known.values()),
    )


def _firewall_packages(host: DeclaredHost, variables: Variables) -> list[str]:
    """Return what the firewall of the host needs; options that the roles will refuse need nothing."""
    groups = {"ovn_central": [host.name] * host.central, "ovn_hypervisors": [host.name] * host.hypervisor}
    try:
        return needed_packages(host.name, variables, groups)
    except InvalidInput:
        return []


def _in_versions(packages: t.Iterable[str], variables: Variables) -> tuple[str, ...]:
    """Return the packages, each once, and `NAME=VERSION` of those whose version is declared. What the role will refuse pins nothing."""
    versions = first_value(variables, "ovn_packages_versions", default={})
    names = tuple(dict.fromkeys(packages))
    try:
        desired = desired_versions(names, versions if isinstance(versions, t.Mapping) else {})
    except InvalidInput:
        return names
    return tuple(f"{name}={version}" if version else name for name, version in desired.items())


def _library_packages(variables: Variables) -> tuple[str, ...]:
    """Return what the role ovn_pki installs on a host without the library, nothing without certificates."""
    try:
        issues = is_true(variables, "ovn_tls", default=True)
    except InvalidInput:  # the roles say so
        return ()
    return _in_versions([LIBRARY], variables) if issues else ()


def _repository(variables: Variables) -> tuple[str, ...]:
    """Return where the declared repository is; what the role will refuse is none."""
    given = first_value(variables, "ovn_packages_repository", default={})
    uris = (given.get("uris") or ()) if isinstance(given, t.Mapping) else ()
    return tuple(_without_password(str(uri)) for uri in (uris.split() if isinstance(uris, str) else uris))


def _without_password(uri: str) -> str:
    """Return the URI without the name and password in it, which nobody needs to connect."""
    scheme, mark, rest = uri.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{mark}{place.rpartition('@')[2]}{slash}{path}"


def _distribution_options(role: Role, variables: Variables) -> t.Mapping[str, t.Any]:
    """Return what the inventory says about the distribution of a host, nothing if the role will refuse it."""
    given = first_value(variables, f"ovn_{role}_distribution", default={})
    try:
        distribution_data(role, given, {}, "")
    except (InvalidInput, TypeError, ValueError):
        return {}
    return t.cast("t.Mapping[str, t.Any]", given)


def _with_chassis(host: DeclaredHost, variables: Variables) -> DeclaredHost:
    underlay = first_value(variables, "ovn_hypervisor_underlay", default={})
    return dataclasses.replace(
        host,
        system_id=system_id_of(host.name, variables),
        encapsulation=tuple(tunnel_ends_of(host.name, variables)),
        encapsulation_types=tuple(encapsulation_types_of(variables)),
        underlay=str(underlay.get("interface") or "") if isinstance(underlay, t.Mapping) else "",
        userspace=first_value(variables, "ovn_hypervisor_datapath_type") == "netdev",
        elsewhere=_elsewhere(variables),
        hostname=str(first_value(variables, "ovn_hypervisor_hostname", default="")),
        takeover="takeover" in as_list(first_value(variables, "ovn_hypervisor_permit")),
        openvswitch_database=str(
            first_value(variables, "ovn_hypervisor_openvswitch_database", default=host.openvswitch_database)
        ),
        existing_switch=_uses_existing_switch(variables),
        openvswitch_service=str(
            distribution_data("hypervisor", _distribution_options("hypervisor", variables), {}, host.name)[
                "openvswitch_service"
            ]
        ),
    )


def _uses_existing_switch(variables: Variables) -> bool:
    return str(first_value(variables, "ovn_hypervisor_openvswitch", default="managed")) == "existing"


def _elsewhere(variables: Variables) -> tuple[tuple[str, int], ...]:
    given = declared_endpoints(variables, "ovn_southbound_endpoints")
    return tuple((one.host, one.port) for one in given if one.scheme != "unix")


def measurement(hostvars: Hostvars, groups: Groups, name: str, guest_mtu: int = 0) -> dict[str, t.Any]:
    """Return the options of ovn_precheck for this host, none if nothing is to be measured on it."""
    host = declared_hosts(hostvars, groups, [name])[name]
    if not host.measured or host.problem:
        return {}
    options: dict[str, t.Any] = {
        "local_addresses": [host.address] if host.central else [],
        "peers": _peers(hostvars, groups, host),
        "tcp_ports": CENTRAL_PORTS if host.central else [],
        "udp_ports": host.tunnel_ports,
        "paths": [*host.paths, *(PACKAGE_PATHS if host.packages else ())],
        "packages": list(host.packages),
        "library_packages": list(host.library_packages),
        "archive_uris": list(host.repository),
        "archive_proxy": host.proxy,
        "kernel_modules": _kernel_modules(host),
        "openvswitch_database": host.openvswitch_database,
        "southbound": host.southbound,
    }
    if host.hypervisor and host.encapsulation:
        if not host.underlay:
            options["local_addresses"] = list(dict.fromkeys([*options["local_addresses"], *host.encapsulation]))
        options["tunnel"] = {
            "address": host.encapsulation[0],
            "packet_size": guest_mtu + host.overhead() if guest_mtu else USUAL_MTU,
            "peers": _tunnel_peers(hostvars, groups, host),
        }
        if host.underlay:
            options["tunnel"]["interface"] = host.underlay
    return options


def _peers(hostvars: Hostvars, groups: Groups, host: DeclaredHost) -> list[dict[str, t.Any]]:
    others = declared_hosts(hostvars, groups, members_of(groups, "ovn_central"))
    members = [
        other for other in others.values() if not other.cluster and not other.problem and other.name != host.name
    ]
    ports = set(ports_between("chassis", "central")) if host.hypervisor and not host.elsewhere else set()
    ports |= set(CENTRAL_PORTS) if host.central else set()
    peers = [
        {"host": other.name, "address": other.address, "port": port} for other in members for port in sorted(ports)
    ]
    if host.hypervisor:
        peers += [{"host": address, "address": address, "port": port} for address, port in host.elsewhere]
    return peers


def _tunnel_peers(hostvars: Hostvars, groups: Groups, host: DeclaredHost) -> list[dict[str, t.Any]]:
    """Return the next hypervisors of the group with an address of the same kind, so that each of them is asked by some."""
    names = members_of(groups, "ovn_hypervisors")
    index = names.index(host.name)
    peers = []
    for name in (names[index + 1 :] + names[:index])[:_NEIGHBORS]:
        other = declared_hosts(hostvars, groups, [name])[name]
        if other.measured and other.hypervisor and other.encapsulation:
            address = other.encapsulation[0]
            if _version(address) and _version(address) == _version(host.encapsulation[0]):
                peers.append({"host": name, "address": address})
    return peers


def _kernel_modules(host: DeclaredHost) -> list[str]:
    if not host.hypervisor or host.userspace:
        return []
    return ["openvswitch", *(kind for kind in host.encapsulation_types if kind in TUNNEL_PORTS)]


def _version(address: str) -> int:
    """Return 4 or 6 for an address, 4 for a name, whose tunnels are those of IPv4 as far as anybody knows."""
    known = literal(address)
    return known.version if known else 4


def southbound_addresses(hosts: t.Iterable[DeclaredHost], hypervisor: DeclaredHost) -> set[str]:
    """Return the addresses at which this hypervisor will look for the Southbound database; none if only a cluster knows them."""
    named = {address for address, _port in hypervisor.elsewhere}
    return named or {host.address for host in hosts if host.central and not host.cluster and not host.problem}
