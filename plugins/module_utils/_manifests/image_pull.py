# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that only pull images: a DaemonSet ends the former pod of a node before it pulls the image of the next one."""

from __future__ import annotations

import typing as t

from .._api.names import Component, Object, metadata, selector
from .._api.service_accounts import account_of, hypervisor_accounts
from .._neutron.metadata_agent import METADATA_AGENT
from .image_contract import GUARD_PROBE, guard_command, required_names, used_images
from .metadata_agent import PROGRAM
from .pods import container_security, pod_security, scheduling, tolerations

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

IMAGE_PULL = "ovn-image-pull"
IMAGE_PULL_COMPONENT: Component = "image-pull"
_RESOURCES = {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "32Mi"}}

Images = t.Mapping[str, str]  # reference to pull policy


def images_to_pull(desired: t.Iterable[Object], observed: t.Iterable[Object]) -> Images:
    """Return the images of the desired DaemonSets that none of the observed ones has, or has for another program than that of its container.

    None if none is observed: then there is no daemon to keep running.
    """
    present = {_use(one) for one in _containers(observed)}
    new = [one for one in _containers(desired) if one["imagePullPolicy"] != "Never" and _use(one) not in present]
    return {one["image"]: one["imagePullPolicy"] for one in new} if present else {}


def _use(container: Object) -> tuple[str, str]:
    """Return the image and the program of it that the specification chooses, if it does: an image may have one and lack another.

    The default is like none: pods of older releases do not name it.
    """
    chosen = (one["value"] for one in container.get("env") or () if one["name"] == PROGRAM)
    program = next(chosen, "")
    return container["image"], "" if program == METADATA_AGENT else program


def _containers(daemon_sets: t.Iterable[Object]) -> t.Iterator[Object]:
    for one in daemon_sets:
        pod = one["spec"]["template"]["spec"]
        yield from (*(pod.get("initContainers") or ()), *pod["containers"])


def image_pull_manifest(
    spec: ClusterSpec, images: Images, nodes: t.Iterable[str], *, name: str, namespace: str
) -> Object:
    """Return the DaemonSet with a container for each image, for `nodes` alone.

    Its pods have no priority class: they must not preempt the pods of others. An update needs no place of theirs.
    """
    common = metadata(IMAGE_PULL, namespace, name, IMAGE_PULL_COMPONENT)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": common,
        "spec": {
            "selector": {"matchLabels": selector(name, IMAGE_PULL_COMPONENT)},
            "template": {
                "metadata": {"labels": common["labels"]},
                "spec": {
                    # What lets pods of the hypervisors in (an SCC, a policy), and Secrets of registries, are bound to this one.
                    "serviceAccountName": account_of(hypervisor_accounts(spec), "controller"),
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    **scheduling(spec, ""),
                    "terminationGracePeriodSeconds": 1,
                    "nodeSelector": dict(spec.controller.node_selector),
                    "affinity": _affinity(nodes),
                    **tolerations(spec.controller.tolerations),
                    "securityContext": pod_security(),
                    # None of them is an init container: an image that does not run `sleep` must not keep the node from the next one.
                    "containers": [_container(number, *image, spec) for number, image in enumerate(images.items(), 1)],
                },
            },
        },
    }


def _affinity(nodes: t.Iterable[str]) -> Object:
    """Return the affinity to any of these nodes. A field of a node is compared with one value, so each node has a term of its own."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _container(number: int, reference: str, policy: str, spec: ClusterSpec) -> Object:
    """It runs on if the image has what the daemons need of it."""
    kinds = [kind for kind, used in used_images("hypervisors", spec).items() if used == reference]
    names = [name for kind in kinds for name in required_names("hypervisors", kind, spec)]
    return {
        "name": f"image-{number}",
        "image": reference,
        "imagePullPolicy": policy,
        "command": guard_command(list(dict.fromkeys(names))),
        "readinessProbe": {"exec": {"command": GUARD_PROBE}, "periodSeconds": 1, "failureThreshold": 60},
        "securityContext": container_security(),
        "resources": _RESOURCES,
    }
