# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a value by its schema as the API server does: completes it with the defaults, and refuses what does not fit. So a mistake is reported before
anything is sent, in messages of our own. The library jsonschema checks; it fills in no defaults.
"""

from __future__ import annotations

import functools
import re
import typing as t

from .._base.errors import InvalidInput, Refused
from .validation_messages import list_mistakes

# The class of jsonschema that reads our schemas as the API server does. Only this file imports the library, and only for the first value.

_END = re.compile(r"\$$")


@functools.cache
def validator_class() -> t.Any:
    """Return the class; `Refused` if the library is missing. It is made once, and no schema is checked: `tests/unit` checks ours."""
    try:
        import jsonschema
        import jsonschema.validators
    except ImportError as e:
        raise Refused(
            f"Cannot check the specification: the control node needs the Python library jsonschema ({e}). Install it for the Python that runs "
            "local modules, which ansible_python_interpreter names: pip install jsonschema"
        ) from e
    standard = jsonschema.Draft4Validator  # the one that OpenAPI 3.0 follows: 2.0 is no integer
    keywords: t.Mapping[str, t.Any] = standard.VALIDATORS

    def properties(validator: t.Any, fields: t.Any, value: t.Any, schema: t.Any) -> t.Iterator[t.Any]:
        """A field that is not declared is a mistake, without additionalProperties, which a definition must not have beside properties."""
        yield from keywords["properties"](validator, fields, value, schema)
        yield from keywords["additionalProperties"](validator, False, value, schema)

    def pattern(validator: t.Any, expression: str, value: t.Any, schema: t.Any) -> t.Iterator[t.Any]:
        """The syntax is that of Go: `$` is not before the last newline, and classes are ASCII."""
        yield from keywords["pattern"](validator, "(?a)" + _END.sub(r"\\Z", expression), value, schema)

    def list_type(validator: t.Any, kind: str, value: t.Any, schema: t.Any) -> t.Iterator[t.Any]:
        """The items of a set differ, those of a map in the fields that name them. The message is what an item repeats."""
        if kind == "atomic" or not validator.is_type(value, "array"):
            return
        keys, seen = schema.get("x-kubernetes-list-map-keys", ()), []
        for index, item in enumerate(value):
            identity = [item.get(key) for key in keys] if isinstance(item, dict) else [item]
            if identity in seen and None not in identity:
                yield jsonschema.ValidationError(", ".join(map(str, identity)), path=[index])
            seen.append(identity)

    return jsonschema.validators.extend(
        standard,
        {"properties": properties, "pattern": pattern, "x-kubernetes-list-type": list_type},
        type_checker=standard.TYPE_CHECKER.redefine("object", _is_object),
    )


def _is_object(_checker: t.Any, value: t.Any) -> bool:
    """YAML has keys that are no texts, JSON has not."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


if t.TYPE_CHECKING:
    from .declaration import Schema

_MOST = 5  # mistakes in one message


def complete(schema: Schema, value: t.Any, path: str) -> t.Any:
    """Return the value with all defaults of the schema; `InvalidInput` names the path of each field that does not fit."""
    completed = _with_defaults(schema, value)
    mistakes = list_mistakes(schema, path, validator_class()(schema).iter_errors(completed))
    if mistakes:
        more = [f"There are {len(mistakes) - _MOST} more mistakes."] if len(mistakes) > _MOST else []
        raise InvalidInput(" ".join([*mistakes[:_MOST], *more]))
    return completed


def _with_defaults(schema: Schema, value: t.Any) -> t.Any:
    """Return a completed copy. What does not fit the schema stays as it is."""
    if schema.get("x-kubernetes-int-or-string") and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and "items" in schema:
        return [_with_defaults(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    if "additionalProperties" in schema:
        return {key: _with_defaults(schema["additionalProperties"], item) for key, item in value.items()}
    fields: dict[t.Any, Schema] = schema.get("properties", {})
    given = {
        key: _with_defaults(fields.get(key, {}), item)
        for key, item in value.items()
        if item is not None or key not in fields  # null is not given
    }
    defaults = {
        key: _with_defaults(field, field["default"])
        for key, field in fields.items()
        if key not in given and "default" in field
    }
    return {**given, **defaults}
