# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of a report have in common: problems, warnings and lines for people.

A problem means that something does not work or would not survive the next failure. A warning needs the attention of an operator, in time.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .._chassis.datapath import CODES as DATAPATH_CODES

# The codes of the findings of a report, which are public and stay what they are: docs/troubleshooting.md has each of them.

PROBLEMS = frozenset(
    {
        # hosts and what their daemons answer
        "host_unreachable",
        "unreachable",
        "timeout",
        "certificate",
        "refused",
        "bad_answer",
        "no_database",
        "error",
        # a database as a whole
        "two_clusters",
        "foreign_cluster",
        "two_leaders",
        "stale_leader",
        "no_quorum",
        "no_leader",
        "writes_blocked",
        "diverged",
        "member_count",
        "ghost",
        "duplicate_address",
        "duplicate_server_id",
        "partial_view",
        "verdict",
        # one member
        "member_missing",
        "disconnected",
        "unheard",
        "not_listed",
        "joining",
        "leaving",
        "lagging",
        "lost_writes",
        "wrong_name",
        "not_clustered",
        "election_timer_differs",
        # northd and heartbeat
        "northd_paused",
        "northd_unreachable",
        "northd_disconnected",
        "northd_several_active",
        "northd_none_active",
        "heartbeat_not_sent",
        "heartbeat_unanswered",
        # chassis
        "chassis_not_read",
        "chassis_not_registered",
        "chassis_late",
        "chassis_unready",
        "duplicate_system_id",
        "duplicate_encapsulation_ip",
        "duplicate_hostname",
        "port_bound_elsewhere",
        *DATAPATH_CODES,
        "chassis_certificate_missing",
        "chassis_certificate_expired",
        "metadata_agent_certificate_expired",
        "chassis_certificate_invalid",
        # what clients use
        "endpoint_unusable",
        "address_unreachable",
    }
)
WARNINGS = frozenset(
    {
        "partial_view",
        "size_unknown",
        "not_compared",
        "even_members",
        "standalone_several",
        "central_unrecorded",
        "uncommitted",
        "election_timer_changing",
        "one_way",
        "unknown_status",
        "fault_join",
        "fault_leave",
        "fault_pre_vote",
        "fault_wrong_peer",
        "fault_transfer",
        "fault_single_member",
        "versions_differ",
        "northd_foreign",
        "chassis_unexpected",
        "gateway_without_mapping",
        "gateway_chassis_missing",
        "mapping_with_blank",
        "hypervisor_not_read",
        "datapath_types_mixed",
        "certificate_expires",
        "chassis_certificate_expires",
        "metadata_agent_certificate_expires",
        "chassis_certificate_name",
        "chassis_certificates_open_northbound",
        "chassis_certificate_shared",
        "chassis_certificate_unreadable",
    }
)


def acknowledge_problem(codes: t.Iterable[str]) -> str:
    """Return why codes cannot be acknowledged, an empty text if they can: only warnings can."""
    problems = [code for code in codes if code in PROBLEMS - WARNINGS]
    unknown = [code for code in codes if code not in PROBLEMS | WARNINGS]
    if not problems and not unknown:
        return ""
    causes = [f"{', '.join(unknown)}: no such code"] if unknown else []
    causes += [f"{', '.join(problems)}: problems cannot be acknowledged, only warnings"] if problems else []
    return f"ovn_verify_acknowledge: {'; '.join(causes)}. Use codes of these: {', '.join(sorted(WARNINGS))}."


_STATUS = '{"kind":"Status"'  # how the API server begins an answer that says why not
Result = t.Mapping[str, t.Any]
"""What a task returned; one without its values failed, and `msg` says why."""


@dataclasses.dataclass(frozen=True)
class ReportFinding:
    """A problem or a warning. `code` is in `PROBLEMS` or `WARNINGS`; `fixed_in` the release without the fault that a warning is about, else empty."""

    code: str
    message: str
    fixed_in: str = ""


@dataclasses.dataclass
class ReportFindings:
    """`acknowledge` has codes: warnings with one of them are listed as acknowledged and change no state."""

    acknowledge: frozenset[str] = frozenset()
    problems: list[ReportFinding] = dataclasses.field(default_factory=list)
    warnings: list[ReportFinding] = dataclasses.field(default_factory=list)
    acknowledged: list[ReportFinding] = dataclasses.field(default_factory=list)

    def problem(self, code: str, message: str) -> None:
        self.problems.append(ReportFinding(code, message))

    def warning(self, code: str, message: str, fixed_in: str = "") -> None:
        found = self.acknowledged if code in self.acknowledge else self.warnings
        found.append(ReportFinding(code, message, fixed_in))

    def new_section(self) -> ReportFindings:
        """Return empty findings for a part of the report, which has a state of its own."""
        return ReportFindings(self.acknowledge)

    def add(self, section: ReportFindings) -> None:
        self.problems += section.problems
        self.warnings += section.warnings
        self.acknowledged += section.acknowledged

    def state(self, good: str = "healthy") -> str:
        return "problem" if self.problems else "warning" if self.warnings else good


def format_line(label: str, state: str, details: str, width: int = 13) -> str:
    return f"{label:<{width}} {state:<11} {details}".rstrip()


def cause_of(result: Result | None) -> str:
    """Return the cause of a failed result in one line, empty without one."""
    text = " ".join(str((result or {}).get("msg") or "").split())
    return (_status_message(text) or text).removeprefix("Task failed: ").removesuffix(".")


def _status_message(text: str) -> str:
    """Return what the API server said, from a message of kubernetes.core with headers and a traceback around it; empty if it is not in there."""
    _before, found, after = text.partition(_STATUS)
    if not found:
        return ""
    try:
        status, _end = json.JSONDecoder().raw_decode(_STATUS + after)
    except ValueError:
        return ""
    return str(status.get("message") or "")
