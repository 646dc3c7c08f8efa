"""Cluster files of any size, written as ovsdb-server writes them: the schema's record, then entries with rows, each with its hash."""

from __future__ import annotations

import hashlib
import json
import typing as t
import uuid
from pathlib import Path

from _launcher_lib import tool

# A logical switch port of a cloud has about this much around it.
_ROW_BYTES = 5000
_MIB = 2**20


def _record(content: t.Mapping[str, t.Any]) -> bytes:
    body = json.dumps(content, separators=(",", ":")).encode() + b"\n"
    return b"OVSDB CLUSTER %d %s\n%s" % (
        len(body),
        hashlib.sha1(body, usedforsecurity=False).hexdigest().encode(),
        body,
    )


def _rows(count: int, name: str) -> dict[str, t.Any]:
    filling = ["map", [["filling", "x" * _ROW_BYTES]]]
    return {str(uuid.uuid4()): {"name": f"{name}-{number}", "external_ids": filling} for number in range(count)}


def grow_log(file: Path, mebibytes: int) -> int:
    """Append committed entries of one MiB each to a member's file that has only just been created. Returns the last index."""
    header = json.loads(file.read_bytes().split(b"\n", 2)[1])
    term, index = header["prev_term"], header["prev_index"]
    with file.open("ab") as log:
        for number in range(mebibytes):
            index += 1
            data = [
                None,
                {"Logical_Switch": _rows(_MIB // _ROW_BYTES, str(number)), "_date": 1700000000000, "_is_diff": True},
            ]
            log.write(_record({"eid": str(uuid.uuid4()), "data": data, "term": term, "index": index}))
            log.write(_record({"commit_index": index}))
    return int(index)


def grow_snapshot(file: Path, mebibytes: int) -> int:
    """Write a member's file again as after a compaction: everything is in record 0. Returns the last index."""
    header = json.loads(file.read_bytes().split(b"\n", 2)[1])
    schema, _rows_before = header["prev_data"]
    header["prev_data"] = [schema, {"Logical_Switch": _rows(mebibytes * (_MIB // _ROW_BYTES), "s")}]
    header["prev_index"] += 1000
    # The server's own order: keys on both sides of the snapshot.
    order = ("prev_eid", "cluster_id", "name", "prev_term", "prev_data", "prev_election_timer", "prev_servers")
    order = (*order, "server_id", "prev_index", "local_address")
    assert set(header) <= set(order), header.keys()
    file.write_bytes(_record({key: header[key] for key in order if key in header}))
    return int(header["prev_index"])


def create(file: Path, schema: str, address: str) -> None:
    tool("create-cluster", file, schema, address)
