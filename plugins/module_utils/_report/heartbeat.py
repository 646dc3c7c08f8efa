# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat in the report: a number that northd and every chassis answer. Pure."""

from __future__ import annotations

import typing as t

from .findings import ReportFindings, cause_of, format_line
from .installation import Installation


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
