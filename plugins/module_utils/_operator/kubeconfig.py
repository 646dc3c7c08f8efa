# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubeconfig of a hypervisor cluster, from a Secret. Pure."""

from __future__ import annotations

import base64
import contextlib
import typing as t

from .._api.hypervisor_clusters import KubeconfigSecret
from .._base.errors import InvalidInput, Refused

with contextlib.suppress(ImportError):  # it comes with kubernetes, without which nothing gets here
    import yaml

_PROGRAMS = ("exec", "auth-provider")
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def place_of(reference: KubeconfigSecret, namespace: str) -> str:
    """Return where the kubeconfig is, for messages."""
    return f"Secret {namespace}/{reference.name}, key {reference.key}"


def read_kubeconfig(
    secret: t.Mapping[str, t.Any] | None, reference: KubeconfigSecret, namespace: str
) -> dict[str, t.Any]:
    """Return the kubeconfig as a mapping. `Refused` if it is not there, `InvalidInput` if it is none, or would run programs or read files of the operator."""
    place = f"Secret {namespace}/{reference.name}"
    if secret is None:
        raise Refused(
            f"{place} does not exist, so this cluster cannot be reached. Create it with the kubeconfig in its key {reference.key}."
        )
    text = (secret.get("data") or {}).get(reference.key)
    if not text:
        keys = ", ".join(sorted(secret.get("data") or {})) or "none"
        lack = "nothing in its" if text is not None else "no"
        raise Refused(
            f"{place} has {lack} key {reference.key} (its keys: {keys}). Put the kubeconfig there, or name the key in kubeconfigSecretRef.key."
        )
    try:
        content = yaml.safe_load(base64.b64decode(text).decode())
    except (ValueError, yaml.YAMLError) as e:
        raise InvalidInput(
            f"{place_of(reference, namespace)}, is no kubeconfig: it cannot be read as YAML ({type(e).__name__}). Replace it."
        ) from e
    if not isinstance(content, dict) or not content.get("clusters"):
        raise InvalidInput(f"{place_of(reference, namespace)}, is no kubeconfig: it names no clusters. Replace it.")
    try:
        named, insecure = sorted(_forbidden(content)), _is_insecure(content)
    except (TypeError, AttributeError) as e:
        raise InvalidInput(
            f"{place_of(reference, namespace)}, is no kubeconfig: clusters and users are not lists of mappings. Replace it."
        ) from e
    if insecure:
        raise InvalidInput(
            f"{place_of(reference, namespace)}, has insecure-skip-tls-verify: whoever is on the way would get the token, and the keys that are sent. Put the "
            "certificate of its CA into certificate-authority-data."
        )
    if named:
        raise InvalidInput(
            f"{place_of(reference, namespace)}, names {', '.join(named)}: the operator runs no programs and reads no files that a kubeconfig names. Put "
            "certificates and tokens into it (kubectl config view --flatten --minify)."
        )
    return content


def _is_insecure(content: t.Mapping[str, t.Any]) -> bool:
    return any((one.get("cluster") or {}).get("insecure-skip-tls-verify") for one in content["clusters"])


def _forbidden(content: t.Mapping[str, t.Any]) -> set[str]:
    parts = [
        one.get(kind) or {}
        for kind in ("cluster", "user")
        for one in content.get(f"{kind}s") or ()
        if isinstance(one, dict)
    ]
    return {key for one in parts if isinstance(one, dict) for key in (*_PROGRAMS, *_FILES) if one.get(key)}
