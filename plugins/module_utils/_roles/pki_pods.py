# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Which pods are in the way of a certificate: what a Secret says counts for a daemon only if it was started with that file. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.names import CLIENT_CA_KEY, selector
from .._tls_options import VARIABLES as TLS_VARIABLES
from .pki import cluster_name_of
from .variables import Hostvars, Variables


def unready_members(listings: t.Iterable[Variables], hostvars: Hostvars) -> list[str]:
    """Return the pods of the Southbound that would refuse certificates of the chassis CA, as namespace/name: they were not started with `CLIENT_CA_KEY`.

    `listings` are results of `k8s_info` for pods; `item` of each is the host that stands for the cluster. Pods of other OVN clusters are left out.
    """
    found: list[str] = []
    for listing in listings:
        labels = selector(cluster_name_of(hostvars[listing["item"]]), "southbound")
        for pod in listing.get("resources") or ():
            metadata = pod["metadata"]
            found_labels = metadata.get("labels") or {}
            is_member = all(found_labels.get(key) == value for key, value in labels.items())
            has_ended = metadata.get("deletionTimestamp") or pod["status"].get("phase") in ("Succeeded", "Failed")
            if is_member and not has_ended and not _uses_client_bundle(pod):
                found.append(f"{metadata['namespace']}/{metadata['name']}")
    return found


def _uses_client_bundle(pod: Variables) -> bool:
    variables = [variable for container in pod["spec"]["containers"] for variable in container.get("env") or ()]
    values = [str(variable.get("value")) for variable in variables if variable["name"] == TLS_VARIABLES[-1]]
    return any(value.endswith(f"/{CLIENT_CA_KEY}") for value in values)
