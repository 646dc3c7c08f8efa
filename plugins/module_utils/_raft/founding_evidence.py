# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence on one host of an older control plane: settings of its chassis, state records, database files. Read only."""

from __future__ import annotations

import os
import pathlib
import typing as t

from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError
from .._chassis.lists import read_servers
from .._ovsdb.endpoint import Endpoint, parse_endpoint, parse_endpoints
from .._ovsdb.listener import is_listening
from .._ovsdb.rows import select
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .record import parse_record

_MAGIC = b"OVSDB CLUSTER"
_ANSWER_SECONDS = 1.0
# Settings of ovn-controller whose names begin like those of ovn-remote for one of several chassis (ovn-remote-NAME).
_NO_REMOTE = "ovn-remote-probe-interval"


class Evidence(t.NamedTuple):
    """`text` names what the host has. `database` is empty if it concerns both."""

    text: str
    database: str = ""


def chassis_evidence(openvswitch: str, own_endpoints: t.Sequence[str], timeout: float) -> list[Evidence]:
    """Return the evidence in the Open vSwitch database; none without such a database. `timeout` in seconds.

    An `ovn-remote` that names one of `own_endpoints`, where the new databases will listen, is no evidence as long as nothing listens there.
    """
    endpoint = parse_endpoint(openvswitch)
    if endpoint.scheme == "unix" and not os.path.exists(endpoint.host):
        return []
    with Connection(endpoint, TlsFiles(None, None, None), Deadline(timeout)) as connection:
        tables = {"Open_vSwitch": ["external_ids"], "Bridge": ["name", "external_ids"]}
        found = select(connection, "Open_vSwitch", tables)
    own = {(known.host, known.port) for known in parse_endpoints(own_endpoints)}
    evidence = []
    for row in found["Open_vSwitch"]:
        for key, value in sorted(row["external_ids"].items()):
            if key == "ovn-remote" or (key.startswith("ovn-remote-") and key != _NO_REMOTE):
                evidence += _remote_evidence(key, value, own)
    for row in found["Bridge"]:
        if int(row["external_ids"].get("ovn-nb-cfg") or 0) > 0:
            evidence.append(Evidence(f"bridge {row['name']} with ovn-nb-cfg, so it has followed a Southbound database"))
    return evidence


def _remote_evidence(key: str, value: str, own: t.Container[tuple[str, int]]) -> list[Evidence]:
    try:
        endpoints = parse_endpoints(read_servers(value))
    except InvalidInput:
        return [Evidence(f"{key} {value}")]
    others = [e for e in endpoints if (e.host, e.port) not in own]
    if others:
        return [Evidence(f"{key} {value}")]
    answering = [str(e) for e in endpoints if _answers(e)]
    return [Evidence(f"{key} {value}, and {', '.join(answering)} answers")] if answering else []


def _answers(endpoint: Endpoint) -> bool:
    if endpoint.scheme == "unix":
        return os.path.exists(endpoint.host)
    return is_listening(endpoint.host, endpoint.port, _ANSWER_SECONDS)


def record_evidence(directories: t.Iterable[str]) -> list[Evidence]:
    """Return the state records in these directories and in renamed ones beside them (`c5c3-ovn.old/northbound`, `c5c3-ovn/northbound.bak`)."""
    seen: set[str] = set()
    evidence = []
    for directory in directories:
        target = pathlib.Path(directory)
        # Names with a dot last: they are the revisions to which the others link.
        for parent in _children(target.parent, target.name):
            for child in _children(parent):
                file = child / "record.json"
                real = os.path.realpath(file)
                if os.path.lexists(file) and real not in seen:
                    seen.add(real)
                    evidence += _one_record(file)
    return evidence


def _children(directory: pathlib.Path, prefix: str = "") -> list[pathlib.Path]:
    try:
        names = [name for name in os.listdir(directory) if name.lstrip(".").startswith(prefix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [directory / name for name in sorted(names, key=lambda name: (name.startswith("."), name))]


def _one_record(file: pathlib.Path) -> list[Evidence]:
    try:
        record = parse_record(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, OvnError):
        return [Evidence(f"a state record that cannot be read ({file})")]
    if record.cid is None:  # an interrupted first run
        return []
    return [Evidence(f"the state record of {record.database} cluster {record.cid} ({file})", record.database)]


def file_evidence(directories: t.Iterable[str]) -> list[Evidence]:
    """Return the database files of cluster members, also those that were moved aside under another name."""
    evidence = []
    for directory in dict.fromkeys(directories):
        for file in _children(pathlib.Path(directory), "ovn"):
            if file.is_file() and _magic_of(file) == _MAGIC:
                database = {"ovnnb": "northbound", "ovnsb": "southbound"}.get(file.name.lstrip(".")[:5], "")
                evidence.append(Evidence(f"a database file of a cluster member ({file})", database))
    return evidence


def _magic_of(file: pathlib.Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(len(_MAGIC))
