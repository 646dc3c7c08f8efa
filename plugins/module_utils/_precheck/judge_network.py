# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with addresses, ports and MTUs. Pure."""

from __future__ import annotations

import typing as t

from .._base.flows import TUNNEL_PORTS
from .._base.ip_addresses import overlap
from .declared import RAFT_PORTS, USUAL_MTU
from .finding import Finding
from .measure import Facts, MeasuredHost, is_ours, place_of

_KERNEL_DEVICES = ("genev_sys_", "vxlan_sys_")  # those of Open vSwitch


def judge_network(hosts: t.Sequence[MeasuredHost], filtered: t.Container[str] = ()) -> list[Finding]:
    """Return the findings of all hosts that were measured. Whoever answers Ansible, but not another host, is behind a firewall or a wrong route.

    `filtered` are hosts with a firewall of ours, which may not have been told of a new host yet: their silence says nothing.
    """
    answering = {host.name for host in hosts if host.facts}
    misplaced = {host.name for host in hosts if host.facts and _is_misplaced(host)}
    findings = []
    for host in hosts:
        if host.facts:
            findings += [
                *_addresses(host),
                *_peers(host, answering, misplaced, filtered),
                *_ports(host),
                *_tunnel_ports(host),
            ]
            findings += [*_mtu(host), *_paths(host)]
    return findings


def _addresses(host: MeasuredHost) -> list[Finding]:
    declared = host.declared
    named = {declared.address: "ovn_address"} if host.becomes_member else {}
    if host.becomes_chassis and not declared.underlay:
        named.update({address: "ovn_encapsulation_ip" for address in declared.encapsulation if address not in named})
    findings = []
    for one in host.facts["local_addresses"]:
        option = named.get(one["address"])
        where = f"{host.name} {one['address']}"
        if not option or one["local"]:
            continue
        if not one["resolved"]:
            cause = f"the name cannot be resolved there ({one['error']})"
            step = f"Set {option} to an IP address, or add the name to the name service"
            findings.append(Finding("address_unresolved", where, cause, step))
        else:
            known = "" if one["resolved"] == [one["address"]] else f" ({', '.join(one['resolved'])})"
            cause = f"no interface of the host has this address{known}"
            step = f"Set {option} to one of its addresses, or configure the interface first"
            findings.append(Finding("address_not_local", where, cause, step))
    return findings


def _is_misplaced(host: MeasuredHost) -> bool:
    """Return whether the host does not have the address at which others look for it, which is a finding of its own."""
    own = [one["local"] for one in host.facts["local_addresses"] if one["address"] == host.declared.address]
    return own == [False]


def _peers(
    host: MeasuredHost, answering: t.Container[str], misplaced: t.Container[str], filtered: t.Container[str]
) -> list[Finding]:
    """A port at which nobody listens yet refuses, which proves the way. A peer that is not in this run may simply be down, as long as another one answers."""
    if not host.is_new:
        return []
    unresolved: dict[tuple[str, str], str] = {}
    closed: dict[tuple[str, str, str], list[int]] = {}
    reached = {peer["host"] for peer in host.facts["peers"] if peer["state"] in ("connected", "refused")}
    for peer in host.facts["peers"]:
        if peer["host"] in misplaced or (peer["host"] in filtered and peer["state"] == "timed_out"):
            continue
        if peer["state"] == "unresolved":
            unresolved[peer["host"], peer["address"]] = peer["error"]
        elif peer["state"] in ("timed_out", "unreachable") and (peer["host"] in answering or not reached):
            closed.setdefault((peer["host"], peer["address"], peer["error"]), []).append(peer["port"])
    step = "Add it to the name service of every host, or use addresses"
    findings = [
        Finding(
            "address_unresolved",
            f"{host.name} {address}",
            f"the address of {peer} cannot be resolved there ({error})",
            step,
        )
        for (peer, address), error in unresolved.items()
    ]
    step = "Check routes and firewalls between them"
    for (peer, address, error), ports in closed.items():
        to = f"{peer} at {address}" if peer != address else address
        cause = f"it cannot reach {to}, TCP port {_numbers(ports)} ({error or 'no answer'})"
        findings.append(Finding("peer_unreachable", host.name, cause, step))
    return findings


def _ports(host: MeasuredHost) -> list[Finding]:
    if not host.becomes_member:
        return []
    own: list[str] = next(
        (one["resolved"] for one in host.facts["local_addresses"] if one["address"] == host.declared.address), []
    )
    taken: dict[str, set[int]] = {}
    for one in host.facts["listeners"]:
        desired = own if one["port"] in RAFT_PORTS else [host.declared.listen_address]
        holder = one["holder"]
        if one["protocol"] != "tcp" or (holder and (is_ours(holder) or host.runs_control_plane(holder))):
            continue  # daemons of another control plane are a finding of their own
        if any(overlap(one["address"], address) for address in desired):
            taken.setdefault(_holder(holder), set()).add(one["port"])
    step = "Stop it, or move it to another port: OVN's clients and members expect these"
    return [
        Finding("port_taken", host.name, f"TCP port {_numbers(ports)} is held by {holder}", step)
        for holder, ports in taken.items()
    ]


def _tunnel_ports(host: MeasuredHost) -> list[Finding]:
    if not host.becomes_chassis:
        return []
    findings = []
    step = "Remove it, or use another encapsulation with ovn_hypervisor_encapsulation_type"
    for port in host.declared.tunnel_ports:
        kind = next(kind for kind, its_port in TUNNEL_PORTS.items() if its_port == port)
        devices = [one["name"] for one in host.facts["tunnel_devices"] if one["port"] == port]
        holders = [f"the device {name}" for name in devices if not name.startswith(_KERNEL_DEVICES)]
        holders += [
            _holder(one["holder"])
            for one in host.facts["listeners"]
            if one["protocol"] == "udp" and one["port"] == port and one["holder"] and not is_ours(one["holder"])
        ]
        if holders:
            cause = f"UDP port {port} of {kind} tunnels is held by {', '.join(dict.fromkeys(holders))}"
            findings.append(Finding("tunnel_port_taken", host.name, cause, step))
    return findings


def _mtu(host: MeasuredHost) -> list[Finding]:
    """The interface of each tunnel address."""
    if not host.becomes_chassis or not host.declared.overhead():
        return []
    others = (host.facts["underlays"].get(address) for address in host.declared.encapsulation)
    interfaces = {one["name"]: one["mtu"] for one in (host.facts["underlay"], *others) if one}
    needed, guests = _needed(host)
    return [
        Finding(
            "mtu_too_small",
            host.name,
            f"MTU {mtu} of {name} carries no packets of guests with MTU {guests}: with their encapsulation they have {needed} octets",
            _mtu_step(host, mtu),
        )
        for name, mtu in interfaces.items()
        if 0 < mtu < needed
    ]


def _paths(host: MeasuredHost) -> list[Finding]:
    """Without an answer to the small packet nothing is known: echo requests may be filtered, or the other host has no such address yet."""
    needed, guests = _needed(host)
    underlay: Facts = host.facts["underlay"] or {"mtu": 0}
    if not host.becomes_chassis or not host.declared.overhead() or 0 < underlay["mtu"] < needed:
        return []
    cut = [f"{one['host']} ({one['address']})" for one in host.facts["paths"] if one["small"] and not one["large"]]
    if not cut:
        return []
    cause = f"packets of {needed} octets, as guests with MTU {guests} need them, do not come back from {', '.join(cut)}, small ones do"
    return [
        Finding(
            "path_mtu_too_small",
            host.name,
            cause,
            "Raise the MTU of switches and routers between them, or " + _smaller(host),
        )
    ]


def _needed(host: MeasuredHost) -> tuple[int, int]:
    """Return the octets of the longest packet of the underlay, and the MTU of the guests."""
    overhead = host.declared.overhead()
    guests = host.limits.guest_mtu or USUAL_MTU - overhead
    return guests + overhead, guests


def _mtu_step(host: MeasuredHost, mtu: int) -> str:
    return f"Raise it, or {_smaller(host)} of {mtu - host.declared.overhead()} or less"


def _smaller(host: MeasuredHost) -> str:
    return "give guests a smaller MTU (Neutron: global_physnet_mtu) and say so with an ovn_precheck_guest_mtu"


def _holder(holder: Facts | None) -> str:
    if not holder:
        return "a process that cannot be seen there"
    place = place_of(holder)
    return f"{holder['program']} (process {holder['pid']}{', ' + place if place else ''})"


def _numbers(ports: t.Iterable[int]) -> str:
    return ", ".join(str(port) for port in sorted(set(ports)))
