# SPDX-License-Identifier: GPL-3.0-or-later
"""The databases of OVN interconnection in the report, if central hosts have them. Others run them, this collection only reads. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import INTERCONNECTION, TITLES
from .._raft.answer import Answer
from .._raft.standalone import assess_foreign
from .._raft.verdict import Verdict
from .databases import report_reasons, summarize
from .findings import ReportFindings, cause_of, format_line
from .installation import Installation


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
