# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Southbound members that serve all clients on the port of chassis, as an earlier version of this collection has set them up. Before they are restarted with a
relay, one after the other, they open the port without a role as well, and northd goes there: it does not use relays.
"""

from __future__ import annotations

import copy
import typing as t

from .._api.names import Object
from .._database.converge import converge
from .._database.settings import LAYOUTS, DesiredSettings
from .._databases import PORTS
from .._deadline import Deadline
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease
from .._kubernetes.rollout_progress import CONTAINER
from .pod_database import PodDatabase

_SECONDS = 60.0


def serves_chassis_port_alone(stateful_set: Object | None) -> bool:
    """Return whether the members of this StatefulSet of the Southbound have no port without a role."""
    if stateful_set is None:
        return False
    containers = stateful_set["spec"]["template"]["spec"]["containers"]
    ports = [port for one in containers if one["name"] == CONTAINER for port in one.get("ports") or ()]
    return all(port["containerPort"] != PORTS["southbound"].unrestricted for port in ports)


def open_unrestricted_port(
    cluster: Cluster,
    namespace: str,
    declared: t.Mapping[str, str],
    settings: DesiredSettings,
    lease: RunLease,
    deadline: Deadline,
) -> list[str]:
    """Let all members listen on the port without a role, too, and return what was done. `declared` goes from pods to Raft addresses."""
    layout = LAYOUTS["southbound"]
    pods = {address: name for name, address in declared.items()}
    member = PodDatabase(cluster, namespace, layout, pods, None, None, lease)
    rows = DesiredSettings(connections=settings.connections)
    outcome = converge(member, rows, layout, deadline.within(_SECONDS), check_mode=False)
    return [f"southbound: {action}" for action in outcome.done.actions]


def with_present_images(deployment: Object, there: Object) -> Object:
    """Return the Deployment with the images that its containers have now: a new one follows after the databases."""
    images = {one["name"]: one["image"] for one in there["spec"]["template"]["spec"]["containers"]}
    result = copy.deepcopy(deployment)
    for container in result["spec"]["template"]["spec"]["containers"]:
        container["image"] = images.get(container["name"], container["image"])
    return result
