# SPDX-License-Identifier: GPL-3.0-or-later
"""northd in the report: exactly one is active, the others wait for its lock. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import TITLES
from .findings import ReportFindings, cause_of, format_line
from .installation import Host


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
