# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Pods that only pull images, on all hypervisors at once: a DaemonSet ends the former pod of a node before it pulls the image of the next one.
"""

from __future__ import annotations

import typing as t

from .._api.names import Component, Object, metadata, selector
from .._api.pod_fields import Image
from .hypervisors import CONTROLLER
from .pods import container, pod_security, scheduling, tolerations

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

IMAGE_PULL = "ovn-image-pull"
IMAGE_PULL_COMPONENT: Component = "image-pull"
_RESOURCES = {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "32Mi"}}


def images_to_pull(spec: ClusterSpec, observed: t.Iterable[Object]) -> list[Image]:
    """Return the images of `spec` that none of the DaemonSets has; none if there is no DaemonSet, and so no daemon that would have to wait."""
    templates = [one["spec"]["template"]["spec"] for one in observed]
    present = {container["image"] for template in templates for container in template["containers"]}
    wanted = {image.reference: image for image in (spec.ovs_image, spec.ovn_image) if image.pull_policy != "Never"}
    return [image for reference, image in wanted.items() if present and reference not in present]


def image_pull_manifest(spec: ClusterSpec, images: t.Sequence[Image], *, name: str, namespace: str) -> Object:
    """Return a DaemonSet whose pods are ready on the nodes that have all the images."""
    common = metadata(IMAGE_PULL, namespace, name, IMAGE_PULL_COMPONENT)

    def pod_container(number: int, image: Image, command: list[str]) -> Object:
        return {**container(f"image-{number}", image, command), "resources": _RESOURCES}

    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": common,
        "spec": {
            "selector": {"matchLabels": selector(name, IMAGE_PULL_COMPONENT)},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%", "maxSurge": 0}},
            "template": {
                "metadata": {"labels": common["labels"]},
                "spec": {
                    # What lets pods of the hypervisors in (an SCC, a policy), and Secrets of registries, are bound to this one.
                    "serviceAccountName": CONTROLLER,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    **scheduling(spec, spec.controller.priority_class_name),
                    "terminationGracePeriodSeconds": 1,
                    "nodeSelector": dict(spec.controller.node_selector),
                    **tolerations(spec.controller.tolerations),
                    "securityContext": pod_security(),
                    "initContainers": [
                        pod_container(number, image, ["sh", "-c", "exit 0"])
                        for number, image in enumerate(images[1:], 2)
                    ],
                    "containers": [pod_container(1, images[0], ["sleep", "infinity"])],
                },
            },
        },
    }
