# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of one database in pods, as `_raft/status.py` asks them."""

from __future__ import annotations

import dataclasses
import functools
import time
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused
from .._kubernetes.command import COMMAND_SECONDS
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events
from .._kubernetes.pod_watch import list_events, list_pods, node_of, unresponsive_nodes
from .._kubernetes.rollout_progress import CONTAINER, is_database_container_running
from .._ovsdb.wire import ask_all
from .._raft.answer import Answer, failed_answer
from .._raft.ask import AskResult, problem_of
from .._raft.contents import ATTEMPTS, Contents, compare
from .._raft.record import FORMER, parse_record
from .._raft.status import Source
from .examine_pod import examine_command, parse_examination

# The contents of members in pods: the digests are computed by a command in each pod, so that no row leaves it. They are other digests than those of machines:
# only members of one kind can be compared.

if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster, ExecResult

# A client keeps a whole table in memory, which counts against the limit of the pod in which the server runs.
_MAXIMUM_BYTES = 100 * 1024 * 1024

# One line a table: its name and the digest of its rows, in order. The last line has the log index, which was the same before and after.
# Servers fill in two columns of Connection themselves, so that table is left out.
_SCRIPT = """
case $OVN_DATABASE in
northbound) stem=ovnnb_db database=OVN_Northbound ;;
*) stem=ovnsb_db database=OVN_Southbound ;;
esac
socket=unix:$OVN_RUN_DIR/$stem.sock
query='["_Server",{"op":"select","table":"Database","where":[["name","==","'$database'"]],"columns":["index"]}]'
size=$(stat -L -c %s "$OVN_DB_FILE") || exit 1
[ "$size" -le "$2" ] || { echo "@large $size" && exit 0; }
client() { ovsdb-client -t "$limit" -f csv -d json --no-headings "$@" || echo @failed >&2; }
index() {
    client query "$socket" "$query" |
        grep -o '"index":[0-9]*'
}
digest() { client dump "$socket" "$database" "$1" | { LC_ALL=C sort -S 32M -T "${OVN_STATE_DIR:-/tmp}" || echo @failed >&2; } | sha256sum; }
limit=$1 attempts=4
tables=$(client list-tables "$socket" "$database" | grep -o '[A-Za-z_0-9]*' | grep -xv Connection)
while [ "$attempts" -gt 0 ]; do
    attempts=$((attempts - 1))
    before=$(index)
    sleep 0.2
    digests=$(for table in $tables; do echo "$table $(digest "$table")"; done)
    [ "$(index)" = "$before" ] || continue
    printf '%s\n@index %s\n' "$digests" "${before#*:}"
    exit 0
done
echo @moved
"""


def contents_command(seconds: float) -> list[str]:
    """Return the command; `seconds` is the time limit for each table."""
    return ["sh", "-c", _SCRIPT, "sh", str(max(1, int(seconds))), str(_MAXIMUM_BYTES)]


def parse_contents(result: ExecResult) -> Contents:
    """Return the contents from the output of the command."""
    *lines, last = result.stdout.splitlines() or [""]
    keyword, _blank, number = last.partition(" ")
    if keyword == "@moved":
        return Contents(problem=f"it was written to in each of {ATTEMPTS} attempts to read it")
    if keyword == "@large" and number.isdigit():
        return Contents(problem=f"its file has {int(number) // 1024**2} MiB, too much to be read inside of its pod")
    tables = dict(line.removesuffix(" -").rstrip().split(" ", 1) for line in lines if " " in line)
    if result.code != 0 or "@failed" in result.stderr or keyword != "@index" or not number.isdigit() or not tables:
        message = " ".join(result.stderr.split())[-200:]
        return Contents(
            problem=f"the command in its pod failed with code {result.code}: {message or 'it printed nothing'}"
        )
    return Contents(int(number), tables)


def add_pod_contents(cluster: Cluster, namespace: str, answers: t.Sequence[Answer], seconds: float) -> list[Answer]:
    """Return the same answers, those of connected members with their contents; read at the same time, and again while they are at different indexes."""
    members = [answer.member for answer in answers if answer.server and answer.server.connected]
    deadline = Deadline(seconds)
    found: dict[str, Contents] = {}
    for _attempt in range(ATTEMPTS):
        left = max(1.0, deadline.left())

        def read(member: str, limit: float = left) -> Contents:
            return parse_contents(cluster.exec(namespace, member, CONTAINER, contents_command(limit), timeout=limit))

        for member, outcome in zip(members, ask_all(members, read, Deadline(left + 5))):
            found[member] = Contents(problem=str(outcome).rstrip(".")) if isinstance(outcome, OvnError) else outcome
        if not compare(found).apart or deadline.expired:
            break
    return [dataclasses.replace(answer, contents=found.get(answer.member)) for answer in answers]


# The answers of all members of one database that run in pods, and for each that gave none what Kubernetes says about it.

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
    declared = [member for member, m in record.members.items() if m.state not in FORMER] if record else []
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


if t.TYPE_CHECKING:
    from .._base.databases import Database
    from .._kubernetes.client import Cluster


def source_of_pods(cluster: Cluster, namespace: str, name: str, database: Database) -> Source:
    """Return the source for the pods of the OVNCluster `name`."""
    return Source(
        functools.partial(ask_pods, cluster, namespace, name, database),
        functools.partial(add_pod_contents, cluster, namespace),
    )
