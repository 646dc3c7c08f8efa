# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of the guests of the role ovn_ping, and those of the hypervisors that they are made after. Pure."""

from __future__ import annotations

import typing as t

from .variables import Variables

LABELS = "app.kubernetes.io"
# Many times what a ping takes, and the end of guests that a killed run has left.
GUEST_SECONDS = 3600


def is_running(pod: Variables) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")


def node_of(pod: Variables) -> str:
    """Return the node of the pod, empty before it is scheduled."""
    return str(pod["spec"].get("nodeName") or "")


def is_guest(pod: Variables, test: str) -> bool:
    """Return whether the pod is that of a guest of the test network with this name."""
    expected = {f"{LABELS}/component": "ping", f"{LABELS}/name": test}
    return expected.items() <= dict(pod["metadata"].get("labels") or {}).items()


def pods_at_open_vswitch(running: t.Iterable[Variables]) -> list[Variables]:
    """Return one pod for each hypervisor, with the sockets of its Open vSwitch: where that belongs to the node, only ovn-controller has pods."""
    return [pod for pod in running if pod["metadata"].get("generateName") == "ovs-" or _uses_that_of_the_node(pod)]


def _uses_that_of_the_node(pod: Variables) -> bool:
    """Return whether it is a pod of ovn-controller with `ovs.mode: host`."""
    variables = [one for container in pod["spec"]["containers"] for one in container.get("env") or ()]
    return any(one["name"] == "OVS_MODE" and one.get("value") == "host" for one in variables)


def guest_objects(
    name: str, namespace: str, nodes: t.Mapping[str, str], switch: Variables, running: t.Sequence[Variables]
) -> list[dict[str, t.Any]]:
    """Return the account of the guests and a pod for each of `nodes`, which are the nodes by names of pods.

    `switch` is a pod of a hypervisor: the guests get its secrets for images and its sockets, and an image of the pods that are running.
    """
    # OVN's image has the Python of the agent; that of Open vSwitch may be another one.
    agents = [container for pod in running for container in pod["spec"]["containers"] if container["name"] == "agent"]
    container = (agents or switch["spec"]["containers"])[0]
    sockets = next(volume["hostPath"]["path"] for volume in switch["spec"]["volumes"] if volume["name"] == "sockets")
    labels = {f"{LABELS}/name": name, f"{LABELS}/component": "ping"}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "automountServiceAccountToken": False,
    }
    return [
        account,
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": pod,
                    "namespace": namespace,
                    "labels": labels,
                    # As the field of the container, for Kubernetes before 1.30: the profile of container runtimes forbids mounts, and a network
                    # namespace with a name is one.
                    "annotations": {"container.apparmor.security.beta.kubernetes.io/guest": "unconfined"},
                },
                "spec": {
                    "serviceAccountName": name,
                    "nodeName": node,
                    "hostNetwork": True,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": 0,
                    "activeDeadlineSeconds": GUEST_SECONDS,
                    "imagePullSecrets": list(switch["spec"].get("imagePullSecrets") or ()),
                    "tolerations": [{"operator": "Exists"}],
                    "securityContext": {
                        "runAsUser": 0,
                        "seccompProfile": {"type": "RuntimeDefault"},
                        "seLinuxOptions": {"type": "spc_t"},
                    },
                    "containers": [_guest_container(container)],
                    "volumes": [
                        {"name": "run", "emptyDir": {"sizeLimit": "16Mi"}},
                        {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
                        # Without any type, a node that has no such directory would get an empty one.
                        {"name": "sockets", "hostPath": {"path": sockets, "type": "Directory"}},
                    ],
                },
            }
            for pod, node in nodes.items()
        ),
    ]


def _guest_container(original: Variables) -> dict[str, t.Any]:
    return {
        "name": "guest",
        "image": original["image"],
        "imagePullPolicy": original["imagePullPolicy"],
        "command": ["sleep", "infinity"],
        "resources": {"requests": {"cpu": "5m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "appArmorProfile": {"type": "Unconfined"},
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            # Namespaces and their names; devices and addresses; the packets of the ping.
            "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "NET_ADMIN", "NET_RAW"]},
        },
        "volumeMounts": [
            {"name": "run", "mountPath": "/run"},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "sockets", "mountPath": "/run/openvswitch"},
        ],
    }
