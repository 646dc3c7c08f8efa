# SPDX-License-Identifier: GPL-3.0-or-later
"""Classes whose fields carry their schema: `schema_of` makes the schema of a class for the API server, `read` an object of it from a completed value.
So a field of a specification is declared once:

    @dataclass(frozen=True)
    class Storage:
        size: str = field(metadata=declare(text("Size of each volume.", default="10Gi")))
        storage_class: str | None = field(metadata=declare(text("Name of the storage class.")))

Nothing evaluates the annotations; `tests/unit/plugins/module_utils/_api/test_declaration.py` compares them with the schemas.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

# Building blocks of the schemas: kinds of fields, and forms of their values.

Schema = dict[str, t.Any]

NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
SERVICE_NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"  # of a Service: begins with a letter
DEVICE = r"^[^\s/,:]{1,15}$"
PHYSICAL_NETWORK = r"^[^\s,:]+$"
NETWORK = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}$"
POD_NETWORKS = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}(/[0-9]{1,3})?(,[0-9A-Fa-f:.]+/[0-9]{1,3}(/[0-9]{1,3})?)*$"
NETWORKS = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}(,[0-9A-Fa-f:.]+/[0-9]{1,3})*$"
HOST_NAME = r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"  # the last label is none of an IPv4 address
ACCOUNT = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
PRIORITY_CLASS = r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"
HYPERVISOR = "node-role.kubernetes.io/hypervisor"


def rule(cel: str, message: str, field: str | None = None) -> Schema:
    return {"rule": cel, "message": message, **({"fieldPath": field} if field else {})}


def text(description: str, **more: t.Any) -> Schema:
    return {"type": "string", "description": description, **more}


def number(description: str, minimum: int, maximum: int, **more: t.Any) -> Schema:
    return {"type": "integer", "description": description, "minimum": minimum, "maximum": maximum, **more}


def record(
    description: str, properties: dict[str, Schema], *rules: Schema, given: bool = False, **more: t.Any
) -> Schema:
    """Return the schema of an object. With `given` it exists even if it is not given, so that the defaults of its fields hold.

    The default is spelled out: the API server checks it against the rules as it stands.
    """
    schema: Schema = {"type": "object", "description": description, "properties": properties, **more}
    if given:
        schema["default"] = {key: field["default"] for key, field in properties.items() if "default" in field}
    return {**schema, "x-kubernetes-validations": list(rules)} if rules else schema


def mapping(description: str, **more: t.Any) -> Schema:
    value = {"type": "string", "maxLength": 1024}
    return {"type": "object", "description": description, "additionalProperties": value, "maxProperties": 64, **more}


def listing(description: str, items: Schema, maximum: int = 64, /, **more: t.Any) -> Schema:
    return {"type": "array", "description": description, "items": items, "maxItems": maximum, **more}


Metadata = dict[str, t.Any]
Reader = t.Callable[[t.Any, str], t.Any]  # (value, its path for messages) -> what the attribute holds


class FieldsClass(t.Protocol):
    """Any dataclass."""

    __dataclass_fields__: t.ClassVar[dict[str, dataclasses.Field[t.Any]]]


D = t.TypeVar("D", bound=FieldsClass)


def declare(schema: Schema, read: Reader | None = None, *, required: bool = False) -> Metadata:
    """Return the metadata of one field; its name in the schema is that of the attribute in camelCase. `read` makes more of the value than what the schema says.

    If it is not given and has no default, the attribute is an empty mapping or an empty tuple where the schema has a map or a list, else None.
    """
    is_list = schema.get("type") == "array"
    absent: t.Any = () if is_list else {} if "additionalProperties" in schema else None
    return {
        "schema": schema,
        "read": read or (_as_tuple if is_list else _as_it_is),
        "absent": absent,
        "required": required,
    }


def part(kind: type[FieldsClass], description: str, *rules: Schema, given: bool = False) -> Metadata:
    """Return the metadata of a group of fields. If it is not given, each of its fields is what `declare` says. `rules` and `given` as in `record`."""
    return {**declare(schema_of(kind, description, *rules, given=given), reader(kind)), "absent": {}}


def optional_part(kind: type[FieldsClass], description: str, *rules: Schema) -> Metadata:
    """Return the metadata of a group of fields; the attribute is None if it is not given."""
    return declare(schema_of(kind, description, *rules), reader(kind))


def schema_of(kind: type[FieldsClass], description: str, *rules: Schema, given: bool = False) -> Schema:
    """Return the record of all fields of the class, in their order; `rules` and `given` as in `record`."""
    declared = {key_of(own.name): own.metadata for own in _fields(kind)}
    required = [key for key, metadata in declared.items() if metadata["required"]]
    properties = {key: metadata["schema"] for key, metadata in declared.items()}
    return record(description, properties, *rules, given=given, **({"required": required} if required else {}))


def read(kind: type[D], value: t.Mapping[str, t.Any], path: str, **others: t.Any) -> D:
    """Return an object of the class from what `schema_validator.py:complete` returned for its schema; `others` are the attributes without one."""
    attributes = {}
    for own in _fields(kind):
        content = value.get(key_of(own.name), own.metadata["absent"])
        attributes[own.name] = (
            content if content is None else own.metadata["read"](content, f"{path}.{key_of(own.name)}")
        )
    return kind(**others, **attributes)


def reader(kind: type[FieldsClass]) -> Reader:
    """Return the reader for a field that holds one object of the class."""
    return functools.partial(read, kind)


def list_reader(kind: type[FieldsClass]) -> Reader:
    """Return the reader for a field that holds a list of objects of the class."""
    return lambda values, path: tuple(read(kind, value, f"{path}[{index}]") for index, value in enumerate(values))


def key_of(attribute: str) -> str:
    """Return the name in the schema: `storageClass` for `storage_class`."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), attribute)


def _fields(kind: type[FieldsClass]) -> list[dataclasses.Field[t.Any]]:
    return [own for own in dataclasses.fields(kind) if own.metadata]


def _as_it_is(value: t.Any, path: str) -> t.Any:
    return value


def _as_tuple(value: t.Any, path: str) -> t.Any:
    return tuple(value)
