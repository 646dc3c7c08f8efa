# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Where the CAs are that a member of a database lets in: as it is declared, and as its pod shows it. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.names import CA_KEY, Object
from .._databases import Database
from .._kubernetes.volumes import Kind, volume_sources
from .._tls_options import VARIABLES
from .pods import TLS, TLS_VOLUME

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


class Bundle(t.NamedTuple):
    """A key of a Secret or ConfigMap with the PEM texts of CAs."""

    kind: Kind
    name: str
    key: str


def declared_bundle(spec: ClusterSpec, database: Database) -> tuple[Bundle, str]:
    """Return the bundle of the members of a database, and the field of `tls` that names it, empty if it is ca.crt of the Secret."""
    tls = spec.tls
    if database == "southbound" and tls.southbound_client_ca_config_map_ref:
        reference, field = tls.southbound_client_ca_config_map_ref, "southboundClientCaConfigMapRef"
        return Bundle("ConfigMap", reference.name, reference.key), field
    if database == "southbound" and tls.southbound_client_ca_key:
        return Bundle("Secret", spec.tls_secret, tls.southbound_client_ca_key), "southboundClientCaKey"
    if tls.ca_config_map_ref:
        return Bundle("ConfigMap", tls.ca_config_map_ref.name, tls.ca_config_map_ref.key), "caConfigMapRef"
    return Bundle("Secret", spec.tls_secret, CA_KEY), ""


def bundle_in_use(pod: t.Mapping[str, t.Any]) -> Bundle | None:
    """Return the bundle that a member was started with, from the specification of its pod; None without TLS."""
    variables = [variable for container in pod["containers"] for variable in container.get("env") or ()]
    file = next((str(one.get("value") or "") for one in variables if one["name"] == VARIABLES[-1]), "")
    if not file.startswith(f"{TLS}/"):
        return None
    path = file[len(TLS) + 1 :]
    sources = [
        source
        for volume in pod.get("volumes") or ()
        if volume["name"] == TLS_VOLUME
        for source in volume_sources(volume)
    ]
    return next((Bundle(source.kind, source.name, key) for source in sources if (key := source.key_of(path))), None)


def pod_of(workload: Object) -> Object:
    """Return the specification of the pods of a StatefulSet."""
    pod: Object = workload["spec"]["template"]["spec"]
    return pod
