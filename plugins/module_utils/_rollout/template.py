# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The size that a StatefulSet gives to new claims cannot be changed in it. So the StatefulSet is made anew, without its pods and claims: they are
orphans for a moment, and the new one takes them as its own. A run that is killed in between leaves running pods, and the next one makes it.
"""

from __future__ import annotations

import time
import typing as t

from .._errors import TimedOut
from .._k8s import Cluster
from .._manifests.names import Object
from .._manifests.quantity import parse_quantity

_GONE_SECONDS = 60.0  # for the garbage collector to let the pods go


def claim_size(stateful_set: Object) -> str:
    """What a new claim gets."""
    (template,) = stateful_set["spec"]["volumeClaimTemplates"]
    return str(template["spec"]["resources"]["requests"]["storage"])


def is_stale(stateful_set: Object | None, size: str) -> bool:
    return stateful_set is not None and parse_quantity(claim_size(stateful_set)) != parse_quantity(size)


def words(name: str, size: str) -> str:
    return f"make the StatefulSet {name} anew, so that new claims get {size}: pods and claims stay"


def foreseen(there: Object, manifests: t.Iterable[Object]) -> Object:
    """The StatefulSet as it will be: `manifests` has it with the declared size."""
    name = there["metadata"]["name"]
    wanted = next(m for m in manifests if m["kind"] == "StatefulSet" and m["metadata"]["name"] == name)
    return {**there, "spec": {**there["spec"], "volumeClaimTemplates": wanted["spec"]["volumeClaimTemplates"]}}


def orphan(cluster: Cluster, stateful_set: Object) -> None:
    """Take the StatefulSet away and leave its pods alone; returns when it is gone."""
    metadata = stateful_set["metadata"]
    name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
    cluster.delete("apps/v1", "StatefulSet", name, namespace, uid=uid, propagation="Orphan")
    end = time.monotonic() + _GONE_SECONDS
    while (there := cluster.get("apps/v1", "StatefulSet", name, namespace)) is not None:
        if there["metadata"]["uid"] != uid:
            return
        if time.monotonic() > end:
            raise TimedOut(
                f"StatefulSet {name} in namespace {namespace} was deleted without its pods, but is still there after {_GONE_SECONDS:g} s. "
                "The pods go on. See that the garbage collector of kube-controller-manager runs, then run again."
            )
        time.sleep(0.1)
