# SPDX-License-Identifier: GPL-3.0-or-later
"""What all pods of the control plane have in common: no privileges, a read-only image, and a few directories to write to."""

from __future__ import annotations

import typing as t

from .._api.names import CA_KEY, CLIENT_CA_KEY, USER, Object, scripts_name
from .._api.pod_fields import Image, Resources
from .._api.spec import ClusterSpec
from .._base.databases import Database
from .._ovsdb.tls_files import NO_TLS, TlsFiles

if t.TYPE_CHECKING:
    from .._api.tls_spec import Tls

TLS_VOLUME = "tls"
SCRIPTS, RUN, TLS, TEMPORARY = "/scripts", "/run/ovn", "/tls", "/tmp"
LAUNCHER, RELAY_LAUNCHER, ARCHIVE = "ovn-raft-launcher", "ovn-relay-launcher", "c5c3-ovn.pyz"
# The keys of a Secret as cert-manager writes it, mounted as a whole.
TLS_FILES = TlsFiles(f"{TLS}/tls.key", f"{TLS}/tls.crt", f"{TLS}/{CA_KEY}")


def pod_security() -> Object:
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",  # going through all files of a volume at each start takes time
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def scheduling(spec: ClusterSpec, priority_class: str) -> Object:
    """Return the fields of the pod: Secrets for its images if there are any, and a class, or none for the default of the cluster."""
    secrets = [dict(secret) for secret in spec.image_pull_secrets]
    return {
        **({"imagePullSecrets": secrets} if secrets else {}),
        **({"priorityClassName": priority_class} if priority_class else {}),
    }


def tolerations(declared: t.Sequence[t.Mapping[str, t.Any]]) -> Object:
    """Return the field of the pod, or nothing without any."""
    return {"tolerations": [dict(one) for one in declared]} if declared else {}


def container_security() -> Object:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def container(
    name: str, image: Image, command: list[str], resources: Resources | None = None, **fields: t.Any
) -> Object:
    """Return one container; mounts, environment and probes come as fields."""
    result = {
        "name": name,
        "image": image.reference,
        "imagePullPolicy": image.pull_policy,
        "command": command,
        "securityContext": container_security(),
        # The reason of a crash is in the log: show it where the state of the pod is shown.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **fields,
    }
    if resources and resources.as_dict():
        result["resources"] = resources.as_dict()
    return result


def environment(values: t.Mapping[str, str]) -> list[Object]:
    return [{"name": key, "value": value} for key, value in values.items()]


def field(name: str, path: str) -> Object:
    """Return an environment variable with a field of the pod itself."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def probe(command: list[str], *, period: int, failures: int, timeout: int) -> Object:
    return {
        "exec": {"command": command},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": timeout,
    }


def empty(name: str, path: str) -> tuple[Object, Object]:
    """Return volume and mount of a directory that is deleted with the pod."""
    return {"name": name, "emptyDir": {}}, {"name": name, "mountPath": path}


def from_config_map(name: str, config_map: str, path: str) -> tuple[Object, Object]:
    """Return volume and mount of the whole directory: a mount of a single file would never change."""
    return (
        {"name": name, "configMap": {"name": config_map}},
        {"name": name, "mountPath": path, "readOnly": True},
    )


def directories_of_archive(name: str) -> list[tuple[Object, Object]]:
    """Return volumes and mounts of what a container needs that runs our archive, in the control plane of this name."""
    return [empty("run", RUN), empty("tmp", TEMPORARY), from_config_map("scripts", scripts_name(name), SCRIPTS)]


def from_optional_config_map(name: str, config_map: str, path: str) -> tuple[Object, Object]:
    """Return the same for a ConfigMap that may come later: the directory is empty until then."""
    volume, mount = from_config_map(name, config_map, path)
    volume["configMap"]["optional"] = True
    return volume, mount


def from_config_maps(name: str, config_map: str, optional: str, path: str) -> tuple[Object, Object]:
    """Return volume and mount of the keys of two ConfigMaps in one directory; pods start without the second one."""
    sources = [{"configMap": {"name": config_map}}, {"configMap": {"name": optional, "optional": True}}]
    return (
        {"name": name, "projected": {"sources": sources}},
        {"name": name, "mountPath": path, "readOnly": True},
    )


def certificates(spec: ClusterSpec, database: Database | None = None) -> list[tuple[Object, Object]]:
    """Return volume and mount of what `tls_volume` shows to the members of this database, or to a daemon that is no database."""
    if not spec.tls.enabled:
        return []
    volume = tls_volume(spec.tls, spec.tls_secret, mode=0o440, database=database)
    return [(volume, {"name": TLS_VOLUME, "mountPath": TLS, "readOnly": True})]


def tls_volume(tls: Tls, secret: str, *, mode: int, database: Database | None = None) -> Object:
    """Return the volume with the whole Secret, or with what there is to use of it and the CAs of ConfigMaps.

    Kubernetes swaps key and certificate in one step, and the daemons read both again. Another volume restarts pods, so without ConfigMaps it stays as it is.
    """
    southbound = database == "southbound"
    trusted, clients = tls.ca_config_map_ref, tls.southbound_client_ca_config_map_ref if southbound else None
    if trusted is None and clients is None:
        return {"name": TLS_VOLUME, "secret": {"secretName": secret, "defaultMode": mode}}
    # Each path once: a Secret may have more keys than we use, and cert-manager always writes its own ca.crt.
    paths = [(key, key) for key in ("tls.key", "tls.crt", *(() if trusted else (CA_KEY,)))]
    if southbound and tls.southbound_client_ca_key:
        paths.append((tls.southbound_client_ca_key, CLIENT_CA_KEY))
    sources: list[Object] = [{"secret": {"name": secret, "items": _items(paths)}}]
    for reference, path in ((trusted, CA_KEY), (clients, CLIENT_CA_KEY)):
        if reference is not None:
            sources.append({"configMap": {"name": reference.name, "items": _items([(reference.key, path)])}})
    return {"name": TLS_VOLUME, "projected": {"sources": sources, "defaultMode": mode}}


def _items(paths: t.Iterable[tuple[str, str]]) -> list[Object]:
    return [{"key": key, "path": path} for key, path in paths]


def tls_files(enabled: bool) -> TlsFiles:
    """Return where the daemons find what `certificates` mounts."""
    return TLS_FILES if enabled else NO_TLS


def relay_tls_files(spec: ClusterSpec) -> TlsFiles:
    """Return the files of the relay: ovsdb-server has one list of CAs for all that connect to it, so that of the relay alone has those of chassis in it.

    As a client it would believe servers of these CAs, too, so they must sign certificates of clients alone, as ovn_pki does.
    """
    own = client_ca_certificate(spec)
    files = tls_files(spec.tls.enabled)
    return files._replace(ca_certificate=own) if own else files


def client_ca_certificate(spec: ClusterSpec) -> str | None:
    """Return the file with the CAs of whom the relays let in, None if these are everybody's, or without TLS."""
    tls = spec.tls
    key = tls.southbound_client_ca_key
    # Beside a ConfigMap the volume is made of single files, which have names of ours.
    name = CLIENT_CA_KEY if tls.southbound_client_ca_config_map_ref or (key and tls.ca_config_map_ref) else key
    return f"{TLS}/{name}" if tls.enabled and name not in (None, CA_KEY) else None


def api_access() -> tuple[Object, Object]:
    """Return volume and mount of the token of the account and the CA of the API server, for one container; Kubernetes would mount them into all."""
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    return (
        {"name": "api", "projected": {"sources": sources}},
        {"name": "api", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
    )


def apart(labels: Object, *, required: bool) -> Object:
    """Return the anti-affinity: two pods with these labels on one node never, or only if there is no other node."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    if required:
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
        }
    }


def spread(labels: Object) -> list[Object]:
    """Return the constraints that spread the pods over the zones, as far as possible."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
    ]
