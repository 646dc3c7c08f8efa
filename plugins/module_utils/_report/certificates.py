# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Certificates in the report: those that are served, and those of the chassis. Pure.
"""

from __future__ import annotations

import typing as t

from .findings import ReportFindings, Result, cause_of, format_line
from .installation import Host, Installation


def report_certificates(
    installation: Installation, reached: t.Mapping[str, Host], findings: ReportFindings, lines: list[str]
) -> dict[str, t.Any]:
    mine = ReportFindings()
    minimum = installation.certificate_days
    served: list[tuple[int, str, str]] = []
    asked = 0
    for name, host in reached.items():
        broken = []
        for certificate in (host.info or {}).get("certificates") or []:
            asked += 1
            if certificate["problem"]:
                broken.append(certificate)
            elif certificate["days_left"] is not None:
                served.append((certificate["days_left"], name, certificate["endpoint"]))
                if certificate["days_left"] < minimum:
                    mine.warnings.append(
                        f"The certificate that {name} serves at {certificate['endpoint']} ends in {certificate['days_left']} days: renew it."
                    )
        if broken:
            others = ", ".join(certificate["endpoint"] for certificate in broken[1:])
            mine.problems.append(f"{name}: {broken[0]['problem']}{f' The same goes for {others}.' if others else ''}")
    chassis, silent_count = _chassis_certificates(installation.chassis_certificates, minimum, mine)
    findings.problems += mine.problems
    findings.warnings += mine.warnings
    held = [(days_left, name, "") for name, days_left in chassis.items()]
    days, name, endpoint = min([*served, *held], default=(None, "", ""))
    # Where nobody was asked, nobody was meant to be: c5c3.ovn.status, or no TLS.
    unseen = f"; {silent_count} chassis not looked at" if chassis and silent_count else ""
    if days is not None:
        whose = f"{name} at {endpoint}" if endpoint else f"chassis {name}"
        lines.append(format_line("Certificates", mine.state(), f"{days} days left, earliest expiry: {whose}{unseen}"))
    elif asked or mine.problems or mine.warnings:
        lines.append(format_line("Certificates", mine.state("no TLS"), ""))
    return {"days_left": days, "host": name, "endpoint": endpoint, "chassis": chassis}


def _chassis_certificates(
    results: t.Mapping[str, Result | None], minimum: int, mine: ReportFindings
) -> tuple[dict[str, int], int]:
    """Days left on each machine of a chassis, and how many could not be asked. The latter is no fault of a certificate."""
    found: dict[str, int] = {}
    silent_count = 0
    for name, result in results.items():
        if result is None or result.get("unreachable") or result.get("skipped") or result.get("timedout"):
            silent_count += 1
        elif "in_service" not in result:
            cause = cause_of(result) or "the task gave no result"
            mine.warnings.append(f"The certificate of chassis {name} cannot be looked at: {cause}.")
        elif (days_left := result["days_left"]) is None:
            mine.problems.append(f"Chassis {name} has no certificate: run c5c3.ovn.hypervisors for it.")
        else:
            found[name] = days_left
            if days_left < 0:
                mine.problems.append(f"The certificate of chassis {name} has ended: run c5c3.ovn.hypervisors for it.")
            elif not result["in_service"]:
                mine.problems.append(
                    f"The certificate of chassis {name} is not valid yet, or its key is missing or another one: "
                    "look at the clock there, then run c5c3.ovn.hypervisors for it."
                )
            elif days_left < minimum:
                mine.warnings.append(
                    f"The certificate of chassis {name} ends in {days_left} days: run c5c3.ovn.hypervisors for it."
                )
    return found, silent_count
