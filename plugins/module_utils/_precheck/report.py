# SPDX-License-Identifier: GPL-3.0-or-later
"""All findings of a run in their order, and the lines that people read. Pure."""

from __future__ import annotations

import typing as t

from .cluster_findings import Finding
from .declared import DeclaredHost
from .finding import CODES
from .judge_addresses import judge_addresses
from .judge_clocks import judge_clocks
from .judge_inventory import judge_inventory, judge_measuring
from .judge_network import judge_network
from .judge_software import Versions, judge_software
from .judge_system import judge_systems
from .measured import MeasuredHost

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
