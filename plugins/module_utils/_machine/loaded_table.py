# SPDX-License-Identifier: GPL-3.0-or-later
"""A loaded table as `nft -j` lists it (libnftables-json(5)), in a form that can be compared with the desired one. Pure."""

from __future__ import annotations

import ipaddress
import json
import typing as t

from .._base.errors import BadAnswer
from .ruleset import FAMILY, TABLE, Network, Table, collapse

Json = dict[str, t.Any]


def has_table(text: str) -> bool:
    """Return whether the answer of `nft -j list tables` has our table."""
    return any(
        one["table"].get("family") == FAMILY and one["table"].get("name") == TABLE
        for one in _objects(text)
        if "table" in one
    )


def parse_table(text: str) -> Table:
    """Return the table in the answer of `nft -j list table`. What no table of ours has is kept as JSON, so that it differs from every desired one."""
    sets: dict[str, tuple[Network, ...]] = {}
    chains: dict[str, str] = {}
    rules: list[str] = []
    other: list[str] = []
    for one in _objects(text):
        if "set" in one and (networks := _networks(one["set"])) is not None:
            sets[one["set"]["name"]] = networks
        elif "chain" in one and "hook" in one["chain"]:
            chain = one["chain"]
            place = f"type {chain['type']} hook {chain['hook']} priority {chain['prio']}"
            chains[chain["name"]] = f"{place}; policy {chain['policy']};"
        elif "rule" in one:
            rules.append(_rule(one["rule"]["expr"]))
        elif "metainfo" not in one and "table" not in one:
            other.append(json.dumps(one, sort_keys=True))
    return Table(sets, chains, tuple(rules), tuple(other))


def _objects(text: str) -> list[Json]:
    try:
        return t.cast("list[Json]", json.loads(text)["nftables"])
    except (ValueError, KeyError, TypeError) as e:
        raise BadAnswer(
            f"The answer of nft cannot be read: {text[:200]!r}. Is it a version with JSON (nft --version)?"
        ) from e


def _networks(a_set: Json) -> tuple[Network, ...] | None:
    """Return the networks of a set; None if it is no set of ours. From nft 1.1.4 on a single flag is no list."""
    if a_set.get("type") not in ("ipv4_addr", "ipv6_addr") or a_set.get("flags") not in (["interval"], "interval"):
        return None
    try:
        return collapse(network for element in a_set.get("elem") or () for network in _element(element))
    except (ValueError, KeyError, TypeError):
        return None


def _element(element: t.Any) -> t.Iterable[Network]:
    if isinstance(element, str):
        return [ipaddress.ip_network(element)]
    if "prefix" in element:
        return [ipaddress.ip_network(f"{element['prefix']['addr']}/{element['prefix']['len']}")]
    first, last = map(ipaddress.ip_address, element["range"])
    return ipaddress.summarize_address_range(t.cast("t.Any", first), t.cast("t.Any", last))


def _rule(expressions: t.Sequence[Json]) -> str:
    return " ".join(map(_expression, expressions))


def _expression(expression: Json) -> str:
    """Return an expression in the language of nft(8) if rules of ours have it, else as JSON."""
    if expression in ({"accept": None}, {"drop": None}):
        return next(iter(expression))
    match = expression.get("match") or {}
    left, right = match.get("left") or {}, match.get("right")
    if match.get("op") == "==" and isinstance(right, (int, str)):
        if left == {"meta": {"key": "iif"}}:
            return f'iif "{right}"'
        payload = left.get("payload") or {}
        if set(payload) == {"protocol", "field"}:
            return f"{payload['protocol']} {payload['field']} {right}"
    return json.dumps(expression, sort_keys=True)
