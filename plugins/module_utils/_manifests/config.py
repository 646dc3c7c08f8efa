# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

ConfigMaps: what pods run, and what other components read.
"""

from __future__ import annotations

import base64
import typing as t

from .._api.names import CONFIG_NAME, Object, scripts_name
from .._launchers.relay import SCRIPT
from . import pods
from .context import ManifestContext

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


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
    """Return the content of `ovn-config`. Each key becomes an environment variable of the daemons that read it; what is not given is left out.

    Chassis connect to `southbound`, clients like Neutron to `southbound_unrestricted`.
    """
    values = {
        "OvnNorth": ",".join(northbound),
        "OvnSouth": ",".join(southbound),
        "OvnSouthUnrestricted": ",".join(southbound_unrestricted),
        "k8s_apiserver": api_server,
        "net_cidr": spec.network.net_cidr,
        "svc_cidr": spec.network.svc_cidr,
    }
    return {key: value for key, value in values.items() if value}
