# SPDX-License-Identifier: GPL-3.0-or-later
"""The Secret with key, certificate and trusted CAs of a Kubernetes cluster: compared with what is declared, and written as one object."""

from __future__ import annotations

import base64
import datetime
import time
import typing as t

from .._api.names import API_VERSION, CLIENT_CA_KEY, Object, issued_certificates_name, labels, metadata, owner_reference
from .._base.errors import Changed, Conflict, OvnError
from .._kubernetes.apply import ObjectChange, OnChange
from .._kubernetes.client import Cluster
from .._pki.installed import Declared
from .._pki.issued import FILE_NAME, IssuedCertificate, IssuedChange, merge_list, parse_list, render_list
from .._pki.secret import secret_state

# The list of issued certificates of a control plane in Kubernetes: a ConfigMap that the pod of the observer mounts. Several runs may write it at once.

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


_AFTERWARDS = ("issuer_name", "serial_number", "not_after", "days_left")


class TlsSecret(t.NamedTuple):
    """A Secret and who it is for. `place` names it in messages; without `declared` it is another owner's, and only examined."""

    name: str
    namespace: str
    cluster_name: str
    place: str
    issuer: str
    declared: Declared | None

    @property
    def title(self) -> str:
        return f"Secret {self.namespace}/{self.name}"


def secret_manifest(name: str, namespace: str, cluster_name: str, texts: t.Mapping[str, str]) -> Object:
    """Return a Secret with these PEM texts."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(cluster_name)},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }


def compare_secret(found: Object | None, secret: TlsSecret, now: datetime.datetime) -> dict[str, t.Any]:
    """Return `secret_state` of what is there; in addition `exists`, and `ca_crt`, the text of ca.crt once the Secret is as declared."""
    data = (found or {}).get("data") or {}
    state = secret_state(data, secret.place, secret.issuer, now, declared=secret.declared, client_ca_key=CLIENT_CA_KEY)
    ca_crt = state["ca_bundle_wanted"] if state["reasons"] else _decoded(data.get("ca.crt"))
    return {**state, "exists": found is not None, "ca_crt": ca_crt}


def desired_texts(
    found: Object | None, secret: TlsSecret, state: t.Mapping[str, t.Any], pair: tuple[str, str] | None
) -> dict[str, str]:
    """Return the contents of the Secret with this state; `pair` is a new certificate with its key, if one is needed."""
    data = (found or {}).get("data") or {}
    certificate, key = pair or (_decoded(data.get("tls.crt")), _decoded(data.get("tls.key")))
    texts = {"tls.crt": certificate, "tls.key": key, "ca.crt": state["ca_bundle_wanted"]}
    if secret.declared is not None and secret.declared.client_ca_bundle:
        texts[CLIENT_CA_KEY] = state["client_ca_bundle_wanted"]
    return texts


def read_secret(cluster: Cluster, secret: TlsSecret) -> Object | None:
    return cluster.get("v1", "Secret", secret.name, secret.namespace)


def write_secret(
    cluster: Cluster,
    secret: TlsSecret,
    pair: tuple[str, str] | None,
    namespace_labels: t.Mapping[str, str],
    now: datetime.datetime,
) -> dict[str, t.Any]:
    """Write what is not as declared; `Changed` if a pair is needed and none is given.

    Return why, and in the fields of the certificate the one that is there now.
    """
    found = read_secret(cluster, secret)
    state = compare_secret(found, secret, now)
    if not state["reasons"]:
        return state
    if state["needed"] and pair is None:
        raise Changed(f"{secret.place} was changed by somebody else during this run, and is as it was. Run again.")
    # One object, so that pods see key and certificate change together; the daemons load them without a restart.
    texts = desired_texts(found, secret, state, pair if state["needed"] else None)
    try:
        if found is None:
            ensure_namespace(cluster, secret.namespace, namespace_labels)
        manifest = secret_manifest(secret.name, secret.namespace, secret.cluster_name, texts)
        cluster.apply(manifest)
    except OvnError as e:
        raise type(e)(
            f"{secret.place} could not be written, and is as it was: {str(e).rstrip('.')}. Look at the rights and quotas of the namespace, and at who else "
            "manages this Secret; then run again.",
            **e.details,
        ) from e
    after = compare_secret(manifest, secret, now)
    return {**state, **{name: after[name] for name in _AFTERWARDS}}


def ensure_namespace(
    cluster: Cluster, namespace: str, namespace_labels: t.Mapping[str, str], on_change: OnChange | None = None
) -> None:
    """Create the namespace if it is missing. One that is there stays as it is."""
    if cluster.get("v1", "Namespace", namespace) is not None:
        return
    metadata = {"name": namespace, "labels": dict(namespace_labels)}
    try:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    except Conflict:
        return
    if on_change is not None:
        on_change(ObjectChange("Namespace", namespace, "", "created", None, None))


def _decoded(text: str | None) -> str:
    try:
        return base64.b64decode(text or "").decode(errors="replace")
    except ValueError:
        return ""
