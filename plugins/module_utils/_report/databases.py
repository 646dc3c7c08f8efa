# SPDX-License-Identifier: GPL-3.0-or-later
"""The databases of the report: one verdict from the answers of all members, the addresses that clients use, and what members are asked again. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.status import pod_of
from .._base.databases import DATABASE_NAMES, DATABASES, TITLES
from .._raft.answer import Answer, failed_answer
from .._raft.contents import Contents, compare
from .._raft.findings import Reason
from .._raft.standalone import assess_foreign
from .._raft.verdict import Verdict, assess
from .findings import ReportFindings, Result, cause_of, format_line
from .installation import Installation


def assess_database(installation: Installation, database: str) -> Verdict:
    """Return the verdict on the answers of all members; a host that could not be asked counts as an unresponsive member."""
    name = DATABASE_NAMES[database]
    answers: list[Answer] = []
    for member, host in installation.central.items():
        result = getattr(host, database)
        if result and "answers" in result:
            answers += [Answer.from_dict(answer) for answer in result["answers"]]
        else:
            answers.append(
                failed_answer(member, name, "unreachable", f"{cause_of(result) or 'the host was not asked'}.")
            )
    read: dict[str, Contents] = {}
    for host in installation.central.values():
        read.update(contents_in(host.contents.get(database)))
    answers = [dataclasses.replace(a, contents=read[a.member]) if a.member in read else a for a in answers]
    if not installation.managed:
        return assess_foreign(answers)
    return assess(answers, installation.members(database) or None)


def contents_in(result: Result | None) -> dict[str, Contents]:
    """Return what members hold according to a result of ovn_raft_status; a member that could not be asked is left out."""
    answers = [Answer.from_dict(data) for data in (result or {}).get("answers") or ()]
    return {answer.member: answer.contents for answer in answers if answer.contents is not None}


def database_facts(verdict: Verdict) -> dict[str, t.Any]:
    facts = verdict.as_dict()
    del facts["raw_read_only"]
    return facts


def report_reasons(verdicts: t.Mapping[str, Verdict], installation: Installation, findings: ReportFindings) -> None:
    """Add the reasons of the verdicts, each once: both databases run on the same hosts and often have the same ones."""
    titles_of: dict[Reason, list[str]] = {}
    unreachable = {name for name, host in installation.central.items() if host.unreachable}
    for database, verdict in verdicts.items():
        reasons = [*verdict.reasons]
        if not verdict.healthy and not reasons:
            reasons.append(Reason("verdict", None, f"the verdict is {verdict.verdict}."))
        for reason in reasons:
            # A host that cannot be reached is a problem of its own already.
            if reason.code != "unreachable" or reason.member not in unreachable:
                # Reasons of one message are one finding, whichever name or address of the member they have.
                titles_of.setdefault(reason._replace(member=None), []).append(TITLES.get(database, database))
    for reason, titles in titles_of.items():
        message = f"{' and '.join(dict.fromkeys(titles))}: {reason.message}"
        if reason.severity == "problem":
            findings.problem(reason.code, message)
        else:
            findings.warning(reason.code, message, reason.fixed_in)


def summarize(verdict: Verdict, declared: int | None, pods: bool) -> str:
    """Return what follows the verdict on its line. `declared`: how many members there should be; None counts those that there are."""
    if verdict.verdict == "standalone":
        return f"{', '.join(str(member['member']) for member in verdict.members)}, no Raft cluster"
    connected = sum(bool(member["connected"] and member["listed"] is not False) for member in verdict.members)
    if declared is None:
        declared = len(verdict.members)
    details = [
        # Operators know pods. A leader that only others name has an address, which begins with the name of its pod.
        f"leader {pod_of(verdict.leader) if pods else verdict.leader}" if verdict.leader else "no leader",
        f"{connected}/{declared} members",
        f"term {verdict.term}" if verdict.term is not None else "",
        f"timer {verdict.election_timer} ms" if verdict.election_timer is not None else "",
        f"cluster {verdict.cluster_id[:8]}" if verdict.cluster_id else "",
    ]
    return ", ".join(detail for detail in details if detail)


def report_addresses(installation: Installation, findings: ReportFindings, lines: list[str]) -> list[str]:
    """Return the addresses that a client cannot use."""
    if not installation.addresses:
        return []
    dead = [certificate for certificate in installation.addresses if certificate["problem"]]
    asked, viewpoint = len(installation.addresses), f"seen from {installation.asked_from}"
    if dead:
        causes = " ".join(certificate["problem"] for certificate in dead)
        findings.problem(
            "address_unreachable",
            f"{len(dead)} of {asked} addresses that clients use do not answer, {viewpoint}: {causes}",
        )
    lines.append(
        format_line(
            "Addresses", "problem" if dead else "healthy", f"{asked - len(dead)}/{asked} answer clients, {viewpoint}"
        )
    )
    return [certificate["endpoint"] for certificate in dead]


def what_to_ask_again(infos: t.Sequence[Result], *, awaits_northd: bool) -> dict[str, t.Any]:
    """Return whether central hosts have to be asked again, and which databases are read then.

    Members are compared by what they hold at one log index. Those on several hosts are read at slightly different moments, so what is written in between
    keeps them from being compared. And the first call has little time for large databases and for a northd that connects.
    """
    databases = databases_to_read_again(infos)
    awaited = awaits_northd and is_northd_connecting(infos)
    return {"needed": awaited or bool(databases), "databases": databases}


def databases_to_read_again(infos: t.Iterable[Result]) -> list[str]:
    """Return the databases of which a member was not read, or whose members were read at different log indexes."""
    states: list[t.Mapping[str, Result]] = [info.get("raft") or {} for info in infos]
    found: list[str] = []
    for database in DATABASES:
        compared = compare({m: held for state in states for m, held in contents_in(state.get(database)).items()})
        if compared.apart or compared.unread:
            found.append(database)
    return found


def is_northd_connecting(infos: t.Iterable[Result]) -> bool:
    """Return whether a northd that runs is not connected to its databases."""
    northds: list[Result] = [info.get("northd") or {} for info in infos]
    return any(northd.get(f"{database}_connected") is False for northd in northds for database in DATABASES)
