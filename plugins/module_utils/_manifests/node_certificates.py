# SPDX-License-Identifier: GPL-3.0-or-later
"""A certificate for each node of a hypervisor cluster: the agent makes key and request, a run signs it. What the pod of ovn-controller needs for that."""

from __future__ import annotations

import typing as t

from .._api.names import CA_KEY, Component, Object, labels, metadata
from .._ovsdb.tls_files import TlsFiles
from .pods import TLS, TLS_VOLUME
from .status_rights import cluster_role

if t.TYPE_CHECKING:
    from .._api.tls_spec import Tls

# Key and certificate outlive the pod and a boot of the node as on a machine: else each of them would wait for the next run.
_NODE_FOLDER = "/var/lib/c5c3-ovn/certificate"
FOLDER, FOLDER_VARIABLE, _VOLUME = "/node-tls", "OVN_NODE_TLS_DIR", "node-tls"
# The same folder where nodes have no certificates of their own: what is left there from before goes.
UNUSED_VARIABLE = "OVN_UNUSED_TLS_DIR"
# The certificate (PEM) of the CA that signs. It is part of the pod, so another CA comes to the nodes one by one, and stops at the first that it cuts off.
ISSUER_VARIABLE = "OVN_NODE_TLS_ISSUER"
AUTHORITIES = "ovn-chassis-ca"  # ConfigMap
# The agent replaces the folder behind this link, so key and certificate change together.
FILES = TlsFiles(f"{FOLDER}/current/tls.key", f"{FOLDER}/current/tls.crt", f"{TLS}/{CA_KEY}")


def authorities_volume(tls: Tls) -> Object:
    """Return the volume with the CAs that ovn-controller trusts.

    A kubelet may read the whole Secret that a pod of its node names, whichever of its keys are mounted: so no pod of a node names that one.
    """
    bundle = tls.ca_config_map_ref
    name, key = (bundle.name, bundle.key) if bundle is not None else (AUTHORITIES, CA_KEY)
    items = [{"key": key, "path": CA_KEY}]
    return {"name": TLS_VOLUME, "configMap": {"name": name, "items": items, "defaultMode": 0o444}}


def authorities_manifest(bundle: str, *, name: str, namespace: str) -> Object:
    """Return the ConfigMap with the CAs of the Secret, for nodes, which cannot read that. The role ovn_pki writes it, too, whenever it writes the Secret."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(AUTHORITIES, namespace, name, "controller"),
        "data": {CA_KEY: bundle},
    }


def certificate_volume() -> tuple[Object, Object]:
    """Return volume and mount of the folder with the key and certificate of the node."""
    return (
        {"name": _VOLUME, "hostPath": {"path": _NODE_FOLDER, "type": "DirectoryOrCreate"}},
        {"name": _VOLUME, "mountPath": FOLDER},
    )


def environment_of(workload: Object) -> dict[str, str]:
    """Return the variables of all containers of a DaemonSet, empty for those that have no value in it."""
    return environment_of_pod(workload.get("spec", {}).get("template", {}).get("spec", {}))


def environment_of_pod(pod: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the same for the specification of a pod."""
    containers = pod.get("containers") or ()
    return {one["name"]: one.get("value") or "" for container in containers for one in container.get("env") or ()}


def role_name(namespace: str) -> str:
    """Return the name of ClusterRole and ClusterRoleBinding: requests for certificates have no namespace."""
    return f"c5c3-ovn-certificates-{namespace}"


def request_rights(account: str, namespace: str, name: str, component: Component) -> list[Object]:
    """Return what lets the agents ask for certificates, and see whether they have got them. What a request gets depends on who signs."""
    metadata = {"name": role_name(namespace), "labels": labels(name, component)}
    rule = {
        "apiGroups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"],
        "verbs": ["create", "get"],
    }
    return cluster_role(metadata, [rule], account, namespace)
