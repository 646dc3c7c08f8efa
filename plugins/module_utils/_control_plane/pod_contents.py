# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of members in pods: the digests are computed by a command in each pod, so that no row leaves it. They are other digests than those of
machines: only members of one kind can be compared.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._kubernetes.rollout_progress import CONTAINER
from .._ovsdb.wire import ask_all
from .._raft.answer import Answer
from .._raft.contents import ATTEMPTS, Contents, compare

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
