# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that several pods have: image, resources, where they run."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.errors import InvalidInput
from .._kubernetes.compare import PATTERN, canonical_quantity
from .declaration import ACCOUNT, PRIORITY_CLASS, Metadata, Schema, declare, listing, mapping, part, record, rule, text
from .rules import NOT_THE_DEFAULT_ACCOUNT

StringMap = t.Mapping[str, str]


@dataclass(frozen=True)
class Image:
    """Which image it is by default says the class of each; see `repository` and `tag`."""

    repository: str
    tag: str
    digest: str | None = field(
        metadata=declare(
            text(
                "Digest, for an image that can never change under its name.",
                pattern="^sha256:[0-9a-f]{64}$",
                maxLength=71,
            )
        )
    )
    pull_policy: str = field(
        metadata=declare(
            text("When a node pulls the image.", enum=["IfNotPresent", "Always", "Never"], default="IfNotPresent")
        )
    )

    @property
    def reference(self) -> str:
        """Return the image of a container; a digest takes precedence over a tag."""
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"


def repository(default: str) -> Metadata:
    return declare(text("Registry and name.", default=default, minLength=1, maxLength=255))


def tag(default: str) -> Metadata:
    return declare(
        text("Tag. Not used if there is a digest.", default=default, pattern=r"^[\w][\w.-]{0,127}$", maxLength=128)
    )


def quantity(value: str, path: str) -> str:
    """Return the quantity as the API server returns it; `InvalidInput` names `path` if it is none."""
    try:
        return canonical_quantity(value)
    except ValueError as e:
        raise InvalidInput(f"{path}: {e}.") from e


def _quantities(description: str, **more: t.Any) -> Metadata:
    schema: Schema = {
        "type": "object",
        "additionalProperties": {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": PATTERN,
        },
        "maxProperties": 16,
        "description": description,
        **more,
    }
    return declare(schema, lambda value, path: {key: quantity(text, f"{path}[{key}]") for key, text in value.items()})


@dataclass(frozen=True)
class Resources:
    requests: StringMap = field(metadata=_quantities("What is kept free for it."))
    limits: StringMap = field(
        metadata=_quantities("What it never exceeds. Leave room for memory: many clients come back at once.")
    )

    def as_dict(self) -> dict[str, t.Any]:
        """Return the resources as in a container; empty if none are given."""
        both = {"requests": dict(self.requests), "limits": dict(self.limits)}
        return {key: value for key, value in both.items() if value}


def requests(cpu: str, memory: str) -> Metadata:
    """Return the requests of a container that has at least these: without any, a pod is the first to be evicted from a full node."""
    return _quantities("What is kept free for it.", default={"cpu": cpu, "memory": memory})


def resources(kind: type[Resources], of: str, note: str = "") -> Metadata:
    """Return the field for one container. What counted for two of them, a pod would ask for twice."""
    return part(kind, f"Resources of {of}, as in a container. {note}".rstrip(), given=True)


def node_selector(of: str, **more: t.Any) -> Metadata:
    return declare(mapping(f"Labels of the nodes that {of}.", **more))


def tolerations(of: str, note: str = "", **more: t.Any) -> Metadata:
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
    return declare(listing(f"Taints of nodes that {of} accept. {note}".rstrip(), item, 32, **more))


def priority_class(of: str, default: str) -> Metadata:
    description = f"Priority class of {of}; an empty text for none, where a quota keeps pods from it."
    return declare(text(description, default=default, pattern=PRIORITY_CLASS, maxLength=253))


def service_account(of: str, own: str, rights: str) -> Metadata:
    """Return the field for the account of pods. `own` is what it is called if it is not given, `rights` what its pods do at the API server."""
    description = (
        f"ServiceAccount of {of}; if not given, a run makes {own}. A given one has to exist, cannot be default, and no run changes or deletes it. "
        f"It cannot be changed while the workload exists. {rights}"
    )
    not_default = rule("self != 'default'", NOT_THE_DEFAULT_ACCOUNT)
    return declare(text(description, pattern=ACCOUNT, maxLength=253, **{"x-kubernetes-validations": [not_default]}))


def image_pull_secrets() -> Metadata:
    item = record(
        "One Secret.",
        {"name": text("Name of the Secret.", minLength=1, maxLength=253)},
        required=["name"],
    )
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    description = "Secrets of the namespace with which nodes pull the images of all pods, in both clusters."
    return declare(listing(description, item, 16, **keys))
