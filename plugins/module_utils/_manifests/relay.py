# SPDX-License-Identifier: GPL-3.0-or-later
"""The relay of the Southbound database in each pod of a member: the only process that lets chassis in, so that members need not trust their CA.

It is a sidecar (a container of `initContainers` that goes on): it listens before the member starts, which may still know the port as one of its own, and
ends after the member, so that chassis leave the pod once.
"""

from __future__ import annotations

import json

from .._api.names import MOST_MEMBERS, Object, relay_name
from .._base.databases import PORTS
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
from .context import ManifestContext

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
