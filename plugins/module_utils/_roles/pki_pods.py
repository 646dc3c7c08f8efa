# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Which pods are in the way of a certificate: what a Secret says counts for a daemon only if it was started with that file. Pure.
"""

from __future__ import annotations

import base64
import typing as t

from .._api.names import selector
from .._tls_options import VARIABLES as TLS_VARIABLES
from .._tls_options import certificates_of
from .variables import Variables

_INSTANCE = "app.kubernetes.io/instance"
_MEMBER = {key: value for key, value in selector("", "southbound").items() if key != _INSTANCE}


def unready_members(listings: t.Iterable[Variables], secrets: t.Iterable[Variables], issuer: str) -> list[str]:
    """Return the members of the Southbound that would refuse certificates of `issuer` (PEM), as kind and namespace/name.

    `listings` are results of `k8s_info` for pods and StatefulSets, `secrets` for the Secrets that they mount; `item` of each is the host that stands for the
    cluster. A StatefulSet counts like its pods: it may bring back one that is not there now. Members of an OVN cluster with another Secret do not count.
    """
    members = [
        (listing["item"], one) for listing in listings for one in listing.get("resources") or () if _is_member(one)
    ]
    by_host = {result["item"]: secret for result in secrets for secret in result.get("resources") or ()}
    ours = {
        (host, _instance(one))
        for host, one in members
        if host in by_host
        and by_host[host]["metadata"]["name"] in [source.get("name") for source in _sources(_pod(one), "secret")]
    }
    return [
        f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"
        for host, one in members
        if (host, _instance(one)) in ours and not _lets_in(_pod(one), by_host[host], issuer)
    ]


def _is_member(one: Variables) -> bool:
    metadata = one["metadata"]
    labels = metadata.get("labels") or {}
    has_ended = metadata.get("deletionTimestamp") or (one.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not has_ended and all(labels.get(key) == value for key, value in _MEMBER.items())


def _instance(one: Variables) -> str:
    return str(one["metadata"]["labels"].get(_INSTANCE))


def _pod(one: Variables) -> Variables:
    """Return the specification of a pod, or of those of a StatefulSet."""
    found: Variables = one["spec"]["template"]["spec"] if one["kind"] == "StatefulSet" else one["spec"]
    return found


def _sources(pod: Variables, kind: str) -> list[Variables]:
    """Return what the volumes of a pod show of Secrets (`secret`) or ConfigMaps (`configMap`): `name` and maybe `items`."""
    found: list[Variables] = []
    for volume in pod.get("volumes") or ():
        if "secret" in volume and kind == "secret":
            found.append({**volume["secret"], "name": volume["secret"].get("secretName")})
        found += [source[kind] for source in (volume.get("projected") or {}).get("sources") or () if kind in source]
    return found


def _lets_in(pod: Variables, secret: Variables, issuer: str) -> bool:
    """A file of another Secret is one of before. That of a ConfigMap, which only its owner keeps up to date, counts as right."""
    variables = [variable for container in pod["containers"] for variable in container.get("env") or ()]
    files = [str(variable.get("value")) for variable in variables if variable["name"] == TLS_VARIABLES[-1]]
    paths = {file.rpartition("/")[2] for file in files}
    if any(item["path"] in paths for source in _sources(pod, "configMap") for item in source.get("items") or ()):
        return True
    data, sources = secret.get("data") or {}, _sources(pod, "secret")
    if secret["metadata"]["name"] not in [source["name"] for source in sources]:
        return False
    chosen = {item["path"]: item["key"] for source in sources for item in source.get("items") or ()}
    texts = [base64.b64decode(data.get(chosen.get(path, path)) or b"").decode() for path in paths]
    return any(certificates_of(issuer) <= certificates_of(text) for text in texts)
