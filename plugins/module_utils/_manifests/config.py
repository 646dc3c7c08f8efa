# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps: what pods run, and what other components read."""

from __future__ import annotations

import base64
import typing as t

from .._api.names import CONFIG_NAME, Object, scripts_name
from .._daemons.relay_launcher import SCRIPT
from . import pods
from .context import ManifestContext

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


# Keys of `ovn-config`, and variables of the daemons that have them in their environment. None of them begins as those do that our launchers,
# agents and OVN itself read (OVN_, OVS_), so no value there changes what a daemon does.
CONFIG_KEYS = ("OvnNorth", "OvnSouth", "OvnSouthUnrestricted", "k8s_apiserver", "net_cidr", "svc_cidr")


def config_environment() -> list[Object]:
    """Return a variable for each key of `ovn-config`, and for nothing else that may be in it; it is not set where the key is absent.

    Values are those of the moment when the container starts: the pod itself does not change with them. For northd and ovn-controller alone. Members of
    databases know each other by their record, and nothing that is published may tell them of another one; Open vSwitch knows nothing of OVN.
    """
    return [
        {"name": key, "valueFrom": {"configMapKeyRef": {"name": CONFIG_NAME, "key": key, "optional": True}}}
        for key in CONFIG_KEYS
    ]


def scripts(context: ManifestContext, launcher: str, archive: bytes) -> Object:
    """Return what pods run; `launcher` is that of members."""
    return context.manifest(
        "v1",
        "ConfigMap",
        scripts_name(context.name),
        data={pods.LAUNCHER: launcher, pods.RELAY_LAUNCHER: SCRIPT},
        binaryData={pods.ARCHIVE: base64.b64encode(archive).decode()},
    )


def config(context: ManifestContext) -> Object:
    """Return `ovn-config`, with the names that components of other OVN set-ups read.

    Endpoints are those inside of this Kubernetes cluster, as nothing else is known before the Services are there. The run replaces them at its
    end: by the outside ones of a database whose members are exposed. Those without a role are for pods here, and stay.
    """
    return context.manifest(
        "v1",
        "ConfigMap",
        CONFIG_NAME,
        data=config_data(
            context.spec,
            northbound=context.endpoints("northbound", "client"),
            southbound=context.endpoints("southbound", "client"),
            southbound_unrestricted=context.endpoints("southbound", "unrestricted"),
            api_server=f"https://kubernetes.default.svc.{context.cluster_domain}",
        ),
    )


def config_data(
    spec: ClusterSpec,
    *,
    northbound: t.Iterable[str],
    southbound: t.Iterable[str],
    southbound_unrestricted: t.Iterable[str] = (),
    api_server: str,
) -> dict[str, str]:
    """Return the content of `ovn-config`. What is not given is left out.

    Chassis connect to `southbound`, clients like Neutron to `southbound_unrestricted`.
    """
    values = (
        ",".join(northbound),
        ",".join(southbound),
        ",".join(southbound_unrestricted),
        api_server,
        spec.network.net_cidr,
        spec.network.svc_cidr,
    )
    return {key: value for key, value in zip(CONFIG_KEYS, values) if value}
