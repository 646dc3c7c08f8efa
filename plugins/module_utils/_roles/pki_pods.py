# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods are in the way of a certificate: what a Secret says counts for a daemon only if it was started with that file, and a kubelet brings a changed
Secret into a pod up to two minutes later. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import typing as t

from .._api.names import CA_KEY, CLIENT_CA_KEY, selector
from .._base.tls_options import certificates_of
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.secret_files import volume_sources
from .._manifests.ca_bundle import AUTHORITIES, bundle_in_use, pod_of
from .variables import Variables

_INSTANCE = "app.kubernetes.io/instance"
_FILES = (CA_KEY, "tls.crt", CLIENT_CA_KEY)
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


def secret_mounts(
    listings: t.Iterable[t.Mapping[str, t.Any]], secrets: t.Iterable[t.Mapping[str, t.Any]]
) -> list[dict[str, t.Any]]:
    """Return one mount of each running pod that has the Secret, or the ConfigMap with its CAs for nodes: where its files are and what they should be.

    `listings` of pods and `secrets` have the host as `item` and the objects as `resources`. A mount has `host`, `namespace`, `pod`, `container`, `files`
    (paths in the container) and `digests` (the SHA-256 that each should have).
    """
    by_host = {result["item"]: secret for result in secrets for secret in result.get("resources") or ()}
    found = []
    for listing in listings:
        secret = by_host.get(listing["item"])
        for pod in (listing.get("resources") or ()) if secret else ():
            if secret is not None and _answers(pod):
                found += [{"host": listing["item"], **mount} for mount in _mounts_of(pod, secret)]
    return found


def _answers(pod: t.Mapping[str, t.Any]) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and not is_terminating(dict(pod))


def _mounts_of(pod: t.Mapping[str, t.Any], secret: t.Mapping[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """One mount is enough: all containers of a pod see the same files."""
    name, data = secret["metadata"]["name"], secret.get("data") or {}
    volumes = {volume["name"]: _paths(volume, name) for volume in pod["spec"].get("volumes") or ()}
    for container in pod["spec"].get("containers") or ():
        for mount in container.get("volumeMounts") or ():
            paths = volumes.get(mount["name"]) or {}
            if paths:
                metadata = pod["metadata"]
                yield {
                    "namespace": metadata["namespace"],
                    "pod": metadata["name"],
                    "container": container["name"],
                    "files": [f"{mount['mountPath']}/{path}" for key, path in paths.items() if _is_there(key, data)],
                    "digests": [
                        hashlib.sha256(base64.b64decode(data.get(key) or "")).hexdigest()
                        for key in paths
                        if _is_there(key, data)
                    ],
                }
                return


def _is_there(key: str, data: t.Mapping[str, str]) -> bool:
    """Only the Secret of a control plane has a bundle of the clients of its Southbound."""
    return key != CLIENT_CA_KEY or key in data


def _paths(volume: t.Mapping[str, t.Any], secret: str) -> dict[str, str]:
    """Where this volume has the files of the Secret: keys to paths below its mount, without those that it has from a ConfigMap of another owner.

    Ours with the CAs for nodes is a copy of what is in the Secret.
    """
    sources = volume_sources(volume)
    copies = [source for source in sources if (source.kind, source.name) == ("ConfigMap", AUTHORITIES)]
    if copies:
        return {CA_KEY: copies[0].chosen.get(CA_KEY, CA_KEY)}
    others = {path for source in sources if source.kind == "ConfigMap" for path in source.chosen.values()}
    found = {
        key: source.chosen.get(key, key)
        for source in sources
        if (source.kind, source.name) == ("Secret", secret)
        for key in _FILES
        if not source.chosen or key in source.chosen
    }
    return {key: path for key, path in found.items() if path not in others}
