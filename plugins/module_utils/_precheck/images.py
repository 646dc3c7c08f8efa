# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running pod says about its image, which has to contain what `image_contract.py` lists. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._base.sentences import list_names
from .._manifests.image_contract import IMAGE_FIELDS, contents_of, is_needed, used_images
from .finding import Finding, Kind

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


def find_container(pods: t.Iterable[Object], reference: str) -> tuple[str, str] | None:
    """Return pod and container that run the image now, None without one."""
    for pod in pods:
        running = {
            status["name"]
            for status in (pod.get("status") or {}).get("containerStatuses") or []
            if "running" in (status.get("state") or {})
        }
        for container in (pod.get("spec") or {}).get("containers") or []:
            if container.get("image") == reference and container["name"] in running:
                return str(pod["metadata"]["name"]), str(container["name"])
    return None


def judge_image(kind: Kind, spec: ClusterSpec, image: str, missing: t.Collection[str], pod: str) -> list[Finding]:
    """Judge what the container of a pod has printed for `command_for`."""
    lacking: dict[str, list[str]] = {}
    for one in contents_of(kind, image):
        for name in (*one.programs, *one.files):
            if name in missing and is_needed(one, spec):
                lacking.setdefault(name, []).append(one.container)
    if not lacking:
        return []
    containers = dict.fromkeys(container for users in lacking.values() for container in users)
    return [
        Finding(
            "image_incomplete",
            f"Image {used_images(kind, spec)[image]}",
            f"It has no {list_names(list(lacking))}, which the container {list_names(list(containers))} needs (pod {pod} runs it).",
            f"Build or choose an image that has it, and declare it as {IMAGE_FIELDS[image]}. docs/kubernetes.md lists what an image must contain.",
        )
    ]


def lost_functions(kind: Kind, images: t.Iterable[str], missing: t.Collection[str]) -> list[str]:
    """Return what does not work without the optional contents that are missing."""
    return [
        one.without for one in contents_of(kind, *images) if one.optional and {*one.programs, *one.files} & {*missing}
    ]
