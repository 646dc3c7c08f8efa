# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.
Judges the API server, the namespace and the definitions. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.crds import REVISION, revision_of
from .._api.names import POD_SECURITY, Object
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.version import oldest_version, version_problem
from .findings import TITLES, Finding, Kind

# Pods of hypervisors use the network and folders of their node; those of the control plane satisfy the strictest level.
_REFUSED_BY = {"cluster": (), "hypervisors": ("baseline", "restricted")}


def judge_version(version: str, server: str) -> list[Finding]:
    problem = version_problem(version)
    advice = f"Upgrade the cluster to Kubernetes {oldest_version()} or newer."
    return [Finding("api_version", f"API server {server}", problem, advice)] if problem else []


def judge_namespace(namespace: Object | None, kind: Kind) -> list[Finding]:
    """Judge a namespace that exists; a missing one is made by the run."""
    if namespace is None:
        return []
    name = namespace["metadata"]["name"]
    if is_terminating(namespace):
        return [
            Finding(
                "namespace_terminating",
                f"Namespace {name}",
                "It is being deleted, so nothing can be created in it.",
                "Wait until it is gone (kubectl get namespace), or look which finalizer keeps it, then run again.",
            )
        ]
    level = (namespace["metadata"].get("labels") or {}).get(POD_SECURITY, "")
    if level not in _REFUSED_BY[kind]:
        return []
    return [
        Finding(
            "namespace_pod_security",
            f"Namespace {name}",
            f"Its label {POD_SECURITY}={level} refuses the pods of {TITLES[kind]}, which use the network and folders of their node.",
            f"Set it to privileged (kubectl label --overwrite namespace {name} {POD_SECURITY}=privileged), or choose another namespace.",
        )
    ]


def judge_definitions(definitions: t.Mapping[str, Object] | None) -> list[Finding]:
    found = []
    for name, definition in (definitions or {}).items():
        if is_terminating(definition):
            found.append(
                Finding(
                    "definition_terminating",
                    f"CustomResourceDefinition {name}",
                    "It is being deleted, with all its objects.",
                    "Wait until it is gone (kubectl get crd), or look which finalizer keeps it, then run again.",
                )
            )
        elif (revision := revision_of(definition)) is None or revision > REVISION:
            found.append(
                Finding(
                    "definition_newer",
                    f"CustomResourceDefinition {name}",
                    f"A newer version of the collection has written it (schema revision {'unknown' if revision is None else revision}, "
                    f"this version knows {REVISION}).",
                    "Update the collection c5c3.ovn on this control node.",
                )
            )
    return found


def judge_secret(
    secret: Object | None, name: str, namespace: str, *, exists: bool, client_ca_key: str | None = None
) -> list[Finding]:
    """Judge a Secret that another owner has to make; `exists` says whether the namespace is there, `client_ca_key` is tls.southboundClientCaKey."""
    keys = ["tls.crt", "tls.key", "ca.crt", *([client_ca_key] if client_ca_key else [])]
    bundle = f", and {client_ca_key} (the CAs of all whom the Southbound lets in)" if client_ca_key else ""
    where = f"Secret {namespace}/{name}"
    if secret is None:
        place = "It does not exist" if exists else f"Namespace {namespace} does not exist, so neither does it"
        return [
            Finding(
                "secret_missing",
                where,
                f"{place}; pods that mount it would not start.",
                f"Let its owner make it with {', '.join(keys)}, or leave tls.certSecretRef out: then ovn_pki makes one.",
            )
        ]
    missing = [key for key in keys if not (secret.get("data") or {}).get(key)]
    if not missing:
        return []
    return [
        Finding(
            "secret_incomplete",
            where,
            f"It has no {', '.join(missing)}.",
            f"Let its owner write all of tls.crt, tls.key, ca.crt (of the CA that signed all certificates){bundle}.",
        )
    ]
