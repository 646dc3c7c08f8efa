# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of jsonschema that reads our schemas as the API server does. Only this file imports the library, and only for the first value."""

from __future__ import annotations

import functools
import re
import typing as t

from .._base.errors import Refused

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
