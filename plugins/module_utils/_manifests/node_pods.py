# SPDX-License-Identifier: GPL-3.0-or-later
"""What all pods of a hypervisor node have in common: its network, folders of the node, daemons that belong to root."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .pods import scheduling, tolerations

if t.TYPE_CHECKING:
    from .._api.hypervisor_spec import DaemonSetPods
    from .._api.pod_fields import Image
    from .._api.spec import ClusterSpec

# On the node: sockets of our Open vSwitch, which must not outlive a boot, and of the one that belongs to the node; the pod waits until that is there.
NODE_SOCKETS = "/run/c5c3-ovn/openvswitch"
HOST_SOCKETS = "/run/openvswitch"
OVS_RUN = "/run/openvswitch"  # in the containers


def sockets_volume(spec: ClusterSpec) -> Object:
    """Return the volume with the sockets of the Open vSwitch that the node uses."""
    if spec.ovs.mode == "host":
        return {"name": "sockets", "hostPath": {"path": HOST_SOCKETS, "type": "Directory"}}
    return folder("sockets", NODE_SOCKETS)


def node_pod(
    spec: ClusterSpec, account: str, settings: DaemonSetPods, volumes: list[Object], containers: list[Object]
) -> Object:
    return {
        "serviceAccountName": account,
        # A chassis is reached at the node's addresses, and must not hang on a network that may run on top of it.
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **scheduling(spec, settings.priority_class_name),
        "terminationGracePeriodSeconds": 60,
        "nodeSelector": dict(settings.node_selector),
        **tolerations(settings.tolerations),
        "securityContext": {
            "runAsUser": 0,
            "seccompProfile": {"type": "RuntimeDefault"},
            # Folders of the node carry labels that containers otherwise must not touch.
            "seLinuxOptions": {"type": "spc_t"},
        },
        "containers": containers,
        "volumes": volumes,
    }


def image_fields(image: Image) -> Object:
    return {"image": image.reference, "imagePullPolicy": image.pull_policy}


def security(capabilities: t.Sequence[str]) -> Object:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], **({"add": list(capabilities)} if capabilities else {})},
    }


def probe(command: list[str], *, period: int, failures: int) -> Object:
    return {"exec": {"command": command}, "periodSeconds": period, "timeoutSeconds": 10, "failureThreshold": failures}


def variables(environment: t.Mapping[str, str]) -> list[Object]:
    return [{"name": key, "value": value} for key, value in environment.items()]


def from_field(variable: str, path: str) -> Object:
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def mount(volume: str, path: str, *, read_only: bool = False) -> Object:
    return {"name": volume, "mountPath": path, **({"readOnly": True} if read_only else {})}


def folder(volume: str, path: str) -> Object:
    return {"name": volume, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}


def config_map_volume(volume: str, name: str, keys: t.Sequence[str] = ()) -> Object:
    items = {"items": [{"key": key, "path": key} for key in keys]} if keys else {}
    return {"name": volume, "configMap": {"name": name, "defaultMode": 0o444, **items}}
