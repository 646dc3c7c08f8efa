# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Walks a schema as the API server does: completes a value with its defaults, and refuses what does not fit. So a mistake is reported before anything is
sent, in messages of our own.
"""

from __future__ import annotations

import difflib
import re
import typing as t

from .._errors import InvalidInput

if t.TYPE_CHECKING:
    from .fields import Schema

_TYPES: dict[str, tuple[type, str]] = {
    "object": (dict, "a mapping"),
    "array": (list, "a list"),
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


def complete(schema: Schema, value: t.Any, path: str) -> t.Any:
    """Return the value with all defaults of the schema; `InvalidInput` names the path of the field that does not fit."""
    if schema.get("x-kubernetes-int-or-string") and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    kind, expected = _TYPES[schema.get("type", "string")]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        hint = " Put it in quotes." if kind is str and isinstance(value, (bool, int, float)) else ""
        raise InvalidInput(f"{path} is {format_value(value)}, but it has to be {expected}.{hint}")
    if isinstance(value, dict):
        return _mapping(schema, value, path)
    if isinstance(value, list):
        return _list(schema, value, path)
    _limits(schema, value, path)
    return value


def format_value(value: t.Any) -> str:
    """Return the value for a message; one of more than 80 characters is cut."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def nearest(name: str, known: t.Collection[str]) -> str:
    """Return the known name that `name` probably means, as a next step."""
    by_small = {k.lower().replace("_", ""): k for k in known}
    small = name.lower().replace("_", "").replace("-", "")
    close = difflib.get_close_matches(small, by_small, n=1, cutoff=0.5)
    return f"Did you mean {by_small[close[0]]}?" if close else f"Known are {', '.join(sorted(known))}."


def _mapping(schema: Schema, value: dict[t.Any, t.Any], path: str) -> dict[str, t.Any]:
    for key in value:
        if not isinstance(key, str):
            raise InvalidInput(f"{path} has the key {key!r}, which is no text. Put it in quotes.")
    free = schema.get("additionalProperties")
    if free is not None:
        if len(value) > schema.get("maxProperties", len(value)):
            raise InvalidInput(
                f"{path} has {len(value)} entries, at most {schema['maxProperties']} are possible. Remove some."
            )
        return {key: complete(free, item, f"{path}[{key}]") for key, item in value.items()}
    fields: dict[str, Schema] = schema["properties"]
    result: dict[str, t.Any] = {}
    for key, item in value.items():
        if key not in fields:
            raise InvalidInput(f"{path}.{key} is no field of the resource. {nearest(key, fields)}")
        if item is not None:  # as the API server reads it: not given
            result[key] = complete(fields[key], item, f"{path}.{key}")
    for key, field in fields.items():
        if key not in result and "default" in field:
            result[key] = complete(field, field["default"], f"{path}.{key}")
    missing = [key for key in schema.get("required", ()) if key not in result]
    if missing:
        raise InvalidInput(f"{path}.{missing[0]} is missing. Set it: {fields[missing[0]]['description']}")
    return result


def _list(schema: Schema, value: list[t.Any], path: str) -> list[t.Any]:
    if len(value) > schema["maxItems"]:
        raise InvalidInput(f"{path} has {len(value)} entries, at most {schema['maxItems']} are possible. Remove some.")
    result = [complete(schema["items"], item, f"{path}[{index}]") for index, item in enumerate(value)]
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys or schema.get("x-kubernetes-list-type") == "set":
        seen: list[t.Any] = []
        for index, item in enumerate(result):
            identity = [item.get(key) for key in keys] if keys else item
            if identity in seen:
                names = ", ".join(str(part) for part in identity) if keys else str(item)
                raise InvalidInput(f"{path}[{index}] repeats {names}. Remove one of the two.")
            seen.append(identity)
    return result


def _limits(schema: Schema, value: t.Any, path: str) -> None:
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(format_value(choice) for choice in schema["enum"])
        raise InvalidInput(f"{path} is {format_value(value)}. Use one of {choices}.")
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        raise InvalidInput(f"{path} is {value}. Use {low} to {high}: {schema.get('description', '')}".rstrip(": "))
    if not isinstance(value, str):
        return
    if len(value) < schema.get("minLength", 0):
        raise InvalidInput(f"{path} is empty. Leave it out for the default, or set it: {schema.get('description', '')}")
    if len(value) > schema.get("maxLength", len(value)):
        raise InvalidInput(f"{path} has {len(value)} characters. Use at most {schema['maxLength']}.")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        raise InvalidInput(
            f"{path} is {format_value(value)}, which does not have the form {schema['pattern']}. {schema.get('description', '')}".rstrip()
        )
