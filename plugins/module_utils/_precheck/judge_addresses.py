# SPDX-License-Identifier: GPL-3.0-or-later
"""Which addresses the roles would refuse, or other hosts could not use. Pure."""

from __future__ import annotations

import typing as t

from .._base.ip_addresses import literal
from .cluster_findings import Finding
from .declared import RAFT_PORTS, DeclaredHost
from .measured import MeasuredHost


def judge_addresses(declared: t.Iterable[DeclaredHost], hosts: t.Sequence[MeasuredHost]) -> list[Finding]:
    """Return the findings of the hosts of this run; `declared` are all hosts of the groups."""
    several = sum(one.central or one.hypervisor for one in declared) > 1
    founding = _is_founding(hosts)
    findings = []
    for host in hosts:
        if host.becomes_member:
            findings += _member(host, founding, several)
        if host.becomes_chassis:
            findings += [
                finding for address in host.declared.encapsulation for finding in _tunnel_end(host, address, several)
            ]
    return findings


def _is_founding(hosts: t.Iterable[MeasuredHost]) -> bool:
    """Return whether the Raft clusters would be created: names are checked only then, as the address is part of a member's identity afterwards."""
    central = [host for host in hosts if host.declared.central and host.facts]
    peers = [peer for host in central for peer in host.facts["peers"]]
    running = any(peer["state"] == "connected" and peer["port"] in RAFT_PORTS for peer in peers)
    return not running and all(host.becomes_member for host in central)


def _member(host: MeasuredHost, founding: bool, several: bool) -> list[Finding]:
    address = host.declared.address
    if literal(address):
        return _literal("ovn_address", host, address, several)
    if not founding or host.declared.allow_names:
        return []
    cause = "it would be the address of a Raft member, and is a name, which may mean something else on another host"
    step = "Set ovn_address to the IP address on the control-plane network, or ovn_central_allow_names to true"
    return [_finding(host, address, cause, step)]


def _tunnel_end(host: MeasuredHost, address: str, several: bool) -> list[Finding]:
    if literal(address):
        return _literal("ovn_encapsulation_ip", host, address, several)
    step = "Set ovn_encapsulation_ip to the IP address in the underlay"
    return [_finding(host, address, "its tunnels would end at a name, and a chassis takes only addresses", step)]


def _literal(option: str, host: MeasuredHost, text: str, several: bool) -> list[Finding]:
    address = literal(text)
    if address and (address.is_unspecified or address.is_multicast):
        cause = "it is no address of a single host"
    elif address and address.is_loopback and several:
        cause = "every host reaches itself at this address"
    else:
        return []
    return [_finding(host, text, cause, f"Set {option} to an address at which the other hosts reach this one")]


def _finding(host: MeasuredHost, address: str, cause: str, step: str) -> Finding:
    return Finding("address_unusable", f"{host.name} {address}", cause, step)
