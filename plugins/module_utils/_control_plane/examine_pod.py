# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of one command in the pod of a database member: the file, the mounted record, the answers of the server. Pure.

The command needs nothing of this collection but the launcher's verb `state`, so pods of an older version can be examined as well.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import BadAnswer, OvnError
from .._daemons.schema_update import Schemas
from .._kubernetes.rollout_progress import is_outdated, is_terminating
from .._ovsdb.server import SERVER_QUERY, databases_in
from .._raft.answer import Answer, Problem, failed_answer
from .._raft.ask import answer_of_server, problem_of
from .._raft.cluster_witness import ClusterWitness, Witness, number_or_none, parse_cluster_witness, parse_witness
from .._raft.observation import Observation
from .._raft.parse import parse_cluster_status
from .._raft.sizing import LOADING_SECONDS
from .._raft.standalone import Space, find_space_problem

if t.TYPE_CHECKING:
    from .._kubernetes.client import ExecResult

LAUNCHER = "/scripts/ovn-raft-launcher"
EXAMINE_SECONDS = 25.0  # the command asks several times, each with its own limit

# Each part begins with @NAME CODE, and its lines with a blank: no output of a program can pass for a part.
# Two samples of a leader, as the gates need them.
_SCRIPT = """
case $OVN_DATABASE in
northbound) stem=ovnnb_db database=OVN_Northbound schema=/usr/share/ovn/ovn-nb.ovsschema ;;
*) stem=ovnsb_db database=OVN_Southbound schema=/usr/share/ovn/ovn-sb.ovsschema ;;
esac
ctl=$OVN_RUN_DIR/$stem.ctl
part() {
    name=$1
    shift
    printf '@%s\\n' "$name" >&2
    text=$("$@")
    code=$?
    printf '@%s %s\\n' "$name" "$code"
    printf '%s\\n' "$text" | sed 's/^/ /'
}
process() {
    pid=$(cat "$OVN_RUN_DIR/$stem.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
    tr '\\0' '\\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF -- "$OVN_DB_FILE" || return 1
    echo "$(($(date +%s) - $(stat -c %Y "$OVN_STATE_DIR/state")))"
}
part status ovs-appctl -T 5 -t "$ctl" cluster/status "$database"
if [ "$code" -eq 0 ]; then
    case $text in *'Role: leader'*)
        sleep 0.1
        part status ovs-appctl -T 5 -t "$ctl" cluster/status "$database" ;;
    esac
fi
[ "$code" -ge 128 ] || part version ovs-appctl -T 5 -t "$ctl" version
part terms cat "$OVN_RUN_DIR/$stem.terms"
part server ovsdb-client -t 3 query "unix:$OVN_RUN_DIR/$stem.sock" "$2"
served=$code
case $code$text in 0*'"connected":true'*) connected=yes ;; *) connected=no ;; esac
# A connected member knows its ids best: of its file only the presence counts.
presence() {
    if [ -s "$OVN_DB_FILE" ]; then class=member
    elif [ -e "$OVN_DB_FILE" ]; then class=empty
    elif [ -d "${OVN_DB_FILE%/*}" ]; then class=none
    else class=unknown; fi
    printf '%s\\n' "class=$class" cid= sid= reason= decision= detail=
}
local_witness() { cat "${OVN_WITNESS_FILE:-${OVN_RECORD_DIR%/}.witness}" 2>/dev/null || :; }
witnesses() { local_witness; cat "$OVN_RECORD_DIR/witness" 2>/dev/null || :; }
space() {
    [ ! -e "$OVN_STATE_DIR/incomplete" ] || echo incomplete=yes
    stat -f -c 'free=%a*%S' "${OVN_DB_FILE%/*}" && stat -L -c 'file=%s' "$OVN_DB_FILE"
}
schemas() {
    ovsdb-client -t 3 get-schema-version "unix:$OVN_RUN_DIR/$stem.sock" "$database" && ovsdb-tool schema-version "${OVN_SCHEMA:-$schema}"
}
case $3$served in always0) part schema schemas ;; esac
part process process
part launcher cat "$OVN_STATE_DIR/state" "$OVN_STATE_DIR/reason"
part record cat "$OVN_RECORD_DIR/record.json"
case $3$connected$served in
alwaysyes*) part file presence ;;
always* | unresponsive*[1-9]*) part file timeout 15 sh "$1" state ;;
esac
[ "$3" != always ] || { part local_witness local_witness; part witness witnesses; part space space 2>/dev/null; }
part end true
"""


def examine_command(file: t.Literal["always", "unresponsive", "never"]) -> list[str]:
    """Return the command. `file`: examine the file always (only its presence if the member is connected), if no server answers, or never."""
    return ["sh", "-c", _SCRIPT, "sh", LAUNCHER, json.dumps(SERVER_QUERY), file]


EXAMINE = examine_command("always")


class _Part(t.NamedTuple):
    code: int
    text: str
    error: str


class ParsedExamination(t.NamedTuple):
    """The result of the command: the answer of the server, and the facts of the pod. `decision` is what the launcher would do with file and record."""

    answer: Answer
    file: dict[str, str]  # empty if the launcher could not examine it
    problem: str  # why the state of the member is unknown
    loading: bool  # a server is there, but does not answer yet
    decision: str
    waiting: str  # the reason of the launcher, while it waits
    revision: int | None  # of the record that is mounted in the pod
    witness: Witness
    space: Space

    @property
    def running(self) -> bool:
        return self.answer.is_responding or self.loading


def parse_examination(database: str, member: str, result: ExecResult, taken: float = 0.0) -> ParsedExamination:
    """Return the parsed output of `examine_command`. `taken` is the time of the command, seconds since 1970."""
    parts = _parts(result)
    answer = _answer(DATABASE_NAMES[database], member, parts, taken)
    file, problem = dict[str, str](), ""
    part = parts["file"][-1] if "file" in parts else _Part(result.code, "", "the command was interrupted")
    if part.code == 0:
        file = dict(line.split("=", 1) for line in part.text.splitlines() if "=" in line)
    elif "file" in parts:  # that says nothing about the data
        message = f"The launcher cannot examine the file (code {part.code}): {part.error.strip()[-300:] or 'it printed nothing'}"
        file = {"class": "unknown", "cid": "", "sid": "", "reason": message, "detail": ""}
    if not {"class", "cid", "sid", "reason", "detail"} <= file.keys():  # the last one shows that the output is complete
        problem = f"its launcher cannot examine the file (code {part.code}): {part.error.strip()[-300:] or 'it printed nothing'}"
    if "end" not in parts:
        problem = "the command was interrupted"
    age = parts["process"][-1] if "process" in parts else None
    loading = not answer.is_responding and age is not None and age.code == 0
    if loading and age is not None and _number(age.text) >= LOADING_SECONDS:
        loading = False
        problem = f"its server runs, but does not answer since {age.text.strip()} s. It hangs: check its log, then delete the pod {member}"
    launcher = parts["launcher"][-1].text.strip() if "launcher" in parts else ""
    state, _newline, reason = launcher.partition("\n")
    waiting = reason if state in ("ask", "refuse", "idle") and not answer.is_responding else ""
    if waiting:
        answer = dataclasses.replace(
            answer, problems=(Problem("unreachable", f"No server runs in the pod: {waiting}"),)
        )
    return ParsedExamination(
        answer=answer,
        file=file,
        problem=problem,
        loading=loading,
        decision=file.get("decision", ""),
        waiting=waiting,
        revision=_revision(parts["record"][-1].text) if "record" in parts else None,
        witness=parse_witness(parts["witness"][-1].text if "witness" in parts else ""),
        space=_space(parts["space"][-1].text if "space" in parts else ""),
    )


def parse_observation(
    database: str,
    member: str,
    result: ExecResult | None,
    pod: t.Mapping[str, t.Any],
    update_revision: str,
    record: dict[str, t.Any] | None,
) -> Observation | None:
    """Return the observation of one member for a plan; None if its state is unknown.

    `result` is None if the command could not be run. `record` is the stored one, not the one that is mounted in the pod.
    """
    if result is None or is_terminating(pod):
        return None
    parsed = parse_examination(database, member, result)
    if parsed.problem:
        return None
    answer, server, status = parsed.answer, parsed.answer.server, parsed.answer.status
    connected = bool(server and server.connected)
    cid, sid = answer.cluster_id, answer.server_id
    if server is not None:
        cid, sid = server.cluster_id or cid, server.server_id or sid
    file_sid = sid if connected else parsed.file["sid"] or None
    running_index = status.log_next - 1 if status is not None and status.log_next > 0 else None
    return Observation(
        member,
        file_class=parsed.file["class"],
        file_cid=cid if connected else parsed.file["cid"] or None,
        file_sid=file_sid,
        file_reason=parsed.file["reason"],
        record=record,
        running=parsed.running,
        connected=connected,
        leader=bool(server and server.leader),
        cid=cid,
        sid=sid,
        last_term=None if running_index is not None else number_or_none(parsed.file.get("last_term")),
        last_index=running_index if running_index is not None else number_or_none(parsed.file.get("last_index")),
        witness_index=parsed.witness.index_of(sid or file_sid),
        witnesses=parsed.witness.by_short_sid(),
        witness_entry=parsed.witness.entries.get(sid or file_sid or ""),
        # A server that has given up completes no file: only a restart helps it.
        start_problem=find_space_problem(
            f"pod {member}", parsed.space._replace(incomplete=connected and parsed.space.incomplete)
        ),
        file_bytes=parsed.space.file,
        free_bytes=parsed.space.free,
        listed={listed.sid: listed.address for listed in status.servers} if status else {},
        restart_reason="its pod template has changed" if parsed.running and is_outdated(pod, update_revision) else "",
        answer=answer.as_dict(),
    )


def explain_unknown(database: str, member: str, result: ExecResult, pod: t.Mapping[str, t.Any]) -> str:
    """Return why `parse_observation` returned None."""
    if is_terminating(pod):
        return "its pod is terminating"
    return parse_examination(database, member, result).problem


def parse_schemas(result: ExecResult) -> Schemas:
    """Return the schema versions of the database of the server, and of the image."""
    part = _parts(result).get("schema", [_Part(1, "", "")])[-1]
    versions = part.text.split()
    return Schemas(*versions) if part.code == 0 and len(versions) == 2 else Schemas(None, None)


def parse_local_witness(result: ExecResult) -> ClusterWitness:
    """Return the witness of the launcher itself, without the one in the ConfigMap."""
    return parse_cluster_witness(_parts(result).get("local_witness", [_Part(1, "", "")])[-1].text)


def _parts(result: ExecResult) -> dict[str, list[_Part]]:
    errors: dict[str, str] = {}
    name = ""
    for line in result.stderr.splitlines():
        if line.startswith("@"):
            name = line[1:]
            errors[name] = ""
        else:
            errors[name] = f"{errors.get(name, '')}{line}\n"
    found: dict[str, list[_Part]] = {}
    for line in result.stdout.splitlines():
        if line.startswith("@"):
            name, _blank, code = line[1:].partition(" ")
            found.setdefault(name, []).append(_Part(_number(code), "", errors.get(name, "")))
        elif name in found:
            last = found[name][-1]
            found[name][-1] = last._replace(text=f"{last.text}{line[1:]}\n")
    return found


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as e:
        raise BadAnswer(f"A command in a pod printed {text!r} where a number is expected.") from e


def _space(text: str) -> Space:
    """Return the space from the lines `incomplete=yes` (only if so), `free=BLOCKS*BYTES` and `file=BYTES` (only if there is a file)."""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    blocks, _times, size = values.get("free", "").partition("*")
    known = blocks.isdigit() and size.isdigit()
    return Space(number_or_none(values.get("file")), int(blocks) * int(size) if known else None, "incomplete" in values)


def _revision(text: str) -> int | None:
    try:
        return int(json.loads(text)["revision"])
    except (ValueError, TypeError, KeyError):
        return None


def _answer(database: str, member: str, parts: dict[str, list[_Part]], taken: float) -> Answer:
    problems: list[Problem] = []
    found: dict[str, t.Any] = {}
    for name, parse_part in (("status", _parse_control_part), ("server", _parse_server_part)):
        if name not in parts:
            continue
        try:
            fields = parse_part(member, database, parts[name])
        except OvnError as e:
            fields = {"problems": (problem_of(e),)}
        # A dead or frozen process is reported once, not for each of its sockets.
        problems.extend(p for p in fields.pop("problems", ()) if p.code not in {known.code for known in problems})
        found.update(fields)
    version = parts.get("version", [_Part(1, "", "")])[-1]
    if version.code == 0:
        found["version"] = version.text
    terms = parts.get("terms", [_Part(1, "", "")])[-1]
    if terms.code == 0:
        found["log_terms"] = terms.text
    if not found and not parts:
        return failed_answer(member, database, "bad_answer", f"Pod {member} gave no answer about its database.")
    return Answer(member, database, **found, problems=tuple(problems), taken=taken)


def _parse_control_part(member: str, database: str, samples: list[_Part]) -> dict[str, t.Any]:
    last = samples[-1]
    if last.code != 0:
        return {"problems": (_refusal(member, database, last, "control socket"),)}
    parse_cluster_status(last.text)
    return {"cluster_status": last.text, "earlier_status": samples[0].text if len(samples) > 1 else None}


def _parse_server_part(member: str, database: str, samples: list[_Part]) -> dict[str, t.Any]:
    part = samples[-1]
    if part.code != 0:
        return {"problems": (_refusal(member, database, part, "database socket"),)}
    try:
        rows = databases_in(json.loads(part.text), f"Pod {member}")
    except ValueError as e:
        raise BadAnswer(f"Pod {member} answered a query of _Server with {part.text[:200]!r}.") from e
    return answer_of_server(f"Pod {member}", database, rows)


def _refusal(member: str, database: str, part: _Part, place: str) -> Problem:
    message = part.error.strip()[-300:]
    if "unknown cluster" in message or "not a valid command" in message:
        return Problem(
            "no_database",
            f"Pod {member} knows no cluster {database}: the server left it, or it serves another database.",
        )
    if part.code >= 128:  # ended by the alarm clock of its time limit
        return Problem("timeout", f"The {place} of pod {member} does not answer in time: its server is busy or hangs.")
    return Problem("unreachable", f"No server answers on the {place} of pod {member}: {message}")
