# SPDX-License-Identifier: GPL-3.0-or-later
"""What the errors of jsonschema mean for a person: the path of the field, its value, what is possible, and what to do."""

from __future__ import annotations

import difflib
import typing as t

if t.TYPE_CHECKING:
    from .declaration import Schema

Error = t.Any  # jsonschema.ValidationError
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
}


def list_mistakes(schema: Schema, path: str, errors: t.Iterable[Error]) -> list[str]:
    """Return a message for each place of the value that has errors, ordered by place; `path` is the place of the value itself."""
    ranks = list(MESSAGES)
    first: dict[tuple[str | int, ...], Error] = {}
    for error in sorted(errors, key=lambda error: ranks.index(error.validator)):
        first.setdefault(tuple(error.absolute_path), error)
    return [MESSAGES[first[place].validator](first[place], _path(schema, path, place)) for place in sorted(first)]


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


def _path(schema: Schema, path: str, place: t.Iterable[str | int]) -> str:
    """Return the place as people write it: names of fields behind dots, keys of mappings and indices in brackets."""
    for key in place:
        is_field = "properties" in schema
        path += f".{key}" if is_field else f"[{key}]"
        schema = schema["properties"][key] if is_field else schema.get("items") or schema["additionalProperties"]
    return path


def _wrong_type(error: Error, path: str) -> str:
    value, expected = error.instance, error.schema.get("type", "string")
    if expected == "object" and isinstance(value, dict):
        key = next(key for key in value if not isinstance(key, str))
        return f"{path} has the key {key!r}, which is no text. Put it in quotes."
    hint = " Put it in quotes." if expected == "string" and isinstance(value, (bool, int, float)) else ""
    return f"{path} is {format_value(value)}, but it has to be {_TYPES[expected]}.{hint}"


def _unknown_fields(error: Error, path: str) -> str:
    fields = error.schema["properties"]
    unknown = [key for key in error.instance if key not in fields]
    return " ".join(f"{path}.{key} is no field of the resource. {nearest(key, fields)}" for key in unknown)


def _missing_fields(error: Error, path: str) -> str:
    fields = error.schema["properties"]
    missing = [key for key in error.schema["required"] if key not in error.instance]
    return " ".join(f"{path}.{key} is missing. Set it: {fields[key]['description']}" for key in missing)


def _too_many(error: Error, path: str) -> str:
    return f"{path} has {len(error.instance)} entries, at most {error.validator_value} are possible. Remove some."


def _repeated(error: Error, path: str) -> str:
    return f"{path} repeats {error.message}. Remove one of the two."


def _no_choice(error: Error, path: str) -> str:
    choices = ", ".join(format_value(choice) for choice in error.validator_value)
    return f"{path} is {format_value(error.instance)}. Use one of {choices}."


def _out_of_range(error: Error, path: str) -> str:
    schema = error.schema
    limits = f"{schema.get('minimum')} to {schema.get('maximum')}"
    return f"{path} is {error.instance}. Use {limits}: {schema.get('description', '')}".rstrip(": ")


def _too_short(error: Error, path: str) -> str:
    return f"{path} is empty. Leave it out for the default, or set it: {error.schema.get('description', '')}"


def _too_long(error: Error, path: str) -> str:
    return f"{path} has {len(error.instance)} characters. Use at most {error.validator_value}."


def _other_form(error: Error, path: str) -> str:
    value, form = format_value(error.instance), error.validator_value
    return f"{path} is {value}, which does not have the form {form}. {error.schema.get('description', '')}".rstrip()


# Every keyword of our schemas that can fail. Of several at one place the first one here is told: a value of another type breaks other rules as well.
MESSAGES: t.Mapping[str, t.Callable[[Error, str], str]] = {
    "type": _wrong_type,
    "anyOf": _wrong_type,  # a number or a text
    "properties": _unknown_fields,
    "required": _missing_fields,
    "maxProperties": _too_many,
    "maxItems": _too_many,
    "x-kubernetes-list-type": _repeated,
    "enum": _no_choice,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "minLength": _too_short,
    "maxLength": _too_long,
    "pattern": _other_form,
}
