# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences about an older control plane, from the evidence of hosts and the note beside the CA. Pure."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

from .._base.deadline import Deadline
from .._base.errors import InvalidInput, OvnError, list_names
from .._chassis.text import read_servers
from .._ovsdb.endpoint import Endpoint, is_listening, parse_endpoint, parse_endpoints
from .._ovsdb.rows import select
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .record import parse_record

# Evidence on one host of an older control plane: settings of its chassis, state records, database files. Read only.

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


_NAMED = 3  # of hosts with the same evidence


class WitnessReport(t.NamedTuple):
    """`witnesses` are sentences; `unexamined` maps a host to the reason why it was not examined."""

    witnesses: list[str]
    unexamined: dict[str, str]


def witness_report(
    results: t.Iterable[t.Mapping[str, t.Any]], databases: t.Collection[str], central: t.Collection[str]
) -> WitnessReport:
    """Return what the results of ovn_founding_witnesses, one for each host (`item`), prove about `databases`."""
    holders: dict[str, list[str]] = {}
    unexamined: dict[str, str] = {}
    for result in results:
        host = result["item"]
        if "witnesses" not in result:
            unexamined[host] = _why_unexamined(result)
            continue
        for known in result["witnesses"]:
            if not known["database"] or known["database"] in databases:
                holders.setdefault(known["text"], []).append(host)
        if result["unexamined"]:
            unexamined[host] = "; ".join(result["unexamined"])
    sentences = [f"{_hosts(hosts, central)} {text}" for text, hosts in holders.items()]
    return WitnessReport(sentences, unexamined)


def _why_unexamined(result: t.Mapping[str, t.Any]) -> str:
    if result.get("unreachable"):
        return "unreachable"
    return "a Kubernetes cluster, or declared gone" if result.get("skipped") else str(result.get("msg") or "failed")


def _hosts(names: t.Sequence[str], central: t.Collection[str]) -> str:
    kind = "central host" if all(name in central for name in names) else "hypervisor"
    if len(names) == 1:
        return f"{kind} {names[0]} has"
    return f"{kind}s {list_names(names, _NAMED)} have"


def note_witnesses(text: str, path: str, databases: t.Collection[str]) -> list[str]:
    """Return a sentence for each cluster of `databases` in the note beside the CA, or one that says why it cannot be read."""
    try:
        clusters = parse_note(text, path)
    except InvalidInput as e:
        return [str(e)]
    return [
        f"the CA in {path.rpartition('/')[0]} has served {cluster['database']} cluster {cid} of {', '.join(cluster['members'])}"
        for cid, cluster in clusters.items()
        if cluster["database"] in databases
    ]


def parse_note(text: str, path: str) -> dict[str, dict[str, t.Any]]:
    """Return the clusters by cluster id, each with `database`, `members` and `noted` (a timestamp); `InvalidInput` if the note is damaged."""
    try:
        clusters = json.loads(text)["clusters"] if text.strip() else {}
        return {
            str(cid): {
                "database": str(c["database"]),
                "members": [str(name) for name in c["members"]],
                "noted": str(c["noted"]),
            }
            for cid, c in clusters.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InvalidInput(
            f"{path}, the note about the clusters of this CA, cannot be read ({type(e).__name__}: {e}). "
            "Restore it, or remove it if there is no older control plane"
        ) from e


def add_to_note(text: str, path: str, cids: t.Mapping[str, str], members: t.Sequence[str], now: str) -> str:
    """Return the text with the clusters `cids` (database to cluster id) in it; the same text if they are there already."""
    clusters = parse_note(text, path)
    new = {
        cid: {"database": d, "members": list(members), "noted": now} for d, cid in cids.items() if cid not in clusters
    }
    if not new:
        return text
    return json.dumps({"clusters": {**clusters, **new}}, indent=2, sort_keys=True) + "\n"
