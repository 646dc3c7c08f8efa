# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on a whole installation, from the results of its central hosts and the answers to a heartbeat. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._base.databases import DATABASES, TITLES
from .._raft.verdict import Verdict
from .certificates import report_certificates, report_versions
from .chassis import report_chassis
from .databases import assess_database, database_facts, report_addresses, report_reasons, summarize
from .findings import ReportFinding, ReportFindings, format_line
from .installation import Installation
from .northd import report_heartbeat, report_interconnection, report_northd

FORMAT_VERSION = 1  # of the facts, see docs/monitoring.md: rises if a key goes away or changes its meaning
_FINDING_LINES = 8  # the rest is counted; all of it is in the facts


def build_report(installation: Installation) -> dict[str, t.Any]:
    """Return the facts (see the filter verify_report), and the same as `lines` for people."""
    reached = {name: host for name, host in installation.central.items() if not host.unreachable}
    findings = ReportFindings(installation.acknowledge)
    for name, host in installation.central.items():
        if host.unreachable:
            findings.problem("host_unreachable", f"{name} cannot be reached: {host.unreachable}.")
    lines: list[str] = []
    facts: dict[str, t.Any] = {"managed": report_owner(installation, findings, lines)}
    verdicts: dict[str, Verdict] = {database: assess_database(installation, database) for database in DATABASES}
    for database, verdict in verdicts.items():
        facts[database] = database_facts(verdict)
        members = installation.members(database) if installation.managed else None
        lines.append(format_line(TITLES[database], verdict.verdict, summarize(verdict, members, installation.in_pods)))
    report_reasons(verdicts, installation, findings)
    facts["interconnection"] = report_interconnection(installation, findings, lines)
    facts["northd"] = report_northd(reached, findings, lines, managed=installation.managed)
    facts["heartbeat"] = report_heartbeat(installation, findings, lines)
    facts["chassis"] = report_chassis(installation, findings, lines)
    facts["versions"] = report_versions(reached, installation.heartbeat, findings, lines)
    facts["certificates"] = report_certificates(installation, reached, findings, lines)
    facts["addresses"] = report_addresses(installation, findings, lines)
    facts["neutron"] = report_neutron(installation, lines)
    problems, warnings = _messages(findings.problems), _messages(findings.warnings)
    return {
        "format_version": FORMAT_VERSION,
        "healthy": not problems,
        "problems": problems,
        "warnings": warnings,
        "findings": _finding_facts(findings),
        "lines": [
            _headline(problems, warnings),
            *lines,
            *_listed("Problem", problems),
            *_listed("Warning", warnings),
            *_acknowledged(findings.acknowledged),
        ],
        **facts,
    }


def _finding_facts(findings: ReportFindings) -> list[dict[str, t.Any]]:
    kinds = (
        ("problem", False, findings.problems),
        ("warning", False, findings.warnings),
        ("warning", True, findings.acknowledged),
    )
    return [
        {**dataclasses.asdict(finding), "severity": severity, "acknowledged": acknowledged}
        for severity, acknowledged, found in kinds
        for finding in dict.fromkeys(found)
    ]


def report_owner(installation: Installation, findings: ReportFindings, lines: list[str]) -> bool:
    """Add who runs the control plane if it is not this collection; return whether it is."""
    if not installation.managed:
        lines.append(format_line("Owner", "foreign", "this collection has not created it and only reads it"))
    elif installation.unrecorded:
        some = ", ".join(installation.unrecorded)
        findings.warning(
            "central_unrecorded",
            f"{some}: no state record of this collection, so it gets no heartbeat. If others run this control plane, set ovn_central_managed: false; "
            "if it is yours, run c5c3.ovn.central, which says what is missing.",
        )
    return installation.managed


def _messages(findings: list[ReportFinding]) -> list[str]:
    return list(dict.fromkeys(finding.message for finding in findings))


def _acknowledged(findings: list[ReportFinding]) -> list[str]:
    """Return one line with the acknowledged warnings by their codes, none without them."""
    counted: dict[tuple[str, str], int] = collections.Counter(
        (finding.code, finding.fixed_in) for finding in dict.fromkeys(findings)
    )
    listed = []
    for (code, fixed_in), count in counted.items():
        details = [f"{count} warnings"] * (count > 1) + [f"fixed in Open vSwitch {fixed_in}"] * bool(fixed_in)
        listed.append(f"{code} ({', '.join(details)})" if details else code)
    return [f"Acknowledged: {', '.join(listed)}"] if listed else []


def _headline(problems: list[str], warnings: list[str]) -> str:
    counted = [
        f"{len(found)} {label}{'s' if len(found) > 1 else ''}"
        for found, label in ((problems, "problem"), (warnings, "warning"))
        if found
    ]
    return f"OVN {'has ' if problems else 'is healthy'}{', ' if counted and not problems else ''}{', '.join(counted)}"


def _listed(label: str, findings: list[str]) -> list[str]:
    listed = findings if len(findings) <= _FINDING_LINES + 1 else findings[:_FINDING_LINES]
    lines = [f"{label}: {finding}" for finding in listed]
    more = len(findings) - len(listed)
    return [*lines, f"{label}: {more} more, see ovn_verify_report"] if more else lines


_NOT_EXPOSED = "ovn_sb_connection is empty: outside, port 16642 is for networks in neutronIntegration.sbConnection.allowedCidrs, and none is named"


def report_neutron(installation: Installation, lines: list[str]) -> dict[str, str]:
    """Return the options of Neutron's ml2_conf.ini for this installation, by their names."""
    northbound, southbound = ",".join(installation.northbound_endpoints), ",".join(installation.southbound_endpoints)
    if northbound:
        lines.append(format_line("Neutron", "", f"ovn_nb_connection = {northbound}"))
    if southbound:
        lines.append(format_line("", "", f"ovn_sb_connection = {southbound}"))
    elif northbound and any(host.members is not None for host in installation.central.values()):
        lines.append(format_line("", "", _NOT_EXPOSED))
    return {"ovn_nb_connection": northbound, "ovn_sb_connection": southbound}
