# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the inventory as a whole, and with hosts that could not be measured. Pure."""

from __future__ import annotations

import typing as t

from .._chassis.registration import LocalChassis, Rows, registered_clash
from .._roles.central import CentralClusterOptions, cluster_problem
from .declared import DeclaredHost
from .finding import Finding
from .measure import MeasuredHost

_COUNTS = (1, 3, 5)


def judge_inventory(declared: t.Sequence[DeclaredHost], hosts: t.Sequence[MeasuredHost]) -> list[Finding]:
    """Return the findings of all declared hosts together; `hosts` are those of this run."""
    members = [one for one in declared if one.central]
    central = [one for one in members if not one.cluster]
    chassis = [one for one in declared if one.hypervisor and not one.cluster and not one.problem]
    return [
        *(_count(central, hosts) if central == members else ()),  # else judge_central_clusters
        *_duplicates(
            "duplicate_central_address",
            "ovn_address",
            "Give each central host its own ovn_address",
            [(one.address, one.name) for one in central if not one.problem],
        ),
        *_duplicates(
            "duplicate_system_id",
            "system id",
            "Give each hypervisor its own ovn_system_id",
            [(one.system_id, one.name) for one in chassis],
        ),
        *_duplicates(
            "duplicate_encapsulation_ip",
            "encapsulation address",
            "Give each hypervisor its own ovn_encapsulation_ip",
            [(address, one.name) for one in chassis for address in one.encapsulation],
        ),
        *_same_machine([host for host in hosts if host.declared.central], "central hosts"),
        *_same_machine([host for host in hosts if host.declared.hypervisor], "hypervisors"),
    ]


def judge_central_clusters(central: t.Sequence[str], clusters: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[Finding]:
    """Return why the role would refuse the clusters of the control plane. `central` are all hosts of the group; of each cluster in it the options
    that the role looks at, by their names without `ovn_central_`."""
    findings = []
    for name, options in clusters.items():
        problem = cluster_problem(CentralClusterOptions(), central, name, **options).rstrip(".")
        if problem and len(central) != 1:
            step = "Leave one host in ovn_central, the cluster, or machines only"
            return [Finding("central_count", "ovn_central", problem, step)]
        if problem:
            cause, _dot, step = problem.rpartition(". ")
            findings.append(Finding("specification_invalid", name, cause, step))
    return findings


def judge_registered(hosts: t.Iterable[MeasuredHost], registered: Rows) -> list[Finding]:
    """Return why ovn_chassis would refuse a machine that is to become a chassis: another one is registered with its name or its address."""
    findings = []
    for host in hosts:
        declared = host.declared
        if not host.becomes_chassis or declared.elsewhere:
            continue
        hostname = declared.hostname or host.facts["chassis"].get("hostname", "")
        ends = frozenset((kind, ip) for kind in declared.encapsulation_types for ip in declared.encapsulation)
        local = LocalChassis(declared.system_id, hostname, ends)
        clash = registered_clash(local, registered, allow_takeover=declared.takeover)
        if clash:
            cause, _dot, step = clash.rstrip(".").partition(". ")
            findings.append(Finding("chassis_clash", host.name, cause, step))
    return findings


def judge_measuring(hosts: t.Iterable[MeasuredHost]) -> list[Finding]:
    """Return the hosts that could not be measured and without which a run cannot go on. A hypervisor that is down holds up no other host."""
    findings = []
    for host in hosts:
        if not host.problem or (host.unreachable and not host.declared.central):
            continue
        if host.unreachable:
            step = "Make it reachable: a run needs every central host, whatever it changes"
            findings.append(Finding("host_unreachable", host.name, f"central host, {_first_line(host.problem)}", step))
        else:
            step = "Correct that, then run again"
            findings.append(Finding("not_measured", host.name, f"the check failed: {_first_line(host.problem)}", step))
    return findings


def not_checked(hosts: t.Iterable[MeasuredHost]) -> list[str]:
    """Return the hypervisors that were left out because they are unreachable."""
    return [host.name for host in hosts if host.unreachable and not host.declared.central]


def _count(central: t.Sequence[DeclaredHost], hosts: t.Iterable[MeasuredHost]) -> list[Finding]:
    """Members that are there already are counted by the role, which knows what the cluster itself says."""
    if len(central) in (0, *_COUNTS) or not any(host.becomes_member for host in hosts):
        return []
    cause = f"it has {len(central)} hosts: {', '.join(one.name for one in central)}"
    step = "Use 1, 3 or 5: an even number tolerates no more failures than the odd number below it, and more than 5 only slow each other down"
    return [Finding("central_count", "ovn_central", cause, step)]


def _duplicates(code: str, thing: str, step: str, owned: t.Iterable[tuple[str, str]]) -> list[Finding]:
    owners: dict[str, list[str]] = {}
    for value, name in owned:
        owners.setdefault(value, []).append(name)
    return [
        Finding(code, ", ".join(names), f"they have the same {thing} {value}", step)
        for value, names in owners.items()
        if len(names) > 1
    ]


def _same_machine(hosts: t.Iterable[MeasuredHost], kind: str) -> list[Finding]:
    names: dict[str, list[str]] = {}
    for host in hosts:
        if host.facts and host.facts["system"]["machine"]:
            names.setdefault(host.facts["system"]["machine"], []).append(host.name)
    cause = f"these {kind} are one machine"
    step = "Correct ansible_host, or leave one name in the group"
    return [Finding("same_machine", ", ".join(same), cause, step) for same in names.values() if len(same) > 1]


def _first_line(text: str) -> str:
    line = (text.strip().splitlines() or ["no reason given"])[0].strip()
    return line.removeprefix("Task failed: ").rstrip(".")[:200]
