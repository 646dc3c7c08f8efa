# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The list of issued certificates of a control plane in Kubernetes: a ConfigMap that the pod of the observer mounts. Several runs may write it at once.
"""

from __future__ import annotations

import typing as t

from .._api.names import API_VERSION, Object, issued_certificates_name, metadata, owner_reference
from .._errors import Conflict
from .._kubernetes.client import Cluster
from .._pki.issued import FILE_NAME, IssuedCertificate, IssuedChange, merge_list, parse_list, render_list

_ATTEMPTS = 5


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
            attempt += 1
        else:
            return before, after


def _write(cluster: Cluster, name: str, namespace: str, found: Object | None, text: str) -> None:
    data = {FILE_NAME: text}
    if found is not None:
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        cluster.patch("v1", "ConfigMap", found["metadata"]["name"], namespace, {"metadata": version, "data": data})
        return
    body: dict[str, t.Any] = metadata(issued_certificates_name(name), namespace, name)
    owner = cluster.get(API_VERSION, "OVNCluster", name, namespace)
    if owner is not None:  # the list goes with it
        body["ownerReferences"] = [owner_reference(owner)]
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": body, "data": data})
