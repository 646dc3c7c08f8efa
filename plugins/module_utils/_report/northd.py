# SPDX-License-Identifier: GPL-3.0-or-later
"""northd in the report: exactly one is active, the others wait for its lock. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import INTERCONNECTION, TITLES
from .._raft.answer import Answer
from .._raft.standalone import assess_foreign
from .._raft.verdict import Verdict
from .databases import report_reasons, summarize
from .findings import ReportFindings, cause_of, format_line
from .installation import Host, Installation

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
