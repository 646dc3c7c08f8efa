# SPDX-License-Identifier: GPL-3.0-or-later
"""What the options of the firewall mean: the ports of one machine and who may send to them, from the inventory and the table of flows. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from .._base.databases import DATABASES, STEMS
from .._base.errors import InvalidInput
from .._base.flows import FLOWS, TUNNEL_PORTS, MachineFlow, Party
from .._base.inventory import address_of, as_list, tunnel_ends_of
from .._base.ip_addresses import literal
from .._machine.ruleset import unit_files, units
from .._machine.systemd_units import own_unit
from .cluster_source import encapsulation_types_of, with_resource
from .endpoints import run_directory_of
from .variables import Groups, Hostvars, Overlaid, Variables, backend_of, first_value, is_true, members_of

Mode = t.Literal["managed", "print", "none"]
Role = t.Literal["ovn_central", "ovn_hypervisor"]
# Where a party is in the inventory, and the key of the option with those that are not in it
_GROUPS: dict[Party, str] = {"central": "ovn_central", "chassis": "ovn_hypervisors", "client": "ovn_controllers"}
_CENTRAL_NETWORKS = "ovn_central_networks"
_NETWORKS: dict[Party, str] = {"central": "members", "client": "clients", "chassis": "chassis"}
_TUNNEL_NETWORKS = "ovn_hypervisor_tunnel_networks"
_ROLES: dict[Party, Role] = {"central": "ovn_central", "chassis": "ovn_hypervisor"}
PACKAGES = ["nftables"]


@dataclasses.dataclass(frozen=True)
class FilteredMachine:
    """One machine: its variables, and which parties it is."""

    name: str
    variables: Variables
    parties: tuple[Party, ...]

    @property
    def mode(self) -> Mode:
        """Return what is done with the ports of the machine."""
        given = str(first_value(self.variables, "ovn_firewall", default="none"))
        if given not in ("managed", "print", "none"):
            raise InvalidInput(
                f"ovn_firewall of {self.name} is {given}. Use managed, print or none. Nothing was changed."
            )
        return t.cast("Mode", given)


def desired_firewall(
    hostvars: Hostvars, groups: Groups, host: str, given: Variables | None = None, *, role: Role = "ovn_central"
) -> dict[str, t.Any]:
    """Return what the firewall of one machine has to be, in both of its roles: the table is one for all of them.

    `given` are values of roles that the inventory does not have; empty ones count as absent there, too. `options` are those of `ovn_firewall`, `unit_files`
    and `units` those of `ovn_units`; `printed` are ports whose rules are only shown, `packages` what the machine needs.

    Members that leave are shut out when they have left, which the role of central hosts knows: there the other role only lets in, and the table and its unit
    come and go with the former. What a host that was a central host has left goes with either role, when no database is served or would start there.
    """
    this = _machine(hostvars, groups, host, given or {})
    ports: dict[Mode, list[dict[str, t.Any]]] = {"managed": [], "print": [], "none": []}
    for party in this.parties:
        mode = this.mode
        for flow in _flows(this, party) if mode != "none" else ():
            sources = _sources(this, flow, hostvars, groups)
            ports[mode].append({"protocol": flow.protocol, "port": flow.port, "sources": sources})
    managed = bool(ports["managed"])
    owns = role == "ovn_central" or "central" not in this.parties
    state = "present" if managed or not owns else "absent"
    return {
        "options": {"state": state, "ports": ports["managed"], "purge": owns, "keep_for": _databases(this)},
        "unit_files": unit_files(managed=managed) if owns else [],
        "units": units(managed=managed) if owns else [],
        "printed": ports["print"],
        "packages": PACKAGES if managed else [],
    }


def firewall_kept(observed: t.Mapping[str, t.Any], host: str) -> str:
    """Return why a machine keeps rules that nobody declares, and what to do; empty if it keeps none. `observed` is what `ovn_firewall` says."""
    reasons = observed.get("kept_for") or ()
    if not reasons:
        return ""
    return (
        f"The firewall of {host} keeps the rules of the databases: {', '.join(reasons)}. If {host} is not to serve them any more, stop and disable them "
        "(systemctl disable --now UNIT), delete the pid file of one that has ended, then run again."
    )


def firewall_problem(observed: t.Mapping[str, t.Any], host: str, disconnect: t.Any) -> str:
    """Return why the firewall of a machine must not be loaded, empty if it may. `observed` is what `ovn_firewall` says in check mode."""
    if observed.get("failed"):
        return f"{host}: {observed['msg']} Nothing was changed."
    strangers = observed.get("strangers") or ()
    if not strangers or is_true({"given": disconnect}, "given"):
        return ""
    named = ", ".join(f"{one['address']} to port {one['port']}" for one in strangers)
    return (
        f"The firewall of {host} is not loaded, because it would shut out who is connected: {named}. Add them to ovn_central_networks, as clients "
        "(6641, 16642), chassis (6642) or members (all ports), or shut them out with "
        "ovn_central_permit=firewall_disconnect. Nothing was changed."
    )


def tunnel_networks_problem(hostvars: Hostvars, groups: Groups, host: str, given: Variables | None = None) -> str:
    """Return which machines have tunnels that end outside of the networks that this one declares, empty if none has. It reads all hosts: ask for one only."""
    this = _machine(hostvars, groups, host, given or {})
    if "chassis" not in this.parties or this.mode == "none":
        return ""
    networks = [ipaddress.ip_network(network) for network in _declared(this, _TUNNEL_NETWORKS)]
    names = members_of(groups, "ovn_hypervisors") if networks else []
    ends = [(name, text) for name in names for text in _ends_of_tunnels(name, hostvars[name])]
    outside = [f"{name} ({text})" for name, text in ends if _is_outside(text, networks)]
    if not outside:
        return ""
    return (
        f"{_TUNNEL_NETWORKS} of {host} leaves out where tunnels of {', '.join(outside)} end, so other hypervisors would drop their packets. "
        "Add that network, then run on all hypervisors. Nothing was changed."
    )


def needed_packages(name: str, variables: Variables, groups: Groups) -> list[str]:
    """Return the packages that the firewall of a machine needs; `InvalidInput` if its options are refused."""
    this = _machine({name: variables}, groups, name, {})
    managed = any(this.mode == "managed" and any(_flows(this, party)) for party in this.parties)
    return PACKAGES if managed else []


def managed_central_hosts(hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the central hosts that have to be told of new chassis: their ports are managed, and this run has not rolled them out."""
    found = (_machine(hostvars, groups, name, {}) for name in members_of(groups, "ovn_central"))
    return [
        host.name
        for host in found
        if "central" in host.parties
        and host.mode == "managed"
        and not (host.variables.get("ovn_central_rollout") or {}).get("ended")
    ]


def _machine(hostvars: Hostvars, groups: Groups, name: str, given: Variables) -> FilteredMachine:
    variables = {option: value for option, value in given.items() if value is not None and value != ""}
    merged = Overlaid(variables, with_resource(hostvars[name], hostvars, groups))
    parties = [party for party in _ROLES if name in members_of(groups, _GROUPS[party]) and backend_of(merged) == "host"]
    if first_value(merged, "ovn_hypervisor_state", default="present") != "present":
        parties = [party for party in parties if party != "chassis"]
    return FilteredMachine(name, merged, tuple(parties))


def _databases(host: FilteredMachine) -> dict[str, list[str]]:
    """Return the databases, whoever runs them, that keep the rules of a machine. A central host has all of its rules from the inventory."""
    if "central" in host.parties:
        return {"files": [], "units": []}
    return {
        "files": [f"{run_directory_of(host.variables)}/{STEMS[database]}.pid" for database in DATABASES],
        "units": [own_unit(name) for name in (*DATABASES, "southbound-relay")],
    }


def _flows(host: FilteredMachine, party: Party) -> t.Iterator[MachineFlow]:
    """Tunnels are filtered where networks are declared for them, and packets of a datapath in userspace pass no rule of the kernel."""
    kinds = encapsulation_types_of(host.variables)
    own_tunnels = {TUNNEL_PORTS[kind] for kind in kinds if kind in TUNNEL_PORTS}
    filters_tunnels = bool(_declared(host, _TUNNEL_NETWORKS)) and (
        first_value(host.variables, "ovn_hypervisor_datapath_type") != "netdev"
    )
    for flow in FLOWS:
        if flow.target == party and (party == "central" or (filters_tunnels and flow.port in own_tunnels)):
            yield flow


def _sources(host: FilteredMachine, flow: MachineFlow, hostvars: Hostvars, groups: Groups) -> list[str]:
    if flow.target == "chassis":
        # Networks alone: a chassis that comes with --limit has to be let in by all others, which that run does not reach.
        return _declared(host, _TUNNEL_NETWORKS)
    sources: list[str] = []
    for party in flow.sources:
        if party in _GROUPS:
            names = members_of(groups, _GROUPS[party])
            sources += [address for name in names for address in _addresses(name, hostvars[name], party)]
        sources += _declared(host, _CENTRAL_NETWORKS, _NETWORKS[party]) if party in _NETWORKS else []
    return list(dict.fromkeys(sources))


def _addresses(name: str, variables: Variables, party: Party) -> list[str]:
    """Return the addresses from which a machine may connect: that of the control plane, and where its tunnels end. None of a cluster or a dead machine."""
    is_gone = party == "chassis" and first_value(variables, "ovn_hypervisor_state") == "gone"
    if is_gone or backend_of(variables) != "host":
        return []
    return [address_of(name, variables), *tunnel_ends_of(name, variables)]


def _declared(host: FilteredMachine, option: str, key: str = "") -> list[str]:
    """Return the networks of an option, or of one key of it; `InvalidInput` for what is none."""
    value = first_value(host.variables, option, default={} if key else [])
    # A machine that is central host and hypervisor has rules for both; the other role has not checked this option.
    if key and not isinstance(value, t.Mapping):
        raise InvalidInput(
            f"{option} of {host.name} is {value}. Give a dictionary with {', '.join(_NETWORKS.values())}, each a list. Nothing was changed."
        )
    networks = as_list(value.get(key) or []) if key else as_list(value)
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as e:
            raise InvalidInput(
                f"{option}{key and f'.{key}'} of {host.name} has {network}: {e}. Give addresses or networks, such as 192.0.2.0/24. Nothing was changed."
            ) from e
    return networks


def _ends_of_tunnels(name: str, variables: Variables) -> list[str]:
    return tunnel_ends_of(name, variables) if backend_of(variables) == "host" else []


def _is_outside(text: str, networks: t.Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    address = literal(text)  # None for a name, which is refused elsewhere
    return address is not None and not any(address in network for network in networks)
