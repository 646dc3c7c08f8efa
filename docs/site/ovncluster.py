"""Print docs/ovncluster.md: each field of OVNCluster.spec with its type, default and the first sentence of its description.

Usage: .venv/bin/python docs/site/ovncluster.py > docs/ovncluster.md    after a change of plugins/module_utils/_api
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from variables import first_sentence

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC

HEAD = """# All fields of the OVNCluster

Every field of `spec`, which is what `ovn_cluster_spec` holds ([Kubernetes](kubernetes.md)). `docs/site/ovncluster.py` writes this page from the schema that the
API server gets; after the first run `kubectl explain ovncluster.spec --recursive` shows the same with all limits. `[]` is each item of a list, `NAME` any key.

| Field | Type | Default | Meaning |
|---|---|---|---|
"""


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of a field; the values where only some are allowed."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'])}"
    kind = {"object": "dictionary"}.get(schema.get("type", ""), schema.get("type", "any"))
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{kind}, {low} to {high}" if low is not None and high is not None else kind


def default_of(schema: dict[str, Any]) -> str:
    """Return the default, nothing where there is none or the fields below have it."""
    value = schema.get("default")
    if value in (None, {}, "") or "properties" in schema:
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def rows(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield a row for each field, those of a dictionary after it."""
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        required = "required" if name in schema.get("required", ()) else default_of(field)
        described = first_sentence(field["description"]) if "description" in field else ""
        yield f"| `{place}` | {type_of(field)} | {required} | {described} |"
        yield from rows(field, place)
        if field.get("type") == "array":
            yield from rows(field["items"], f"{place}[]")
        if isinstance(field.get("additionalProperties"), dict):
            yield from rows(field["additionalProperties"], f"{place}.NAME")


def page() -> str:
    return HEAD + "".join(f"{row}\n" for row in rows(CLUSTER_SPEC))


if __name__ == "__main__":
    sys.stdout.write(page())
