# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences about an older control plane, from the evidence of hosts and the note beside the CA. Pure."""

from __future__ import annotations

import json
import typing as t

from .._base.errors import InvalidInput
from .._base.sentences import list_names

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
