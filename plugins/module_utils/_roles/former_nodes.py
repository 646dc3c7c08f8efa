# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes may still use a certificate of a CA that is to be retired. The certificate is on the node alone, but its pod names the CA that it was started
for, and is not ready before the node has a certificate of that one. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.names import selector
from .._base.tls_options import certificates_of
from .._kubernetes.rollout_progress import generation_observed, is_ready, is_terminating
from .._manifests.node_certificates import FOLDER_VARIABLE, ISSUER_VARIABLE, environment_of, environment_of_pod
from .variables import Variables

_INSTANCE = "app.kubernetes.io/instance"
_CONTROLLER = {key: value for key, value in selector("", "controller").items() if key != _INSTANCE}


def former_nodes(listings: t.Iterable[Variables], accepted: str) -> list[str]:
    """Return the pods and DaemonSets of ovn-controller whose nodes may have a certificate of another CA than those in `accepted` (PEM), each with the reason.

    `listings` are results of `k8s_info` for both kinds. Pods of nodes that share a certificate do not count: theirs is in a Secret.
    """
    found = [one for listing in listings for one in listing.get("resources") or () if _is_controller(one)]
    reasons = ((one, _reason(one, certificates_of(accepted))) for one in found)
    return [
        f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}{_on_node(one)} {reason}"
        for one, reason in reasons
        if reason
    ]


def _is_controller(one: Variables) -> bool:
    labels = one["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in _CONTROLLER.items())


def _on_node(one: Variables) -> str:
    node = one["spec"].get("nodeName")
    return f" on node {node}" if node else ""


def _reason(one: Variables, accepted: t.Collection[str]) -> str:
    is_pod = one["kind"] == "Pod"
    status = one.get("status") or {}
    if is_pod and status.get("phase") in ("Succeeded", "Failed"):
        return ""
    variables = environment_of_pod(one["spec"]) if is_pod else environment_of(dict(one))
    if FOLDER_VARIABLE not in variables:
        return ""
    issuer = certificates_of(variables.get(ISSUER_VARIABLE, ""))
    if not issuer:
        return "does not name the CA that signs"
    if not issuer <= set(accepted):
        return "has another CA"
    if not is_pod:
        return _rollout(one, status)
    if is_terminating(dict(one)):
        return "is terminating"
    return "" if is_ready(one) else "is not ready"


def _rollout(daemon_set: Variables, status: Variables) -> str:
    """A node that the pods do not tolerate any more is not counted as one that should have a pod, but its ovn-controller may run."""
    if not generation_observed(daemon_set):
        return "was not observed by its controller yet"
    desired = status.get("desiredNumberScheduled", 0)
    done = min(status.get(number, 0) for number in ("updatedNumberScheduled", "numberReady"))
    if done < desired:
        return f"is rolled out on {done} of {desired} nodes"
    astray = status.get("numberMisscheduled", 0)
    return f"has pods on {astray} nodes that should have none" if astray else ""
