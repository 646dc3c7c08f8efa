"""What has to be true at the end: every acknowledged write is there once on each member, all members are equal, histories are linearizable."""

from __future__ import annotations

import collections
import hashlib
import json
import shutil
import subprocess
import typing as t
from pathlib import Path

from faults import Server
from writers import ROWS, Entry

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import transact
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

_CHECKER = Path(__file__).parent / "checker"
_END = 1 << 62  # nanoseconds: later than any answer


class NoGo(Exception):
    """Histories cannot be checked here; the message says why."""


def rows_on(host: Server) -> collections.Counter[str]:
    """How often each name stands in the table on this member."""
    with Connection(parse_endpoint(host.socket), TlsFiles(), Deadline(30)) as connection:
        select = {"op": "select", "table": ROWS, "where": [], "columns": ["name"]}
        (answer,) = transact(connection, "OVN_Northbound", [select])
    return collections.Counter(row["name"] for row in answer["rows"])


def digest_of(host: Server) -> str:
    """A digest of the contents of all tables, row by row, without the order."""
    with Connection(parse_endpoint(host.socket), TlsFiles(), Deadline(30)) as connection:
        schema = connection.call("get_schema", ["OVN_Northbound"])
        tables = sorted(schema["tables"])
        selects: list[dict[str, t.Any]] = [{"op": "select", "table": table, "where": []} for table in tables]
        answers = transact(connection, "OVN_Northbound", selects)
    hashed = hashlib.sha256()
    for table, answer in zip(tables, answers):
        # _version is no part of the contents: each server makes its own.
        rows = [{column: value for column, value in row.items() if column != "_version"} for row in answer["rows"]]
        hashed.update("\n".join([table, *sorted(json.dumps(row, sort_keys=True) for row in rows)]).encode())
    return hashed.hexdigest()


def acknowledged(hosts: t.Sequence[Server], history: t.Sequence[Entry]) -> list[str]:
    """What is wrong with the rows on the members."""
    problems = []
    for host in hosts:
        rows = rows_on(host)
        lost = [entry.row for entry in history if entry.outcome == "ok" and not rows[entry.row]]
        twice = sorted(name for name, number in rows.items() if number > 1)
        never = [entry.row for entry in history if entry.outcome == "failed" and rows[entry.row]]
        for found, what in (
            (lost, "acknowledged rows are lost"),
            (twice, "rows exist more than once"),
            (never, "rows exist that were never sent"),
        ):
            if found:
                problems.append(f"{host.id}: {len(found)} {what}: {', '.join(found[:5])}")
    digests = {host.id: digest_of(host) for host in hosts}
    if len(set(digests.values())) > 1:
        problems.append(f"the members differ in contents: {digests}")
    return problems


def effective(history: t.Sequence[Entry], rows: t.Container[str]) -> list[dict[str, t.Any]]:
    """The operations that took effect, as the checker reads them. Without an answer, one may have done so at any time after its call."""
    return [
        {
            "client": entry.client,
            "key": entry.key,
            "kind": entry.kind,
            "before": entry.before,
            "after": entry.after,
            "value": entry.value,
            "answered": entry.outcome == "ok",
            "called": entry.called,
            "returned": entry.returned if entry.outcome == "ok" else _END,
        }
        for entry in history
        if entry.outcome == "ok" or entry.row in rows
    ]


def build_checker(directory: Path) -> Path:
    """The program that checks histories; `NoGo` if it cannot be built."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise NoGo("Go is missing (https://go.dev/dl)")
    program = directory / "checker"
    built = subprocess.run(
        [go, "build", "-o", str(program), "."], cwd=_CHECKER, check=False, capture_output=True, text=True, timeout=600
    )
    if built.returncode:
        raise NoGo(f"building the checker failed: {built.stderr.strip()[-1000:]}")
    return program


def linearizable(program: Path, operations: t.Sequence[dict[str, t.Any]], directory: Path) -> tuple[str, list[str]]:
    """What the checker says of all registers, and what is wrong."""
    lines = "".join(json.dumps(operation) + "\n" for operation in operations)
    done = subprocess.run(
        [str(program), str(directory)], input=lines, check=False, capture_output=True, text=True, timeout=1800
    )
    *found, summary = (done.stdout + done.stderr).strip().splitlines() or ["the checker printed nothing"]
    return summary, found if done.returncode == 0 else found or [f"the checker ended with {done.returncode}: {summary}"]
