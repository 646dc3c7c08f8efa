# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of issued certificates of a control plane in Kubernetes: a ConfigMap that the pod of the observer mounts. Several runs may write it at once."""

from __future__ import annotations

import time

from .._api.names import API_VERSION, Object, issued_certificates_name, metadata, owner_reference
from .._base.errors import Conflict
from .._kubernetes.client import Cluster
from .._pki.issued import FILE_NAME, IssuedCertificate, IssuedChange, merge_list, parse_list, render_list

_ATTEMPTS, _PAUSE = 5, 0.1  # seconds, longer after each attempt


def update_config_map(
    cluster: Cluster, name: str, namespace: str, change: IssuedChange, *, check_mode: bool
) -> tuple[list[IssuedCertificate], list[IssuedCertificate]]:
    """Bring the change into the list of the OVNCluster `name` and return it before and after. An unusable list counts as empty."""
    attempt = 1
    while True:
        found = cluster.get("v1", "ConfigMap", issued_certificates_name(name), namespace)
        before = parse_list(((found or {}).get("data") or {}).get(FILE_NAME) or "") or []
        after = merge_list(before, change)
        if before == after or check_mode:
            return before, after
        try:
            _write(cluster, name, namespace, found, render_list(after))
        except Conflict:  # another run has written it, or created it
            if attempt == _ATTEMPTS:
                raise
            time.sleep(_PAUSE * attempt)
            attempt += 1
        else:
            return before, after


def _write(cluster: Cluster, name: str, namespace: str, found: Object | None, text: str) -> None:
    data = {FILE_NAME: text}
    if found is None:
        body: Object = {**metadata(issued_certificates_name(name), namespace, name), **_owner(cluster, name, namespace)}
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": body, "data": data})
        return
    body = {"resourceVersion": found["metadata"]["resourceVersion"]}
    if not found["metadata"].get("ownerReferences"):  # it was created before the OVNCluster
        body |= _owner(cluster, name, namespace)
    cluster.patch("v1", "ConfigMap", found["metadata"]["name"], namespace, {"metadata": body, "data": data})


def _owner(cluster: Cluster, name: str, namespace: str) -> Object:
    """Return the metadata by which the list is deleted with its OVNCluster, empty before there is one."""
    owner = cluster.get(API_VERSION, "OVNCluster", name, namespace)
    return {"ownerReferences": [owner_reference(owner)]} if owner is not None else {}
