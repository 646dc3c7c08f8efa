# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Has all hypervisors pull new images before the first pod is replaced. An image that some node does not get replaces nothing.
"""

from __future__ import annotations

from .._errors import TimedOut
from .._kubernetes.client import Cluster
from .._kubernetes.progress import Progress
from .._manifests.hypervisors import CONTROLLER, OVS
from .._manifests.image_pull import IMAGE_PULL, image_pull_manifest, images_to_pull
from .desired import DesiredHypervisors
from .plan import HypervisorPlan
from .wait import await_images


def pull_images(
    cluster: Cluster, desired: DesiredHypervisors, plan: HypervisorPlan, progress: Progress, *, check_mode: bool
) -> None:
    """Return when the images are on all nodes that are ready, at once if none is new; `TimedOut` names the nodes that have not got them.

    The pods that pull go again, also those of a run that was killed. Who does not wait for pods does not wait for images either.
    """
    there = [found for name in (OVS, CONTROLLER) if (found := plan.observed.daemon_set(name)) is not None]
    images = images_to_pull(desired.spec, there)
    if not images or not desired.wait:
        return
    names = " and ".join(image.reference for image in images)
    progress.steps.append(f"pull {names} on the nodes")
    if check_mode:
        return
    manifest = image_pull_manifest(desired.spec, images, name=desired.name, namespace=desired.namespace)
    made = cluster.apply(manifest, force=True)
    try:
        await_images(cluster, desired, made, plan.chassis)
    except TimedOut as e:
        raise TimedOut(
            f"Not all nodes have {names}: {e} Correct spec.ovnImage or spec.ovsImage, or what keeps nodes from it, then run again. No daemon was stopped.",
            **e.details,
        ) from e
    finally:
        cluster.delete("apps/v1", "DaemonSet", IMAGE_PULL, desired.namespace, uid=made["metadata"]["uid"])
