# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers of all members of one database that run in pods, and for each that gave none what Kubernetes says about it."""

from __future__ import annotations

import time
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused
from .._kubernetes.command import COMMAND_SECONDS
from .._kubernetes.nodes import node_of, unresponsive_nodes
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events
from .._kubernetes.pods import list_events, list_pods
from .._kubernetes.rollout_progress import CONTAINER, is_database_container_running
from .._ovsdb.wire import ask_all
from .._raft.answer import Answer, failed_answer
from .._raft.ask import AskResult, problem_of
from .._raft.record import parse_record
from .examine_pod import examine_command, parse_examination

if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster

Pod = dict[str, t.Any]


def _unreachable_reason(member: str, pod: t.Mapping[str, t.Any] | None, node: str | None) -> str:
    """Return why no command can be run in the pod, empty if one can; `node` is what is wrong with its node."""
    if pod is None:
        return f"Pod {member} does not exist."
    if node:
        return f"Pod {member} cannot be asked: {node}."
    return "" if is_database_container_running(pod) else f"Pod {member} does not run."


def _as_answer(database: str, member: str, outcome: Answer | OvnError) -> Answer:
    if not isinstance(outcome, OvnError):
        return outcome
    problem = problem_of(outcome)
    return failed_answer(member, DATABASE_NAMES[database], problem.code, problem.message)


def ask_pods(
    cluster: Cluster, namespace: str, name: str, database: str, timeout: float, earlier: t.Sequence[Answer] = ()
) -> AskResult:
    """Return the answers of all members, asked at the same time, `timeout` seconds each (at least `COMMAND_SECONDS`).

    A member that timed out in an `earlier` round is not asked again. `Refused` if there is no such database.
    """
    owner, timeout = f"{name}-{database}", max(timeout, COMMAND_SECONDS)
    pods = list_pods(cluster, namespace, name, database)
    stored = cluster.get("v1", "ConfigMap", f"{owner}-record", namespace)
    text = ((stored or {}).get("data") or {}).get("record.json")
    record = parse_record(text) if text else None
    declared = [member for member, m in record.members.items() if m.state != "absent"] if record else []
    names = list(dict.fromkeys((*declared, *sorted(pods))))
    if not names:
        raise Refused(
            f"There is no {database} database of the OVNCluster {name} in namespace {namespace}: neither pods nor a state record. "
            "Compare cluster and namespace with those of ovn_cluster."
        )
    command = examine_command("never")
    unresponsive = unresponsive_nodes(cluster)
    timed_out = {a.member: a for a in earlier if not a.is_responding and any(p.code == "timeout" for p in a.problems)}

    def one(member: str) -> Answer:
        pod = pods.get(member)
        node = unresponsive.get(node_of(pod)) if pod else None
        if member in timed_out and pod and not node:
            return timed_out[member]
        if reason := _unreachable_reason(member, pod, node):
            return failed_answer(member, DATABASE_NAMES[database], "unreachable", reason)
        result = cluster.exec(namespace, member, CONTAINER, command, timeout=timeout)
        return parse_examination(database, member, result, time.time()).answer

    outcomes = ask_all(names, one, Deadline(timeout + 5))
    answers = [_as_answer(database, member, outcome) for member, outcome in zip(names, outcomes)]
    diagnoses = _diagnose_pods(cluster, namespace, owner, pods, [a.member for a in answers if not a.is_responding])
    answers = [_with_diagnosis(answer, diagnoses.get(answer.member, "")) for answer in answers]
    return AskResult(answers, len(declared) or None, record.cid if record else None)


def _diagnose_pods(
    cluster: Cluster, namespace: str, owner: str, pods: t.Mapping[str, Pod], members: t.Sequence[str]
) -> dict[str, str]:
    """Return why these pods do not run, the latest message about each."""
    if not members:
        return {}
    events = list_events(cluster, namespace)
    diagnoses: dict[str, str] = {}
    for member in members:
        diagnosis = diagnose_containers(pods[member]) if member in pods else diagnose_events(events, owner, [owner])
        diagnosis += diagnose_events(events, member, [member])
        diagnoses[member] = diagnosis[0].rstrip(".") if diagnosis else ""
    return diagnoses


def _with_diagnosis(answer: Answer, diagnosis: str) -> Answer:
    if not diagnosis or not answer.problems:
        return answer
    code, message = answer.problems[0]
    return failed_answer(answer.member, answer.database, code, f"{message} Kubernetes says: {diagnosis}.")
