# SPDX-License-Identifier: GPL-3.0-or-later
"""The Secret of a client of the databases, from its files on the control node. Its key is in no result."""

from __future__ import annotations

import base64
import typing as t

from ..module_utils._base.errors import OvnError

if t.TYPE_CHECKING:
    from ..module_utils._roles.variables import Variables

Call = t.Callable[..., dict[str, t.Any]]

_FILES = {"tls.key": "private_key", "tls.crt": "certificate", "ca.crt": "ca_certificate"}


class ClientSecret(t.NamedTuple):
    """`files` are `private_key`, `certificate` and `ca_certificate` on the control node; `place` is what messages call the cluster."""

    name: str
    namespace: str
    labels: Variables
    files: Variables
    place: str


def predicted_secret(secret: ClientSecret) -> dict[str, t.Any]:
    """Return the result in check mode if a run would have written other files, which check mode leaves as they are."""
    return {
        "changed": True,
        "msg": f"The Secret {secret.namespace}/{secret.name} of {secret.place} would be written, because {secret.files['certificate']} or the CAs beside it "
        "would be others.",
    }


def write_client_secret(call: Call, secret: ClientSecret, **access: t.Any) -> dict[str, t.Any]:
    """Apply the Secret and return whether it was changed; `access` are `kubeconfig` and `context`."""
    definition = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": secret.name,
            "namespace": secret.namespace,
            "labels": {"app.kubernetes.io/managed-by": "c5c3.ovn", **secret.labels},
        },
        "data": {key: _encoded(str(secret.files[name])) for key, name in _FILES.items()},
    }
    try:
        found = call(
            "kubernetes.core.k8s",
            apply=True,
            server_side_apply={"field_manager": "c5c3.ovn"},
            definition=definition,
            **{name: value or None for name, value in access.items()},
        )
    except OvnError as e:
        raise OvnError(
            f"The Secret {secret.namespace}/{secret.name} of {secret.place} could not be written: {e}. Look at the namespace, its quotas "
            "and your rights in it, then run again."
        ) from None
    return {"changed": bool(found["changed"])}


def _encoded(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return base64.b64encode(stream.read()).decode()
    except OSError as e:
        raise OvnError(f"{path} cannot be read on the control node: {e.strerror}") from e
