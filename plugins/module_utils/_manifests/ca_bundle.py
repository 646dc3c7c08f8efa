# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the CAs are that a database lets in, the Southbound by its relays: as it is declared, and as a pod shows it. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import CA_KEY, Component, Object, labels, metadata
from .._base.databases import Database
from .._base.tls_options import CA_OPTION, VARIABLES
from .._kubernetes.rollout_progress import RELAY
from .._kubernetes.secret_files import Kind, volume_sources
from .._ovsdb.tls_files import TlsFiles
from .pods import TLS, TLS_VOLUME
from .status_rights import cluster_role

# A certificate for each node of a hypervisor cluster: the agent makes key and request, a run signs it. What the pod of ovn-controller needs for that.

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


if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


class Bundle(t.NamedTuple):
    """A key of a Secret or ConfigMap with the PEM texts of CAs."""

    kind: Kind
    name: str
    key: str


def declared_bundle(spec: ClusterSpec, database: Database) -> tuple[Bundle, str]:
    """Return the bundle of a database, and the field of `tls` that names it, empty if it is ca.crt of the Secret."""
    tls = spec.tls
    if database == "southbound" and tls.southbound_client_ca_config_map_ref:
        reference, field = tls.southbound_client_ca_config_map_ref, "southboundClientCaConfigMapRef"
        return Bundle("ConfigMap", reference.name, reference.key), field
    if database == "southbound" and tls.southbound_client_ca_key:
        return Bundle("Secret", spec.tls_secret, tls.southbound_client_ca_key), "southboundClientCaKey"
    if tls.ca_config_map_ref:
        return Bundle("ConfigMap", tls.ca_config_map_ref.name, tls.ca_config_map_ref.key), "caConfigMapRef"
    return Bundle("Secret", spec.tls_secret, CA_KEY), ""


def bundle_in_use(pod: t.Mapping[str, t.Any]) -> Bundle | None:
    """Return the bundle that a member was started with, or its relay, from the specification of its pod; None without TLS."""
    file = next(filter(None, map(_ca_file, [*(pod.get("initContainers") or ()), *pod["containers"]])), "")
    if not file.startswith(f"{TLS}/"):
        return None
    path = file[len(TLS) + 1 :]
    sources = [
        source
        for volume in pod.get("volumes") or ()
        if volume["name"] == TLS_VOLUME
        for source in volume_sources(volume)
    ]
    return next((Bundle(source.kind, source.name, key) for source in sources if (key := source.key_of(path))), None)


def _ca_file(container: t.Mapping[str, t.Any]) -> str:
    """Return the file with the CAs that this container is given, empty without one: a launcher by a variable, a relay by an argument."""
    words = list(container.get("command") or ())
    if container["name"] == RELAY and CA_OPTION in words:
        return str(words[words.index(CA_OPTION) + 1])
    variables = {one["name"]: str(one.get("value") or "") for one in container.get("env") or ()}
    return variables.get(VARIABLES[-1], "")


def pod_of(workload: Object) -> Object:
    """Return the specification of the pods of a StatefulSet."""
    pod: Object = workload["spec"]["template"]["spec"]
    return pod
