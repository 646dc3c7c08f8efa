# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A certificate for each node of a hypervisor cluster: the agent makes key and request, a run signs it. What the pod of ovn-controller needs for that.
"""

from __future__ import annotations

import typing as t

from .._api.names import CA_KEY, Component, Object, labels
from .._ovsdb.tls_files import TlsFiles
from .pods import TLS, TLS_VOLUME

if t.TYPE_CHECKING:
    from .._api.tls_spec import Tls

RBAC = "rbac.authorization.k8s.io"
# Key and certificate outlive the pod and a boot of the node as on a machine: else each of them would wait for the next run.
_NODE_FOLDER = "/var/lib/c5c3-ovn/certificate"
FOLDER, FOLDER_VARIABLE, _VOLUME = "/node-tls", "OVN_NODE_TLS_DIR", "node-tls"
# The agent replaces the folder behind this link, so key and certificate change together.
FILES = TlsFiles(f"{FOLDER}/current/tls.key", f"{FOLDER}/current/tls.crt", f"{TLS}/{CA_KEY}")


def authorities_volume(tls: Tls, secret: str) -> Object:
    """Return the volume with the CAs that ovn-controller trusts. The key in the Secret is not for nodes."""
    bundle = tls.ca_config_map_ref
    if bundle is not None:
        items = [{"key": bundle.key, "path": CA_KEY}]
        return {"name": TLS_VOLUME, "configMap": {"name": bundle.name, "items": items, "defaultMode": 0o444}}
    items = [{"key": CA_KEY, "path": CA_KEY}]
    return {"name": TLS_VOLUME, "secret": {"secretName": secret, "items": items, "defaultMode": 0o400}}


def certificate_volume() -> tuple[Object, Object]:
    """Return volume and mount of the folder with the key and certificate of the node."""
    return (
        {"name": _VOLUME, "hostPath": {"path": _NODE_FOLDER, "type": "DirectoryOrCreate"}},
        {"name": _VOLUME, "mountPath": FOLDER},
    )


def role_name(namespace: str) -> str:
    """Return the name of ClusterRole and ClusterRoleBinding: requests for certificates have no namespace."""
    return f"c5c3-ovn-certificates-{namespace}"


def request_rights(account: str, namespace: str, name: str, component: Component) -> list[Object]:
    """Return what lets the agents ask for certificates, and see whether they have got them. Nobody who may not sign gets one by this."""
    role = role_name(namespace)
    metadata = {"name": role, "labels": labels(name, component)}
    rule = {
        "apiGroups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"],
        "verbs": ["create", "get"],
    }
    return [
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    ]
