# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over the hypervisors of one Kubernetes cluster, as a task of the module ovn_hypervisors or of the operator."""

from __future__ import annotations

import contextlib
import typing as t

from .._base.errors import OvnError
from .._kubernetes.apply import merge_changes
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import secret_files
from .absent import AbsentHypervisors
from .authorities import read_authorities
from .desired import DesiredHypervisors, desired_from_params
from .metadata_agents import read_secret_version
from .observed_state import read_state
from .run import Hypervisors

Warn = t.Callable[[str], None]

_TEXTS = {"type": "list", "elements": "str"}
OPTIONS: dict[str, dict[str, t.Any]] = {
    "name": {"type": "str", "default": "ovn"},
    "namespace": {"type": "str", "default": "ovn-system"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "spec": {"type": "dict"},
    "southbound": _TEXTS,
    "northbound": _TEXTS,
    "tls_secret": {"type": "str", "no_log": False},  # its name
    "signer": {
        "type": "dict",
        "options": {
            "certificate": {"type": "str", "required": True},
            "private_key": {"type": "str", "no_log": True},
            "passphrase": {"type": "str", "no_log": True},
            "validity_days": {"type": "int", "default": 365},
            "other_chassis": _TEXTS,
        },
    },
    "api_server": {"type": "str"},
    "private_key": {"type": "path"},
    "certificate": {"type": "path"},
    "ca_certificate": {"type": "path"},
    "break_lock": {"type": "bool", "default": False},
    "force_conflicts": {"type": "bool", "default": False},
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "float", "default": 300},
}


def _result(run: Hypervisors | AbsentHypervisors) -> dict[str, t.Any]:
    progress = run.progress
    return {
        "changed": run.changed,
        "removed": run.removed,
        "objects": progress.as_results(),
        "steps": progress.steps,
        "diff": progress.diff(),
    }


def _changed_objects(run: Hypervisors | AbsentHypervisors) -> list[str]:
    """Return the objects that were changed before a failure, one line each, in the form of `ovn_cluster`."""
    changed = [one for one in merge_changes(run.progress.done) if one.action != "unchanged"]
    return [f"{d.kind} {f'{d.namespace}/' if d.namespace else ''}{d.name} {d.action}" for d in changed]


def converge(
    cluster: Cluster,
    params: t.Mapping[str, t.Any],
    *,
    directory: str,
    check_mode: bool,
    warn: Warn,
    keeps_api_server: bool = False,
) -> dict[str, t.Any]:
    """Bring the hypervisors of one cluster to the declared state and return the result of the module. `directory` is for temporary files.

    `keeps_api_server`: the address of the API server that was published before stays, since who else rolls out may reach it at another one.
    An `OvnError` has in its details what was done before.
    """
    desired = desired_from_params(params, cluster.server, directory)
    secret = desired.tls_secret if desired.southbound and not any(desired.tls) else None
    with contextlib.ExitStack() as stack:
        if secret:
            bundle = desired.spec.tls.ca_config_map_ref
            files = stack.enter_context(secret_files(cluster, secret, desired.namespace, directory, warn, bundle))
            desired = desired_from_params({**params, **files}, cluster.server, directory)
        return _run(
            cluster,
            desired,
            is_present=params["state"] == "present",
            check_mode=check_mode,
            warn=warn,
            keeps_api_server=keeps_api_server,
        )


def _run(
    cluster: Cluster,
    desired: DesiredHypervisors,
    *,
    is_present: bool,
    check_mode: bool,
    warn: Warn,
    keeps_api_server: bool,
) -> dict[str, t.Any]:
    looks_for_rights = desired.has_node_certificates or not is_present
    observed = read_state(cluster, desired.name, desired.namespace, node_certificates=looks_for_rights)
    if keeps_api_server and observed.published_api_server:
        desired = desired._replace(api_server=observed.published_api_server)
    run: Hypervisors | AbsentHypervisors
    if is_present:
        authorities, problem = read_authorities(cluster, desired)
        version = read_secret_version(cluster, desired.spec, desired.namespace)
        desired = desired._replace(authorities=authorities, metadata_secret_version=version)
        if problem:
            warn(problem)
        run = Hypervisors(cluster, desired, observed, check_mode=check_mode)
    else:
        run = AbsentHypervisors(cluster, desired, observed, check_mode=check_mode)
    try:
        run.run()
    except OvnError as e:
        e.details = {**e.details, **_result(run), "done": _changed_objects(run)}
        raise
    finally:
        for warning in run.progress.warnings:
            warn(warning)
    return {**_result(run), **({"chassis": run.chassis()} if isinstance(run, Hypervisors) else {})}
