# SPDX-License-Identifier: GPL-3.0-or-later
"""The leader proxy of each node, and one address at which pods reach that of their own node.

A client must not be led to the proxy of another node. When that node loses its power, the connection ends on neither side: Neutron switches off the probes of
OVSDB, and the kernel waits for hours. Of its own node's proxy a client knows when it ends, and both have lost their power together.
"""

from __future__ import annotations

import hashlib

from .._api.names import GROUP, Component, Object, labels, leader_proxy_name, selector
from .._base.databases import DATABASES, PORTS
from . import pods
from .config import ManifestContext
from .services import families

_COMPONENT: Component = "leader-proxy"
_ALIVE_FILE = f"{pods.RUN}/leader-proxy-alive"
# Annotation of the pods: another archive replaces them, as the proxy does not follow it.
ARCHIVE_HASH = f"{GROUP}/archive"
_HANDOVER_SECONDS = 5  # in which kube-proxy leads new connections to the next pod


def leader_proxy(context: ManifestContext, archive: bytes) -> list[Object]:
    """Return account, Service and DaemonSet; nothing without a proxy. `archive` is the Python that its pods run."""
    if not context.spec.leader_proxy.enabled:
        return []
    name = leader_proxy_name(context.name)
    return [
        context.manifest("v1", "ServiceAccount", name, _COMPONENT, automountServiceAccountToken=False),
        _service(context, name),
        _daemon_set(context, name, archive),
    ]


def _service(context: ManifestContext, name: str) -> Object:
    ports = [
        {"name": database, "port": number, "targetPort": number, "protocol": "TCP"}
        for database, number in ((database, PORTS[database].unrestricted) for database in DATABASES)
    ]
    return context.manifest(
        "v1",
        "Service",
        name,
        _COMPONENT,
        spec={
            "type": "ClusterIP",
            **families(context),
            "internalTrafficPolicy": "Local",
            "selector": selector(context.name, _COMPONENT),
            "ports": ports,
        },
    )


def _daemon_set(context: ManifestContext, name: str, archive: bytes) -> Object:
    settings = context.spec.leader_proxy
    directories = [
        *pods.directories_of_archive(context.name),
        *pods.certificates(context.spec),
    ]
    return context.manifest(
        "apps/v1",
        "DaemonSet",
        name,
        _COMPONENT,
        spec={
            "selector": {"matchLabels": selector(context.name, _COMPONENT)},
            # One node at a time, and the next pod takes over before the former one ends: without any of its node, clients reach none at all.
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "minReadySeconds": 5,
            "revisionHistoryLimit": 3,
            "template": {
                "metadata": {
                    "labels": labels(context.name, _COMPONENT),
                    "annotations": {ARCHIVE_HASH: hashlib.sha256(archive).hexdigest()[:16]},
                },
                "spec": {
                    "serviceAccountName": name,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    **pods.scheduling(context.spec, context.spec.priority_class_name),
                    "securityContext": pods.pod_security(),
                    "nodeSelector": dict(settings.node_selector),
                    **pods.tolerations(settings.tolerations),
                    "terminationGracePeriodSeconds": 2 * _HANDOVER_SECONDS,
                    "containers": [_container(context, [mount for _volume, mount in directories])],
                    "volumes": [volume for volume, _mount in directories],
                },
            },
        },
    )


def _container(context: ManifestContext, mounts: list[Object]) -> Object:
    command = ["python3", "-I", f"{pods.SCRIPTS}/{pods.ARCHIVE}", "leader-proxy"]
    alive = [*command, "--alive"]
    settings = {
        **{f"OVN_{d.upper()}": ",".join(context.endpoints(d, "unrestricted")) for d in DATABASES},
        **{f"OVN_{d.upper()}_LISTEN": f"tcp:[::]:{PORTS[d].unrestricted}" for d in DATABASES},
        "OVN_ALIVE_FILE": _ALIVE_FILE,
        "OVN_KEEP_ARCHIVE": "true",
        **pods.tls_files(context.spec.tls.enabled).as_environment(),
    }
    return pods.container(
        "leader-proxy",
        context.spec.python_image,
        command,
        context.spec.leader_proxy.resources,
        env=pods.environment(settings),
        ports=[{"name": d, "containerPort": PORTS[d].unrestricted, "protocol": "TCP"} for d in DATABASES],
        volumeMounts=mounts,
        lifecycle={"preStop": {"exec": {"command": ["sleep", str(_HANDOVER_SECONDS)]}}},
        # It is ready from its start on, also while no member leads: it is there to hold the connections that come then. So there is no readinessProbe.
        startupProbe=pods.probe(alive, period=1, failures=60, timeout=10),
        livenessProbe=pods.probe(alive, period=30, failures=4, timeout=10),
    )
