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
  - Pods that are terminating are left out.
options:
  _input:
    description: Results of a loop over M(kubernetes.core.k8s_info) that listed pods. C(item) of each one is the host that stands for the cluster.
    type: list
    elements: dict
    required: true
  secrets:
    description: Results of the same loop for the Secret of each host. Positional.
    type: list
    elements: dict
    required: true
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
    One dictionary for each pod that mounts the Secret, with C(host), C(namespace), C(pod), C(container), C(path) (directory of the Secret in that
    container) and C(digests) (SHA-256 of C(ca.crt) and C(tls.crt) of the Secret).
  type: list
  elements: dict
"""

import base64
import hashlib
import typing as t

FILES = ("ca.crt", "tls.crt")


def secret_mounts(
    listings: t.Iterable[t.Mapping[str, t.Any]], secrets: t.Iterable[t.Mapping[str, t.Any]]
) -> list[dict[str, t.Any]]:
    by_host = {result["item"]: secret for result in secrets for secret in result.get("resources") or ()}
    found = []
    for listing in listings:
        secret = by_host.get(listing["item"])
        for pod in (listing.get("resources") or ()) if secret else ():
            if secret is not None and not pod["metadata"].get("deletionTimestamp"):
                found += [{"host": listing["item"], **mount} for mount in _mounts(pod, secret)]
    return found


def _mounts(pod: t.Mapping[str, t.Any], secret: t.Mapping[str, t.Any]) -> t.Iterator[dict[str, t.Any]]:
    """One mount is enough: all containers of a pod see the same files."""
    name, data = secret["metadata"]["name"], secret.get("data") or {}
    digests = [hashlib.sha256(base64.b64decode(data.get(key) or "")).hexdigest() for key in FILES]
    volumes = [v["name"] for v in pod["spec"].get("volumes") or () if (v.get("secret") or {}).get("secretName") == name]
    for container in pod["spec"].get("containers") or ():
        for mount in container.get("volumeMounts") or ():
            if mount["name"] in volumes:
                metadata = pod["metadata"]
                place = {"namespace": metadata["namespace"], "pod": metadata["name"], "container": container["name"]}
                yield {**place, "path": mount["mountPath"], "digests": digests}
                return


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"secret_mounts": secret_mounts}
