# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a value by its schema as the API server does: completes it with the defaults, and refuses what does not fit. So a mistake is reported before
anything is sent, in messages of our own. The library jsonschema checks; it fills in no defaults.
"""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .schema_validator import validator_class
from .validation_messages import list_mistakes

if t.TYPE_CHECKING:
    from .fields import Schema

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
