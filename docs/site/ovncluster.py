"""Print docs/ovncluster.md: each field of OVNCluster.spec with its type, default and the first sentence of its description.

Usage: .venv/bin/python docs/site/ovncluster.py > docs/ovncluster.md    after a change of plugins/module_utils/_api
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from variables import short_line

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC

HEAD = """# All fields of the OVNCluster

Every field of `spec`, which is what `ovn_cluster_spec` holds ([Kubernetes](kubernetes.md)). `docs/site/ovncluster.py` writes this page from the schema that the
API server gets; after the first run `kubectl explain ovncluster.spec --recursive` shows the same with all limits. `[]` is each item of a list, `NAME` any key.

"""


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of a field; the values where only some are allowed."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
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
    return f"default `{value}`" if isinstance(value, str) else f"default `{json.dumps(value)}`"


Schemas = dict[str, dict[str, Any]]


LONG = 60  # characters of a text that is written once


def items(schema: dict[str, Any], path: str = "", seen: dict[str, tuple[str, Schemas]] | None = None) -> Iterator[str]:
    """Yield the line of each field, after a dictionary those of its fields, unless an earlier one has the same but for defaults. Long texts come once."""
    seen = {} if seen is None else seen
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        required = "required" if name in schema.get("required", ()) else default_of(field)
        details = ", ".join(detail for detail in ("" if "properties" in field else type_of(field), required) if detail)
        described = f": {short_line(field['description'])}" if "description" in field else ""
        below = below_of(field)
        fields = json.dumps(without_defaults(below), sort_keys=True)
        like = f" {like_earlier(below, *seen[fields])}" if fields in seen else ""
        text = f"{f' ({details})' if details else ''}{described}{like}"
        equal = f".{name}{text}" if len(text) > LONG else ""
        yield f"- `{place}`: as `{seen[equal][0]}`." if equal in seen else f"- `{place}`{text}"
        seen.setdefault(equal or place, (place, below))
        for part, inner in below.items() if not like else ():
            if "properties" in inner:
                seen[fields] = place, below
            yield from items(inner, f"{place}{part}", seen)


def like_earlier(below: Schemas, place: str, earlier: Schemas) -> str:
    """Return the reference to an earlier field with the same fields, and the defaults that differ from those there."""
    there = dict(defaults_below(earlier))
    changed = [(name, default) for name, default in defaults_below(below) if there[name] != default]
    own = [f"`{name}` {default.replace('default', 'defaults to') or 'has no default'}" for name, default in changed]
    return f"Fields of `{place}`{', but ' if own else ''}{', '.join(own)}."


def defaults_below(below: Schemas, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the default of each field below."""
    for part, inner in below.items():
        for name, field in inner.get("properties", {}).items():
            place = f"{path}{part}.{name}".lstrip(".")
            yield place, default_of(field)
            yield from defaults_below(below_of(field), place)


def without_defaults(value: Any) -> Any:
    """Return a schema without the defaults in it."""
    if isinstance(value, dict):
        return {key: without_defaults(inner) for key, inner in value.items() if key != "default"}
    return [without_defaults(item) for item in value] if isinstance(value, list) else value


def below_of(field: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the schemas below a field with what their paths add: of itself, of its items, of its values."""
    below = {"": {key: field[key] for key in ("properties", "required") if key in field}}
    if field.get("type") == "array":
        below["[]"] = field["items"]
    if isinstance(field.get("additionalProperties"), dict):
        below[".NAME"] = field["additionalProperties"]
    return below


def page() -> str:
    return HEAD + "".join(f"{item}\n" for item in items(CLUSTER_SPEC))


if __name__ == "__main__":
    sys.stdout.write(page())
