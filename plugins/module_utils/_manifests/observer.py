# SPDX-License-Identifier: GPL-3.0-or-later
"""The observers. That of the control plane keeps the status of the OVNCluster and the labels of leaders true between runs, that of a hypervisor cluster the
status of OVNChassis whose node died. Nothing depends on them.
"""

from __future__ import annotations

import os
import typing as t

from .._api.names import Object, issued_certificates_name, labels, metadata, observer_name, selector
from .._api.observer_settings import ISSUED_VARIABLE, RELAYS_VARIABLE
from .._api.pod_fields import Resources
from .._api.service_accounts import account_of, central_accounts
from .._base.tls_options import CLIENT_CA_VARIABLE
from .._pki.issued import FILE_NAME
from . import pods
from .config import ManifestContext
from .hypervisor_pods import SCRIPTS as HYPERVISOR_SCRIPTS
from .relay import has_relay
from .status_rights import CHASSIS_OBSERVER, CHASSIS_OBSERVER_COMPONENT

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_ISSUED = "/issued"

# Observers leave an unreachable node soon (default: after 300 s): nobody else does their work.
_TOLERATIONS: list[Object] = [
    {
        "key": f"node.kubernetes.io/{trouble}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 10,
    }
    for trouble in ("not-ready", "unreachable")
]


def observer_deployment(context: ManifestContext) -> Object:
    name, mine = observer_name(context.name), selector(context.name, "observer")
    directories = [
        *pods.directories_of_archive(context.name),
        *pods.certificates(context.spec, "southbound"),
        *_issued(context),
    ]
    return context.manifest(
        "apps/v1",
        "Deployment",
        name,
        "observer",
        spec={
            "replicas": 1,
            "selector": {"matchLabels": mine},
            "strategy": {"type": "Recreate"},  # two of them would write the same status
            "template": {
                "metadata": {"labels": labels(context.name, "observer")},
                "spec": {
                    "serviceAccountName": account_of(central_accounts(context.spec), "observer"),
                    "automountServiceAccountToken": True,
                    "enableServiceLinks": False,
                    **pods.scheduling(context.spec, context.spec.priority_class_name),
                    "securityContext": pods.pod_security(),
                    **pods.tolerations(_tolerations(context.spec.observer.tolerations)),
                    "terminationGracePeriodSeconds": 10,
                    "containers": [_observer(context, [mount for _volume, mount in directories])],
                    "volumes": [volume for volume, _mount in directories],
                },
            },
        },
    )


def _issued(context: ManifestContext) -> list[tuple[Object, Object]]:
    """Return volume and mount of the list of issued certificates, which a run writes, maybe later than this."""
    if not context.spec.tls.enabled:
        return []
    return [pods.from_optional_config_map("issued", issued_certificates_name(context.name), _ISSUED)]


def _tolerations(declared: t.Sequence[t.Mapping[str, t.Any]]) -> list[t.Mapping[str, t.Any]]:
    """Return ours, without those that a declared one replaces, and the declared ones."""
    # Ours come first: Kubernetes takes the first one for a taint, and `operator: Exists` alone would keep the pod on a node that is away.
    replaced = {one.get("key") for one in declared if one.get("effect", "NoExecute") == "NoExecute"}
    return [*(one for one in _TOLERATIONS if one["key"] not in replaced), *declared]


def _observer(context: ManifestContext, mounts: list[Object]) -> Object:
    command = ["python3", "-I", f"{pods.SCRIPTS}/{pods.ARCHIVE}", "observer"]
    port = context.spec.metrics_port
    client_ca = pods.client_ca_certificate(context.spec)
    settings = {
        "OVN_CLUSTER_NAME": context.name,
        "OVN_NAMESPACE": context.namespace,
        "OVN_NORTHBOUND": ",".join(context.endpoints("northbound", "unrestricted")),
        "OVN_SOUTHBOUND": ",".join(context.endpoints("southbound", "unrestricted")),
        **({RELAYS_VARIABLE: ",".join(context.endpoints("southbound", "client"))} if has_relay(context) else {}),
        # Schemas in another image are not those of the databases.
        **({"OVN_SCHEMAS": os.devnull} if context.spec.agent_image else {}),
        "OVN_HEARTBEAT_SECONDS": str(context.spec.heartbeat_interval),
        **({"OVN_METRICS_PORT": str(port)} if port else {}),
        **pods.tls_files(context.spec.tls.enabled).as_environment(),
        **({CLIENT_CA_VARIABLE: client_ca} if client_ca else {}),
        **({ISSUED_VARIABLE: f"{_ISSUED}/{FILE_NAME}"} if context.spec.tls.enabled else {}),
    }
    return pods.container(
        "observer",
        context.spec.python_image,
        command,
        context.spec.observer.resources,
        env=pods.environment(settings),
        volumeMounts=mounts,
        **({"ports": [{"name": "metrics", "containerPort": port, "protocol": "TCP"}]} if port else {}),
        livenessProbe=pods.probe([*command, "--alive"], period=30, failures=4, timeout=10),
    )


def chassis_observer_deployment(spec: ClusterSpec, name: str, namespace: str) -> Object:
    """Return the observer of a hypervisor cluster.

    Two pods on hypervisors, on two of them if possible: when the node of one of them dies, the other one has followed all chassis already. A new pod would
    have to see two heartbeats before it knows who is late. Both may write: a status that has changed since it was read is left alone.
    """
    common = metadata(CHASSIS_OBSERVER, namespace, name, CHASSIS_OBSERVER_COMPONENT)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": common,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selector(name, CHASSIS_OBSERVER_COMPONENT)},
            "template": {
                "metadata": {"labels": common["labels"]},
                "spec": _chassis_observer_pod(spec, name, namespace),
            },
        },
    }


def _chassis_observer_pod(spec: ClusterSpec, name: str, namespace: str) -> Object:
    settings = {
        "OVN_CLUSTER_NAME": name,
        "OVN_NAMESPACE": namespace,
        "OVN_HEARTBEAT_SECONDS": str(spec.heartbeat_interval),
    }
    volumes = [pods.api_access(), pods.from_config_map("scripts", HYPERVISOR_SCRIPTS, pods.SCRIPTS)]
    container = pods.container(
        "observer",
        spec.python_image,
        ["python3", "-I", f"{pods.SCRIPTS}/{pods.ARCHIVE}", "chassis-observer"],
        Resources({"cpu": "5m", "memory": "32Mi"}, {}),
        env=pods.environment(settings),
        volumeMounts=[mount for _volume, mount in volumes],
    )
    return {
        "serviceAccountName": CHASSIS_OBSERVER,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **pods.scheduling(spec, spec.controller.priority_class_name),
        "securityContext": pods.pod_security(),
        "nodeSelector": dict(spec.controller.node_selector),
        **pods.tolerations(_tolerations(spec.controller.tolerations)),
        "affinity": pods.apart(selector(name, CHASSIS_OBSERVER_COMPONENT), required=False),
        "terminationGracePeriodSeconds": 10,
        "containers": [container],
        "volumes": [volume for volume, _mount in volumes],
    }
