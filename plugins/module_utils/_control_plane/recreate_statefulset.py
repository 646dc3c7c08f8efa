# SPDX-License-Identifier: GPL-3.0-or-later
"""The size and the storage class that a StatefulSet gives to new claims cannot be changed in it. So the StatefulSet is recreated, without its pods
and claims: they are orphaned for a moment, and the new one adopts them. A run that is killed in between leaves running pods, and the next one creates
the StatefulSet.
"""

from __future__ import annotations

import time
import typing as t

from .._api.database_spec import Storage
from .._api.names import Object
from .._base.errors import Conflict, InvalidInput, Refused, TimedOut
from .._kubernetes.client import Cluster
from .._kubernetes.compare import parse_quantity
from .._kubernetes.rollout_progress import is_terminating
from .observed_state import claim_templates

_GONE_SECONDS = 60.0  # for the garbage collector to orphan the pods
_ATTEMPTS, _PAUSE = 5, 0.1


def outdated_claim_template(stateful_set: Object | None, storage: Storage) -> dict[str, str]:
    """Return what the claim template has not as declared (`size`, `storage class`), each with the declared value for messages."""
    if stateful_set is None:
        return {}
    found, (template,) = dict[str, str](), claim_templates(stateful_set)
    if parse_quantity(template["spec"]["resources"]["requests"]["storage"]) != parse_quantity(storage.size):
        found["size"] = storage.size
    if template["spec"].get("storageClassName") != storage.storage_class:
        declared = storage.storage_class
        found["storage class"] = f"storage class {declared}" if declared else "the cluster's default storage class"
    return found


def recreation_message(name: str, differs: t.Mapping[str, str]) -> str:
    return f"recreate the StatefulSet {name}, so that new claims get {' and '.join(differs.values())}"


def kept_message(name: str, differs: t.Mapping[str, str], why: str) -> str:
    return f"StatefulSet {name} still creates claims of the old {' and '.join(differs)}: {why}. Run again."


def predict_statefulset(there: Object, manifest: Object) -> Object:
    """Return the StatefulSet as it will be after it was recreated: with the claim templates of `manifest`."""
    return {**there, "spec": {**there["spec"], "volumeClaimTemplates": manifest["spec"]["volumeClaimTemplates"]}}


def dry_run_create(cluster: Cluster, manifest: Object) -> str:
    """Return why the API server would not accept the new one, empty if it would. A dry run under an unused name, before the old one is deleted."""
    metadata = manifest["metadata"]
    try:
        cluster.apply({**manifest, "metadata": {**metadata, "name": f"{metadata['name']}-dry-run"}}, dry_run=True)
    except (Conflict, InvalidInput, Refused) as e:
        text = str(e).rstrip(".")
        quota = "; a quota may refuse the dry run only, which it counts as one more" if "quota" in text else ""
        return f"the API server does not accept a dry run of the one that replaces it: {text}{quota}"
    return ""


def delete_statefulset_orphan(cluster: Cluster, known: Object, replicas: int) -> str:
    """Delete the StatefulSet without its pods, wait until it is gone and return an empty text. Else return why it was kept: it is not the `known` one.

    A new one with fewer replicas would end pods of members that have not left their cluster.
    """
    metadata = known["metadata"]
    for _attempt in range(_ATTEMPTS):
        there = cluster.get("apps/v1", "StatefulSet", metadata["name"], metadata["namespace"])
        if there is None or there["metadata"]["uid"] != metadata["uid"] or is_terminating(there):
            return "another client deleted it meanwhile"
        if there["spec"]["replicas"] != replicas:
            return f"another client scaled it from {replicas} to {there['spec']['replicas']} meanwhile"
        try:
            _orphan(cluster, there)
        except Conflict:  # its controller has written the status, or another client was faster
            time.sleep(_PAUSE)
            continue
        await_gone(cluster, there)
        return ""
    return "other clients keep changing it"


def _orphan(cluster: Cluster, there: Object) -> None:
    metadata = there["metadata"]
    cluster.delete(
        "apps/v1",
        "StatefulSet",
        metadata["name"],
        metadata["namespace"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        propagation="Orphan",
    )


def await_gone(cluster: Cluster, stateful_set: Object) -> None:
    metadata = stateful_set["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    end = time.monotonic() + _GONE_SECONDS
    while (there := cluster.get("apps/v1", "StatefulSet", name, namespace)) is not None:
        if there["metadata"]["uid"] != metadata["uid"]:
            return
        if time.monotonic() > end:
            why = _why_still(there["metadata"].get("finalizers") or ())
            raise TimedOut(
                f"StatefulSet {name} in namespace {namespace} was deleted, but is still there after {_GONE_SECONDS:g} s. {why}"
            )
        time.sleep(_PAUSE)


def _why_still(finalizers: t.Collection[str]) -> str:
    collector = "See that the garbage collector of kube-controller-manager runs, then run again."
    if "orphan" in finalizers:
        return f"Its pods go on without it. {collector}"
    if "foregroundDeletion" in finalizers:
        return (
            "It was deleted together with its pods (--cascade=foreground), and it waits until they have ended. Claims and records stay. "
            f"Look at kubectl describe of the pods. {collector}"
        )
    return f"It waits for {', '.join(finalizers) or 'its end'}. See who has to remove that, then run again."
