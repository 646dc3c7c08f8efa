# SPDX-License-Identifier: GPL-3.0-or-later
"""northd: one of its pods is active, the others take over within milliseconds. Beside each runs what labels the pod of the active one."""

from __future__ import annotations

from .._api.names import Object, labels, northd_name, selector
from .._api.pod_fields import Resources
from .._api.service_accounts import account_of, central_accounts
from .._daemons.northd_command import NorthdSettings, control_socket, northd_command
from . import pods
from .config import config_environment
from .context import ManifestContext
from .image_contract import PYTHON, PYTHON_CHECK

_CONTROL = control_socket(pods.RUN)
_ASK = f"ovn-appctl -T 5 -t {_CONTROL}"


def northd_deployment(context: ManifestContext) -> Object:
    mine = selector(context.name, "northd")
    directories = [
        *pods.directories_of_archive(context.name),
        pods.api_access(),
        *pods.certificates(context.spec),
    ]
    return context.manifest(
        "apps/v1",
        "Deployment",
        northd_name(context.name),
        "northd",
        spec={
            "replicas": context.spec.northd.replicas,
            "selector": {"matchLabels": mine},
            # The new one stands by before an old one goes.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels(context.name, "northd")},
                "spec": {
                    "serviceAccountName": account_of(central_accounts(context.spec), "northd"),
                    "automountServiceAccountToken": False,  # northd itself does not use the API
                    "enableServiceLinks": False,
                    **pods.scheduling(context.spec, context.spec.priority_class_name),
                    **pods.tolerations(context.spec.northd.tolerations),
                    "securityContext": pods.pod_security(),
                    "terminationGracePeriodSeconds": 15,
                    "affinity": pods.apart(mine, required=False),
                    "topologySpreadConstraints": pods.spread(mine),
                    "containers": [
                        _northd(context, [m for _volume, m in directories if m["name"] not in ("scripts", "api")]),
                        _status(context, [m for _volume, m in directories if m["name"] != pods.TLS_VOLUME]),
                    ],
                    "volumes": [volume for volume, _mount in directories],
                },
            },
        },
    )


def _northd(context: ManifestContext, mounts: list[Object]) -> Object:
    spec = context.spec.northd
    settings = NorthdSettings(
        program="ovn-northd",
        run_directory=pods.RUN,
        northbound=context.endpoints("northbound", "unrestricted"),
        southbound=context.endpoints("southbound", "unrestricted"),
        threads=spec.threads,
        tls=pods.tls_files(context.spec.tls.enabled),
    )
    # Any state will do, as long as it answers. A big recomputation takes its time, so patience: the databases themselves drop one that hangs.
    alive = ["sh", "-c", f"{_ASK} status"]
    # Exactly: "not connected" contains "connected", too. What it says becomes the event of the probe.
    ready = [
        "sh",
        "-c",
        f'for db in nb sb; do said=$({_ASK} $db-connection-status) && test "$said" = connected || {{ echo "$db: $said"; exit 1; }}; done',
    ]
    return pods.container(
        "northd",
        context.spec.ovn_image,
        northd_command(settings),
        spec.resources,
        env=config_environment(),
        volumeMounts=mounts,
        startupProbe=pods.probe(alive, period=2, failures=150, timeout=10),
        livenessProbe=pods.probe(alive, period=30, failures=10, timeout=10),
        readinessProbe=pods.probe(ready, period=5, failures=6, timeout=11),
        # Process 1 of a container cannot end itself by a signal in the usual way; asked, it leaves at once and frees its lock.
        lifecycle={"preStop": {"exec": {"command": ["sh", "-c", f"{_ASK} exit || true"]}}},
    )


def _status(context: ManifestContext, mounts: list[Object]) -> Object:
    """Return the container that labels the active pod: northd's control socket alone shows that. Without Python in the image only the label is missing."""
    script = (
        "trap 'exit 0' TERM; "
        f"if {PYTHON_CHECK}; then exec python3 -I {pods.SCRIPTS}/{pods.ARCHIVE} northd; fi; "
        f"echo 'This image has no {PYTHON}: the pod of the active northd gets no label.'; sleep infinity & wait"
    )
    return pods.container(
        "status",
        context.spec.python_image,
        ["sh", "-c", script],
        Resources({"cpu": "5m", "memory": "32Mi"}, {}),
        env=[
            pods.field("OVN_POD", "metadata.name"),
            *pods.environment({"OVN_NAMESPACE": context.namespace, "OVN_CONTROL_SOCKET": _CONTROL}),
        ],
        volumeMounts=mounts,
    )
