# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares an observed object with the desired one. The API server adds defaults and writes quantities in a form of its own."""

from __future__ import annotations

import decimal
import hashlib
import json
import re
import typing as t

from .timestamps import unix_seconds

# Quantities of Kubernetes (`500m`, `10Gi`). The API server stores them in one canonical form; we send that form, so that an object that did not change also
# reads the same. The client of Kubernetes parses them; it does not know the canonical form.

PATTERN = r"^[0-9]+(\.[0-9]+)?([mkMGTPE]|[KMGTPE]i)?$"  # what users may write: no sign, no exponent

_FORM = re.compile(PATTERN[1:-1])
_DECIMAL = ("m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def parse_quantity(value: t.Any) -> decimal.Decimal:
    """Return the number, of whatever form the API server may answer; `ValueError` if it is no quantity."""
    from kubernetes.utils.quantity import parse_quantity as parse  # `ApiConnection` says what to do if it is missing

    number: decimal.Decimal = parse(str(value))
    return number


def canonical_quantity(text: str) -> str:
    """Return the form in which the API server stores the quantity: with the largest suffix that leaves a whole number. `ValueError` if it is none."""
    if not _FORM.fullmatch(text):
        raise ValueError(f'"{text}" is no quantity like 500m, 2, 512Mi or 10Gi')
    value = parse_quantity(text)
    # The API server, too, takes a binary suffix only from 1024 on.
    base, suffixes = (1024, _BINARY) if text.endswith("i") and value >= 1024 else (1000, _DECIMAL)
    scaled = value if base == 1024 else value * 1000
    number = int(scaled)
    if number != scaled:
        raise ValueError(f'"{text}" is a fraction that Kubernetes would round; use a smaller unit')
    if not number:
        return "0"
    steps = 0
    while number % base == 0 and steps < len(suffixes) - 1:
        number, steps = number // base, steps + 1
    return f"{number}{suffixes[steps]}"


APPLIED = "ovn.c5c3.io/applied"
Object = dict[str, t.Any]

# Lists that the API server merges by a key: others may add items of their own, and keep them.
_MERGED_BY: t.Mapping[str, tuple[tuple[str, ...], ...]] = {
    "containers": (("name",),),
    "initContainers": (("name",),),
    "env": (("name",),),
    "volumes": (("name",),),
    "volumeMounts": (("mountPath",),),
    "imagePullSecrets": (("name",),),
    "ownerReferences": (("uid",),),
    "hostAliases": (("ip",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
}
# Kinds in which these field names have another meaning.
_WITHOUT_MERGED_LISTS = frozenset({"NetworkPolicy", "CustomResourceDefinition", "ConfigMap", "Secret"})
_KEY_DEFAULTS = {"protocol": "TCP"}
_QUANTITIES = frozenset({"limits", "requests", "capacity", "hard"})


def applied_hash(manifest: Object) -> str:
    """Return a hash of all that we apply. It also changes when we no longer apply a field."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


def with_hash(manifest: Object) -> Object:
    metadata = manifest["metadata"]
    annotations = {**(metadata.get("annotations") or {}), APPLIED: applied_hash(manifest)}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def is_applied(manifest: Object, observed: Object) -> bool:
    """Return whether the observed object carries the hash of `manifest`, and no other client has changed a field of it since."""
    annotations = (observed.get("metadata") or {}).get("annotations") or {}
    return annotations.get(APPLIED) == applied_hash(manifest) and contains(observed, manifest)


def contains(observed: Object, desired: Object) -> bool:
    return _within(desired, observed, "", desired.get("kind") not in _WITHOUT_MERGED_LISTS, False)


def _within(desired: t.Any, observed: t.Any, field: str, merged: bool, quantities: bool) -> bool:
    if isinstance(desired, dict) and isinstance(observed, dict):
        quantity = quantities or field in _QUANTITIES
        return all(_within(value, observed.get(key), key, merged, quantity) for key, value in desired.items())
    if isinstance(desired, list) and isinstance(observed, list):
        return _list_within(desired, observed, field, merged)
    if observed is None:
        return not desired  # what is empty, zero or false is left out when it is stored
    if desired is None:
        return False
    if quantities or field == "sizeLimit":
        return bool(quantity_of(desired) == quantity_of(observed))
    # 1 == True, but a field that changed its type has changed
    return type(desired) is type(observed) and bool(desired == observed)


def _list_within(desired: list[t.Any], observed: list[t.Any], field: str, merged: bool) -> bool:
    keys = _MERGED_BY.get(field, ()) if merged else ()
    for key in keys:
        if all(isinstance(item, dict) and key[0] in item for item in desired):
            there = {_key_of(item, key): item for item in observed if isinstance(item, dict)}
            return all(_within(item, there.get(_key_of(item, key)), "", merged, False) for item in desired)
    return len(desired) == len(observed) and all(
        _within(one, other, "", merged, False) for one, other in zip(desired, observed)
    )


def _key_of(item: Object, key: tuple[str, ...]) -> tuple[t.Any, ...]:
    return tuple(item.get(part, _KEY_DEFAULTS.get(part)) for part in key)


def quantity_of(value: t.Any) -> t.Any:
    """Return the number of "1Gi" or "500m", anything else as it is."""
    try:
        return parse_quantity(value)
    except ValueError:
        return value


def format_manifest(manifest: Object | None) -> Object:
    """Return what a diff shows: without fields that the API server sets, and without secrets."""
    if manifest is None:
        return {}
    metadata = {
        key: value
        for key, value in (manifest.get("metadata") or {}).items()
        if key not in ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")
    }
    content = {key: value for key, value in manifest.items() if key not in ("status", "metadata")}
    if manifest.get("kind") == "Secret":
        for field in ("data", "stringData"):
            if content.get(field):
                content[field] = {key: masked(value) for key, value in content[field].items()}
    if content.get("binaryData"):  # archives, which are not readable in a diff
        content["binaryData"] = {key: _digest(value) for key, value in content["binaryData"].items()}
    return {**content, "metadata": metadata}


def _digest(value: t.Any) -> str:
    return f"({len(str(value))} characters in base64, sha256 {hashlib.sha256(str(value).encode()).hexdigest()[:12]})"


def masked(value: t.Any) -> str:
    """Return a text that differs for different secrets, so that a diff shows a change."""
    return f"(secret, sha256 {hashlib.sha256(str(value).encode()).hexdigest()[:12]})"


def was_created(answer: Object, field_manager: str) -> bool:
    """Return whether our apply has created the object: no other field manager has written it, and it was created when we last wrote it."""
    metadata = answer.get("metadata") or {}
    entries = metadata.get("managedFields") or []
    return all(
        entry.get("manager") == field_manager
        and abs(unix_seconds(entry.get("time")) - unix_seconds(metadata.get("creationTimestamp")))
        <= 1  # they are rounded
        for entry in entries
    )
