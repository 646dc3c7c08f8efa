"""Clients that write and read through all members at once, and the history of what they asked and were told.

Every operation is one transaction that also inserts a row with a name of its own into Logical_Switch, reads as well: a select alone is
answered by a leader that nobody follows any more. The transaction first waits for the name to be absent, because servers repeat what an
election has cut off. So at the end the rows tell of each operation whether it took effect, also where the client has had no answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
import threading
import time
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import Operation, decode, encode_map, transact
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

ROWS, REGISTERS = "Logical_Switch", "Address_Set"
ANSWER_SECONDS = 4.0
KEYS = 3  # registers in use at a time
KEY_SECONDS = 10.0  # then new ones: short histories are checked at once, long ones never
_PAUSE = 0.05

Outcome = t.Literal["ok", "failed", "conflict", "unknown"]


@dataclasses.dataclass
class Entry:
    """One operation. `row` is the name that it inserts; times are nanoseconds of the monotonic clock; `value` is what a read returned."""

    client: int
    row: str
    key: str
    kind: t.Literal["read", "swap"]
    before: str
    after: str
    called: int
    returned: int = 0
    outcome: Outcome = "unknown"
    value: str = ""
    member: str = ""
    error: str = ""


class Writer(threading.Thread):
    """One client: a member at a time, another one after each failure and now and then, as clients with all addresses do."""

    def __init__(self, number: int, endpoints: t.Sequence[str], seed: int, stop: threading.Event) -> None:
        super().__init__(name=f"writer{number}", daemon=True)
        self.number, self.endpoints, self.stopping = number, list(endpoints), stop
        self.chance = random.Random(seed * 1000 + number)
        self.history: list[Entry] = []
        self.crash: BaseException | None = None
        self._connection: Connection | None = None
        self._known: dict[str, str] = {}  # key -> value as this client last saw it

    def run(self) -> None:
        try:
            for count in itertools.count():
                if self.stopping.wait(_PAUSE * self.chance.uniform(0.5, 1.5)):
                    break
                self._operate(f"chaos-{self.number}-{count}")
        except BaseException as e:  # a fault of ours: told at the end
            self.crash = e
        finally:
            self._leave()

    def _operate(self, row: str) -> None:
        key = f"key-{int(time.monotonic() / KEY_SECONDS)}-{self.chance.randrange(KEYS)}"
        swap = self.chance.random() < 0.6
        entry = Entry(
            self.number,
            row,
            key,
            "swap" if swap else "read",
            self._known.get(key, "") if swap else "",
            row if swap else "",
            0,
        )
        if self.chance.random() < 0.02:
            self._leave()
        entry.called = time.monotonic_ns()
        try:
            connection = self._connect(entry)
        except OvnError as e:
            entry.outcome, entry.error = "failed", str(e)  # nothing was sent
        else:
            self._transact(connection, entry)
        entry.returned = time.monotonic_ns()
        self.history.append(entry)

    def _connect(self, entry: Entry) -> Connection:
        if self._connection is None:
            entry.member = self.chance.choice(self.endpoints)
            self._connection = Connection(parse_endpoint(entry.member), TlsFiles(), Deadline(1.0))
        entry.member = self._connection.name
        return self._connection

    def _transact(self, connection: Connection, entry: Entry) -> None:
        connection.deadline = Deadline(ANSWER_SECONDS)
        operations = _read(entry) if entry.kind == "read" else _swap(entry)
        try:
            answers = transact(connection, "OVN_Northbound", [*operations, *_unique_row(entry.row)])
        except OvnError as e:
            # A conflict: somebody else was faster, or the server repeats what it has done. The row will tell, also after a time-out.
            entry.error = str(e)
            self._known.pop(entry.key, None)
            if isinstance(e, Conflict):
                entry.outcome = "conflict"
            else:
                self._leave()
        else:
            entry.outcome = "ok"
            if entry.kind == "read":
                rows = answers[0]["rows"]
                entry.value = decode(rows[0]["external_ids"]).get("value", "") if rows else ""
            self._known[entry.key] = entry.value if entry.kind == "read" else entry.after

    def _leave(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None


def _where(name: str) -> list[t.Any]:
    return [["name", "==", name]]


def _wait(table: str, name: str, columns: list[str], rows: list[dict[str, t.Any]]) -> Operation:
    return {
        "op": "wait",
        "timeout": 0,
        "table": table,
        "where": _where(name),
        "columns": columns,
        "until": "==",
        "rows": rows,
    }


def _unique_row(name: str) -> list[Operation]:
    return [_wait(ROWS, name, ["name"], []), {"op": "insert", "table": ROWS, "row": {"name": name}}]


def _read(entry: Entry) -> list[Operation]:
    return [{"op": "select", "table": REGISTERS, "where": _where(entry.key), "columns": ["external_ids"]}]


def _swap(entry: Entry) -> list[Operation]:
    row = {"name": entry.key, "external_ids": encode_map({"value": entry.after})}
    if not entry.before:
        return [_wait(REGISTERS, entry.key, ["name"], []), {"op": "insert", "table": REGISTERS, "row": row}]
    expected = {"external_ids": encode_map({"value": entry.before})}
    return [
        _wait(REGISTERS, entry.key, ["external_ids"], [expected]),
        {"op": "update", "table": REGISTERS, "where": _where(entry.key), "row": {"external_ids": row["external_ids"]}},
    ]
