# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: secret_mounts
short_description: Where pods have a Secret with a certificate, and what should be there
version_added: "0.1.0"
description:
  - The kubelet brings a changed Secret into a pod up to two minutes later. What this filter returns is what to ask each pod for, to know that it has it.
  - Pods that do not run, and those that are terminating, are left out.
extends_documentation_fragment:
  - c5c3.ovn._cluster_listings
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Look where the Secrets are mounted
  ansible.builtin.debug:
    msg: "{{ pods.results | c5c3.ovn.secret_mounts(secrets.results) }}"
"""

RETURN = r"""
_value:
  description: >-
    One dictionary for each pod that mounts C(ca.crt), C(tls.crt) or C(client-ca.crt) of the Secret, also in a projected volume, or the ConfigMap with its
    CAs for nodes, with C(host),
    C(namespace), C(pod), C(container), C(files) (their paths in that container) and C(digests) (the SHA-256 that each of them should have).
  type: list
  elements: dict
"""

import base64
import hashlib
import typing as t

from ..module_utils._api.names import CA_KEY, CLIENT_CA_KEY
from ..module_utils._kubernetes.rollout_progress import is_terminating
from ..module_utils._kubernetes.volumes import volume_sources
from ..module_utils._manifests.node_certificates import AUTHORITIES

FILES = (CA_KEY, "tls.crt", CLIENT_CA_KEY)


def secret_mounts(
    listings: t.Iterable[t.Mapping[str, t.Any]], secrets: t.Iterable[t.Mapping[str, t.Any]]
) -> list[dict[str, t.Any]]:
    by_host = {result["item"]: secret for result in secrets for secret in result.get("resources") or ()}
    found = []
    for listing in listings:
        secret = by_host.get(listing["item"])
        for pod in (listing.get("resources") or ()) if secret else ():
            if secret is not None and _answers(pod):
                found += [{"host": listing["item"], **mount} for mount in _mounts(pod, secret)]
    return found


def _answers(pod: t.Mapping[str, t.Any]) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and not is_terminating(dict(pod))


def _mounts(pod: t.Mapping[str, t.Any], secret: t.Mapping[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
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
        for key in FILES
        if not source.chosen or key in source.chosen
    }
    return {key: path for key, path in found.items() if path not in others}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"secret_mounts": secret_mounts}
