# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Building blocks of the schemas: kinds of fields, and groups of fields that appear in several places.
"""

from __future__ import annotations

import typing as t

from .._kubernetes.quantity import PATTERN

Schema = dict[str, t.Any]

NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
SERVICE_NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"  # of a Service: begins with a letter
DEVICE = r"^[^\s/,:]{1,15}$"
PHYSICAL_NETWORK = r"^[^\s,:]+$"
NETWORK = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}$"
POD_NETWORKS = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}(/[0-9]{1,3})?(,[0-9A-Fa-f:.]+/[0-9]{1,3}(/[0-9]{1,3})?)*$"
NETWORKS = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}(,[0-9A-Fa-f:.]+/[0-9]{1,3})*$"
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
    """An object. With `given` it is there even if nobody gives it, so that the defaults of its fields hold.

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


def image(of: str, repository: str, tag: str) -> Schema:
    return record(
        f"Image with {of}.",
        {
            "repository": text("Registry and name.", default=repository, minLength=1, maxLength=255),
            "tag": text(
                "Tag. Not used if there is a digest.", default=tag, pattern=r"^[\w][\w.-]{0,127}$", maxLength=128
            ),
            "digest": text(
                "Digest, for an image that can never change under its name.",
                pattern="^sha256:[0-9a-f]{64}$",
                maxLength=71,
            ),
            "pullPolicy": text(
                "When a node pulls the image.", enum=["IfNotPresent", "Always", "Never"], default="IfNotPresent"
            ),
        },
        given=True,
    )


def resources(of: str) -> Schema:
    quantities: Schema = {
        "type": "object",
        "additionalProperties": {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": PATTERN,
        },
        "maxProperties": 16,
    }
    return record(
        f"Resources of {of}, as in a container.",
        {
            "requests": {**quantities, "description": "What is kept free for it."},
            "limits": {
                **quantities,
                "description": "What it never exceeds. Leave room for memory: many clients come back at once.",
            },
        },
    )


def node_selector(of: str, **more: t.Any) -> Schema:
    return mapping(f"Labels of the nodes that {of}.", **more)


def tolerations(of: str) -> Schema:
    item = record(
        "One toleration.",
        {
            "key": text("Key of the taint; none with the operator Exists for all.", maxLength=317),
            "operator": text("How the value is compared.", enum=["Equal", "Exists"]),
            "value": text("Value of the taint.", maxLength=63),
            "effect": text("Effect of the taint; none for all.", enum=["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            "tolerationSeconds": {
                "type": "integer",
                "description": "Seconds after which a pod is evicted by NoExecute.",
            },
        },
    )
    return listing(f"Taints of nodes that {of} accept.", item, 32)


def bridge_mappings(description: str) -> Schema:
    return listing(
        description,
        record(
            "One physical network.",
            {
                "physicalNetwork": text("Name of the network, as in Neutron.", pattern=PHYSICAL_NETWORK, maxLength=255),
                "bridge": text("Bridge of Open vSwitch; created if it does not exist.", pattern=DEVICE, maxLength=15),
                "ports": listing(
                    "Network devices of the node that become ports of the bridge.",
                    {"type": "string", "pattern": DEVICE, "maxLength": 15},
                    **{"x-kubernetes-list-type": "set"},
                ),
            },
            required=["physicalNetwork", "bridge"],
        ),
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["physicalNetwork"]},
    )
