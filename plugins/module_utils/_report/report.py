# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on a whole installation, from the results of its central hosts and the answers to a heartbeat. Pure."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._base.databases import DATABASES, INTERCONNECTION, TITLES
from .._raft.answer import Answer
from .._raft.standalone import assess_foreign
from .._raft.verdict import Verdict
from .certificates import report_certificates, report_versions
from .chassis import report_chassis
from .databases import assess_database, database_facts, report_addresses, report_reasons, summarize
from .findings import ReportFinding, ReportFindings, cause_of, format_line
from .installation import Host, Installation

# northd in the report: exactly one is active, the others wait for its lock. Pure.

# The databases of OVN interconnection in the report, if central hosts have them. Others run them, this collection only reads. Pure.


def report_interconnection(
    installation: Installation, findings: ReportFindings, lines: list[str]
) -> list[dict[str, t.Any]]:
    """Add a line for each database of interconnection and what is wrong with it; return their verdicts, none without such databases."""
    verdicts: dict[str, Verdict] = {}
    facts = []
    for database in INTERCONNECTION:
        title = f"IC {TITLES[database]}"
        results = {
            name: host.interconnection[database]
            for name, host in installation.central.items()
            if database in host.interconnection
        }
        if not results:
            continue
        answers: list[Answer] = []
        for name, result in results.items():
            answers += [Answer.from_dict(answer) for answer in result.get("answers") or ()]
            if "answers" not in result:
                findings.problem("error", f"{title}: {name}: {cause_of(result) or 'it gave no answer'}.")
        verdicts[title] = verdict = assess_foreign(answers)
        lines.append(format_line(title, verdict.verdict, summarize(verdict, None, pods=False)))
        facts.append(
            {
                "database": database,
                "verdict": verdict.verdict,
                "healthy": verdict.healthy,
                "writable": verdict.writable,
                "cluster_id": verdict.cluster_id,
                "leader": verdict.leader,
                "members": [str(member["member"]) for member in verdict.members],
            }
        )
    report_reasons(verdicts, installation, findings)
    return facts


# The heartbeat in the report: a number that northd and every chassis answer. Pure.


def report_heartbeat(installation: Installation, findings: ReportFindings, lines: list[str]) -> dict[str, t.Any]:
    """Add the line and the problems of the heartbeat; return its number and its times in milliseconds."""
    heartbeat = installation.heartbeat
    if not heartbeat or "nb_cfg" not in heartbeat:
        if installation.inside_only is not None:
            lines.append(
                format_line("Heartbeat", "not sent", "the databases are only reachable inside of their cluster")
            )
        else:
            cause = cause_of(heartbeat) or "no central host could be asked"
            findings.problem("heartbeat_not_sent", f"The heartbeat could not be sent: {cause}.")
            lines.append(format_line("Heartbeat", "problem", "not sent"))
        return {"nb_cfg": None, "probed": False, "northd_alive": None, "sb_ms": None, "hv_ms": None}
    number, sb_ms, hv_ms = heartbeat["nb_cfg"], heartbeat["sb_ms"], heartbeat["hv_ms"]
    if not heartbeat["northd_alive"]:
        findings.problem("heartbeat_unanswered", heartbeat["reason"])
        lines.append(format_line("Heartbeat", "problem", f"number {number} was not answered by northd"))
    elif sb_ms is None:
        details = f"the last one was number {number}, northd answered it" if number else "there was none so far"
        lines.append(format_line("Heartbeat", "not sent", details))
    else:
        chassis = f"all chassis {_ms(hv_ms)}" if hv_ms is not None else "not all chassis answered"
        state = "healthy" if hv_ms is not None or not heartbeat["probed"] else "problem"
        lines.append(format_line("Heartbeat", state, f"northd {_ms(sb_ms)}, {chassis} (number {number})"))
    return {key: heartbeat[key] for key in ("nb_cfg", "probed", "northd_alive", "sb_ms", "hv_ms")}


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def report_northd(
    reached: t.Mapping[str, Host], findings: ReportFindings, lines: list[str], *, managed: bool = True
) -> dict[str, t.Any]:
    """Add the line and the findings of northd; return the names of northds by state.

    Where others run it (`managed` is false), it may run anywhere: one without a control socket is not missing, and the heartbeat tells whether any works.
    """
    found: dict[str, list[str]] = {"active": [], "standby": [], "paused": [], "unreachable": []}
    section = findings.new_section()
    for host_name, host in reached.items():
        for name, northd in host.northds(host_name):
            state = northd.get("state", "unreachable")
            if not managed and northd.get("present") is False:
                continue
            found[state].append(name)
            _judge_northd(name, state, northd, host, section)
    if not managed and not any(found.values()):
        lines.append(format_line("northd", "not asked", "no control socket of it is known"))
        return found
    if len(found["active"]) > 1:
        section.problem(
            "northd_several_active",
            f"northd is active on {', '.join(found['active'])} at once. Only the one with the lock of the Southbound leader may be.",
        )
    elif not found["active"]:
        section.problem("northd_none_active", "No northd is active: network changes do not reach the chassis.")
    findings.add(section)
    details = "; ".join(f"{state} on {', '.join(names)}" for state, names in found.items() if names)
    lines.append(format_line("northd", section.state(), details or "not asked"))
    return found


def _judge_northd(name: str, state: str, northd: t.Mapping[str, t.Any], host: Host, section: ReportFindings) -> None:
    if state == "paused":
        section.problem(
            "northd_paused",
            f"northd on {name} is paused. Resume it with ovn-appctl -t /run/ovn/ovn-northd.ctl resume.",
        )
    elif state == "unreachable":
        cause = (northd.get("reason") or cause_of(host.info) or "it was not asked").rstrip(".")
        section.problem("northd_unreachable", f"northd on {name} does not answer: {cause}.")
    for database, title in TITLES.items():
        if northd.get(f"{database}_connected") is False:
            section.problem("northd_disconnected", f"northd on {name} is not connected to the {title} database.")


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
