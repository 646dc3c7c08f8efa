# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over a control plane, as a task of the module ovn_cluster or of the operator."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._kubernetes.client import Cluster
from .._kubernetes.wait_tracker import Progress
from .absent import delete_control_plane, remaining_data
from .control_plane import ControlPlane
from .desired import desired_from_params, kept_fields_warning, refuse_deletion
from .observed_state import read_state

Params = t.Mapping[str, t.Any]
Warn = t.Callable[[str], None]

OPTIONS: dict[str, dict[str, t.Any]] = {
    "name": {"type": "str", "default": "ovn"},
    "namespace": {"type": "str", "default": "ovn-system"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "spec": {"type": "dict"},
    "definition": {"type": "dict"},
    "spec_from": {"type": "str", "choices": ["options", "resource"], "default": "options"},
    "resource_uid": {"type": "str"},
    "resource_generation": {"type": "int"},
    "images": {"type": "dict", "options": {"ovn": {"type": "dict"}, "ovs": {"type": "dict"}}},
    "cluster_domain": {"type": "str", "default": "cluster.local"},
    "pod_security": {
        "type": "str",
        "choices": ["restricted", "baseline", "privileged"],
        "default": "restricted",
    },
    "bootstrap": {"type": "str", "choices": ["auto", "forbid"], "default": "auto"},
    "northbound_cluster_id": {"type": "str"},
    "southbound_cluster_id": {"type": "str"},
    "restart": {"type": "bool", "default": True},
    "allow_outage": {"type": "bool", "default": False},
    "new_cluster": {"type": "bool", "default": False},
    "accept_rollback": {"type": "bool", "default": False},
    "accept_lost_disk": {"type": "bool", "default": False},
    "delete_data": {"type": "bool", "default": False},
    "break_lock": {"type": "bool", "default": False},
    "lock_wait_timeout": {"type": "float"},
    "force_conflicts": {"type": "bool", "default": False},
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "float", "default": 300},
}


def _place(params: Params) -> tuple[str, str]:
    """Return name and namespace; a definition has its own."""
    metadata = (params["definition"] or {}).get("metadata") or {}
    return metadata.get("name") or params["name"], metadata.get("namespace") or params["namespace"]


def present(cluster: Cluster, params: Params, *, check_mode: bool, warn: Warn) -> dict[str, t.Any]:
    """Bring the control plane to the declared state and return the result of the module; an `OvnError` has in its details what was done before."""
    observed = read_state(cluster, *_place(params))
    plane = ControlPlane(cluster, desired_from_params(params, observed.resource), observed, check_mode=check_mode)
    if params["spec_from"] == "resource" and observed.resource:
        warning = kept_fields_warning(observed.resource)
        if warning:
            warn(warning)
    progress = plane.progress
    try:
        plane.present()
    except OvnError as e:
        e.details.update(objects=progress.as_results(), steps=progress.steps, changed=progress.changed)
        raise
    finally:
        for warning in progress.warnings:
            warn(warning)
    return {
        "changed": progress.changed,
        "endpoints": plane.endpoints.as_dict(),
        "objects": progress.as_results(),
        "steps": progress.steps,
        "cluster": plane.resource or {},
        **{database: observed.verdict().as_dict() for database, observed in plane.observed_databases.items()},
        "diff": progress.diff(plane.settings),
    }


def absent(cluster: Cluster, params: Params, *, check_mode: bool) -> dict[str, t.Any]:
    """Delete the control plane, its data only with `delete_data`, and return the result of the module."""
    name, namespace = _place(params)
    refuse_deletion(params, name)
    progress = Progress()
    try:
        delete_control_plane(
            cluster,
            name,
            namespace,
            delete_data=params["delete_data"],
            check_mode=check_mode,
            deadline=Deadline(params["wait_timeout"]),
            on_change=progress.done.append,
            break_lock=params["break_lock"],
        )
    except OvnError as e:
        e.details.update(objects=progress.as_results(), changed=progress.changed)
        raise
    left = [] if params["delete_data"] else remaining_data(read_state(cluster, name, namespace))
    return {
        "changed": progress.changed,
        "objects": progress.as_results(),
        "cluster": {},
        "kept": left,
        "diff": progress.diff(),
    }
