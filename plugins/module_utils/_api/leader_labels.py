# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels on the pods that lead. They are for people and their tools; no client of ours depends on them. Pure."""

from __future__ import annotations

import typing as t

from .._raft.verdict import Verdict

NORTHBOUND = "ovn-nb-leader"
SOUTHBOUND = "ovn-sb-leader"
NORTHD = "ovn-northd-leader"
LABELS = {"northbound": NORTHBOUND, "southbound": SOUTHBOUND}

COMPONENT = "app.kubernetes.io/component"


def label_patch(label: str, desired: bool) -> dict[str, t.Any]:
    """Return the merge patch that sets or removes a label."""
    return {"metadata": {"labels": {label: "true" if desired else None}}}


def leader_of(verdict: Verdict) -> str | None:
    """Return the leader, None if there is none: a leader without a majority does not count, even while it claims to lead."""
    return verdict.leader if verdict.writable else None


def label_patches(
    pods: t.Iterable[t.Mapping[str, t.Any]], leaders: t.Mapping[str, str | None]
) -> dict[str, dict[str, t.Any]]:
    """Return the patches by pod name. `leaders`: label to pod or None; labels of databases that are not in it stay as they are.

    northd's label is set by the pod itself (northd.py); here it is taken off pods that can no longer do so.
    """
    patches: dict[str, dict[str, t.Any]] = {}
    for pod in pods:
        name = pod["metadata"]["name"]
        labels = pod["metadata"].get("labels", {})
        desired = {label: name == leader for label, leader in leaders.items()}
        if NORTHD in labels and is_lost(pod):
            desired[NORTHD] = False
        changes: dict[str, str | None] = {}
        for label, lead in desired.items():
            # A pod that has not started yet is not the one that leads: that one was just deleted.
            if lead and labels.get(label) != "true" and pod.get("status", {}).get("phase") == "Running":
                changes[label] = "true"
            elif not lead and label in labels:
                changes[label] = None
        if changes:
            patches[name] = {"metadata": {"labels": changes}}
    return patches


def is_lost(pod: t.Mapping[str, t.Any]) -> bool:
    """Return whether the pod can no longer report: it has ended, or its node is gone. Kubelet never says that a pod is not ready while all
    of its containers are; the control plane says so of every pod on a node that it does not hear.
    """
    status = pod.get("status", {})
    ready = {condition["type"]: condition["status"] == "True" for condition in status.get("conditions", [])}
    unheard = ready.get("ContainersReady", False) and not ready.get("Ready", False)
    return unheard or status.get("phase") in ("Failed", "Succeeded")


def active_northd(pods: t.Iterable[t.Mapping[str, t.Any]]) -> list[str] | None:
    """Return the northd pods that report to be active; None if there are pods, but none that reports (no container that does)."""
    northds = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(COMPONENT) == "northd"]
    reporting = [
        pod
        for pod in northds
        if any(container.get("name") == "status" for container in (pod.get("spec") or {}).get("containers") or ())
    ]
    if northds and not reporting:
        return None
    return sorted(
        pod["metadata"]["name"] for pod in reporting if (pod["metadata"].get("labels") or {}).get(NORTHD) == "true"
    )
