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


def guest_pod(switch: Variables, running: t.Sequence[Variables]) -> dict[str, t.Any]:
    """Return what the pod of a guest needs: `image`, `pull_policy`, `pull_secrets`, `sockets` (directory of the node), and how many `seconds` it lives."""
    # OVN's image has the Python of the agent; that of Open vSwitch may be another one.
    agents = [container for pod in running for container in pod["spec"]["containers"] if container["name"] == "agent"]
    container = (agents or switch["spec"]["containers"])[0]
    return {
        "image": container["image"],
        "pull_policy": container["imagePullPolicy"],
        "pull_secrets": list(switch["spec"].get("imagePullSecrets") or ()),
        "sockets": next(v["hostPath"]["path"] for v in switch["spec"]["volumes"] if v["name"] == "sockets"),
        "seconds": GUEST_SECONDS,
    }
