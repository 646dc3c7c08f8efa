# SPDX-License-Identifier: GPL-3.0-or-later
"""The relay of the Southbound database in each pod of a member: the only process that lets chassis in, so that members need not trust their CA.

It is a sidecar (a container of `initContainers` that goes on): it listens before the member starts, which may still know the port as one of its own, and
ends after the member, so that chassis leave the pod once.
"""

from __future__ import annotations

import json

from .._api.names import MOST_MEMBERS, Object, labels, northd_name, relay_name, selector
from .._api.pod_fields import Resources
from .._api.service_accounts import account_of, central_accounts
from .._base.databases import PORTS
from .._daemons.central_host import NorthdSettings, control_socket, northd_command
from .._daemons.relay_command import (
    ROLE,
    SCHEMA,
    RelaySettings,
    listener_settings,
    relay_command,
    relay_control_socket,
    relay_database_socket,
)
from .._kubernetes.rollout_progress import RELAY
from . import pods
from .config import ManifestContext, config_environment
from .image_contract import PYTHON, PYTHON_CHECK

# northd: one of its pods is active, the others take over within milliseconds. Beside each runs what labels the pod of the active one.

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


# Apart from the member's: its socket there gives all rights.
_RUN = "/run/ovn-relay"
_LISTENERS, _LISTENERS_KEY = "/listeners", "listeners"


def has_relay(context: ManifestContext) -> bool:
    """Without TLS there are no names of chassis and no CAs to tell apart: members serve chassis themselves."""
    return context.spec.tls.enabled


def relay_directories(context: ManifestContext) -> list[tuple[Object, Object]]:
    """Return the volumes that the relay alone mounts, with the mounts."""
    return [
        pods.empty("relay-run", _RUN),
        pods.empty("relay-tmp", pods.TEMPORARY),
        pods.from_config_map("listeners", relay_name(context.name), _LISTENERS),
    ]


def relay_listeners(context: ManifestContext, inactivity_probe: int | None = None) -> list[Object]:
    """Return the ConfigMap with what relays take over while they run, so that another role or probe restarts no pod. Without a probe it is the declared one."""
    if not has_relay(context):
        return []
    settings = relay_settings(context, inactivity_probe)
    name = relay_name(context.name)
    return [context.manifest("v1", "ConfigMap", name, data={_LISTENERS_KEY: listener_settings(settings)})]


def relay_container(context: ManifestContext, mounts: list[Object]) -> Object:
    launcher = f"{pods.SCRIPTS}/{pods.RELAY_LAUNCHER}"
    settings = relay_settings(context)
    alive = ["sh", launcher, "alive"]
    return pods.container(
        RELAY,
        context.spec.ovn_image,
        ["sh", launcher, "run", *relay_command(settings)],
        context.spec.relay.resources,
        restartPolicy="Always",
        env=pods.environment(
            {
                "OVN_RELAY_LISTENERS_FILE": settings.listeners_file,
                "OVN_RELAY_SCHEMA": json.dumps(SCHEMA, separators=(",", ":")),
                "OVN_RELAY_SETTINGS": f"{_LISTENERS}/{_LISTENERS_KEY}",
                "OVN_RELAY_CONTROL_SOCKET": relay_control_socket(_RUN),
                "OVN_RELAY_SOCKET": relay_database_socket(_RUN),
            }
        ),
        ports=[{"name": "client", "containerPort": PORTS["southbound"].client, "protocol": "TCP"}],
        volumeMounts=mounts,
        # Patience as with the member: a copy of a big database takes its time. The member starts after the first one has passed: the port is taken by then.
        startupProbe=pods.probe(alive, period=1, failures=600, timeout=10),
        livenessProbe=pods.probe(alive, period=30, failures=10, timeout=10),
        # No readinessProbe: a relay that serves nobody would take its member out of the Services of those who need no relay, and keep nodes from being
        # drained. Chassis find the other relays by themselves, and runs ask for `ready`.
    )


def relay_settings(context: ManifestContext, inactivity_probe: int | None = None) -> RelaySettings:
    spec = context.spec
    return RelaySettings(
        run_directory=_RUN,
        listeners_file=f"{_RUN}/listeners.db",
        # All members that can ever exist, so that a change of the size restarts none. A name that does not exist costs nothing.
        sources=context.first_endpoints("southbound", MOST_MEMBERS, "unrestricted"),
        target=f"pssl:{PORTS['southbound'].client}:[::]",
        inactivity_probe=spec.southbound.inactivity_probe if inactivity_probe is None else inactivity_probe,
        tls=pods.relay_tls_files(spec),
        ciphers=spec.tls.ciphers,
        role=ROLE if spec.relay.rbac else "",
    )
