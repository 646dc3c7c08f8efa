# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges volumes: whether the storage class of members to come exists. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import Object, claim_name
from .._base.databases import DATABASES
from .._base.errors import list_names
from .._manifests.image_contract import IMAGE_FIELDS, contents_of, is_needed, used_images
from .finding import Finding, Kind
from .observed_cluster import ObservedKubernetes

# What a running pod says about its image, which has to contain what `image_contract.py` lists. Pure.

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


if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default_classes(storage_classes: t.Iterable[Object]) -> list[str]:
    """Return the names of the classes that are marked as the default."""
    return [
        str(one["metadata"]["name"])
        for one in storage_classes
        if any((one["metadata"].get("annotations") or {}).get(key) == "true" for key in _DEFAULT)
    ]


def claims_to_come(spec: ClusterSpec, claims: t.Iterable[Object]) -> dict[str | None, list[str]]:
    """Return the claims that a run would make, by their storage class; None is the default of the cluster."""
    there = {claim["metadata"]["name"] for claim in claims}
    missing: dict[str | None, list[str]] = {}
    for database in DATABASES:
        declared = spec.database(database)
        names = [claim_name(spec.name, database, index) for index in range(declared.replicas)]
        if new := [name for name in names if name not in there]:
            missing.setdefault(declared.storage.storage_class, []).extend(new)
    return missing


def judge_storage(spec: ClusterSpec, observed: ObservedKubernetes) -> list[Finding]:
    if observed.storage_classes is None:
        return []
    classes = [str(one["metadata"]["name"]) for one in observed.storage_classes]
    defaults = default_classes(observed.storage_classes)
    findings = []
    for name, claims in claims_to_come(spec, observed.claims or []).items():
        served = name in classes if name is not None else bool(defaults)
        # Volumes that an administrator made need no StorageClass, only the name.
        if served or observed.volumes is None or _free_volumes(observed.volumes, name) >= len(claims):
            continue
        there = (
            f"The classes of this cluster are {list_names(classes)}."
            if classes
            else "This cluster has no StorageClass."
        )
        waiting = f"{list_names(claims)} would wait for a volume forever"
        if name is None:
            findings.append(
                Finding(
                    "storage_class_default_missing",
                    f"OVNCluster {spec.namespace}/{spec.name}",
                    f"It names no storage class, and the cluster has no default one: {waiting}. {there}",
                    "Declare northbound.storage.storageClass and southbound.storage.storageClass in ovn_cluster_spec, or mark a class as default.",
                )
            )
        else:
            findings.append(
                Finding(
                    "storage_class_missing",
                    f"StorageClass {name}",
                    f"It does not exist: {waiting}. {there}",
                    "Correct storage.storageClass of the database in ovn_cluster_spec, or create the class.",
                )
            )
    return findings


def _free_volumes(volumes: t.Iterable[Object], storage_class: str | None) -> int:
    return sum(
        (volume.get("status") or {}).get("phase") == "Available"
        and (volume["spec"].get("storageClassName") or "") == (storage_class or "")
        for volume in volumes
    )
