# SPDX-License-Identifier: GPL-3.0-or-later
"""Building blocks of the schemas: kinds of fields, and forms of their values."""

from __future__ import annotations

import typing as t

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
