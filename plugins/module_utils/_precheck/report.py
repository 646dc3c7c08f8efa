# SPDX-License-Identifier: GPL-3.0-or-later
"""All findings of a run in their order, and the lines that people read. Pure."""

from __future__ import annotations

import typing as t

from .._base.ip_addresses import literal
from .declared import RAFT_PORTS, DeclaredHost
from .finding import CODES, Finding
from .judge_inventory import judge_inventory, judge_measuring
from .judge_network import judge_network
from .judge_software import Versions, judge_software
from .judge_system import judge_clocks, judge_systems
from .measure import MeasuredHost

# Which addresses the roles would refuse, or other hosts could not use. Pure.


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
    step = (
        "Set ovn_address to the IP address on the control-plane network, or accept names with ovn_central_permit=names"
    )
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


_NAMED = 5  # of hosts with the same finding


def judge(
    declared: t.Sequence[DeclaredHost],
    hosts: t.Sequence[MeasuredHost],
    more: t.Iterable[Finding] = (),
    versions: Versions | None = None,
) -> list[Finding]:
    """Return the findings of all hosts in the order of their codes. `declared` are all hosts of the groups, `hosts` the machines of this run;
    `more` are findings that a Kubernetes cluster has had; `versions` are those of central hosts outside of this run."""
    unusable = judge_addresses(declared, hosts)
    known = {finding.object for finding in unusable}
    new = {host.name for host in hosts if host.becomes_member}  # no firewall of ours is loaded there yet
    filtered = {host.name for host in declared if host.filtered} - new
    findings = [
        *judge_inventory(declared, hosts),
        *unusable,
        *judge_measuring(hosts),
        *judge_clocks(hosts),
        *judge_systems(hosts),
        *(finding for finding in judge_network(hosts, filtered) if finding.object not in known),
        *judge_software(hosts, declared, versions or {}),
        *more,
    ]
    order = {code: number for number, code in enumerate(CODES)}
    return sorted(findings, key=lambda finding: order.get(finding.code, len(order)))


def report(
    findings: t.Sequence[Finding],
    ignored: t.Callable[[Finding], bool],
    checked: int,
    left_out: t.Sequence[str] = (),
    not_tested: t.Sequence[str] = (),
) -> dict[str, t.Any]:
    """Return `findings` and `ignored` (as dictionaries), `not_tested` and `lines`.

    `ignored` says of a finding whether a run goes on in spite of it. `checked` is the number of hosts, with `left_out`: hypervisors that are down.
    `not_tested` says what could not be looked at, and why.
    """
    passed_over = [finding for finding in findings if ignored(finding)]
    counted = [finding for finding in findings if not ignored(finding)]
    lines = [_head(checked - len(left_out), len(counted), len(passed_over))]
    lines += [_line(*group) for group in _grouped(counted)]
    lines += _ignored(passed_over)
    if left_out:
        lines.append(f"Not checked: {_names(left_out)}, unreachable")
    lines += [f"Not tested: {one}" for one in not_tested]
    return {
        "findings": [finding._asdict() for finding in counted],
        "ignored": [finding._asdict() for finding in passed_over],
        "not_tested": list(not_tested),
        "lines": lines,
    }


def _head(checked: int, findings: int, ignored: int) -> str:
    hosts = f"{checked} host{'' if checked == 1 else 's'}"
    if not findings:
        return f"Precheck ok: {hosts}, {f'{ignored} ignored' if ignored else 'nothing found'}"
    return f"Precheck: {hosts}, {findings} finding{'' if findings == 1 else 's'}. Nothing was changed"


def _line(finding: Finding, objects: str) -> str:
    return f"{finding.code} {objects}: {finding.cause}. {finding.next_step}."


def _ignored(findings: t.Iterable[Finding]) -> list[str]:
    """Return a line for each code, with each object once, however many causes it has."""
    objects: dict[str, dict[str, None]] = {}
    for finding in findings:
        objects.setdefault(finding.code, {})[finding.object] = None
    return [f"Ignored: {code} {_names(list(names))}" for code, names in objects.items()]


def _grouped(findings: t.Iterable[Finding]) -> list[tuple[Finding, str]]:
    """Return each finding once, with the names of all objects that have it alike."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.cause, finding.next_step), []).append(finding)
    return [(group[0], _names([one.object for one in group])) for group in groups.values()]


def _names(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
