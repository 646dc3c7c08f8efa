# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods are in the way of a certificate: what a Secret says counts for a daemon only if it was started with that file. Pure."""

from __future__ import annotations

import base64
import typing as t

from .._api.names import selector
from .._base.tls_options import certificates_of
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.volumes import volume_sources
from .._manifests.ca_bundle import bundle_in_use, pod_of
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
        if host in by_host and _mounts(_pod(one), by_host[host]["metadata"]["name"])
    }
    return [
        f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"
        for host, one in members
        if (host, _instance(one)) in ours and not _lets_in(_pod(one), by_host[host], issuer)
    ]


def _is_member(one: Variables) -> bool:
    labels = one["metadata"].get("labels") or {}
    has_ended = is_terminating(dict(one)) or (one.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not has_ended and all(labels.get(key) == value for key, value in _MEMBER.items())


def _instance(one: Variables) -> str:
    return str((one["metadata"].get("labels") or {}).get(_INSTANCE))


def _pod(one: Variables) -> Variables:
    return pod_of(dict(one)) if one["kind"] == "StatefulSet" else one["spec"]


def _mounts(pod: Variables, secret: str) -> bool:
    sources = [source for volume in pod.get("volumes") or () for source in volume_sources(volume)]
    return any((source.kind, source.name) == ("Secret", secret) for source in sources)


def _lets_in(pod: Variables, secret: Variables, issuer: str) -> bool:
    """A file of another Secret is one of before. That of a ConfigMap, which only its owner keeps up to date, counts as right."""
    bundle = bundle_in_use(pod)
    if bundle is None or bundle.kind == "ConfigMap":
        return bundle is not None
    data = (secret.get("data") or {}) if bundle.name == secret["metadata"]["name"] else {}
    text = base64.b64decode(data.get(bundle.key) or b"").decode()
    return certificates_of(issuer) <= certificates_of(text)
