# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the CAs are that a database lets in, the Southbound by its relays: as it is declared, and as a pod shows it. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import CA_KEY, Object
from .._base.databases import Database
from .._base.tls_options import CA_OPTION, VARIABLES
from .._kubernetes.rollout_progress import RELAY
from .._kubernetes.volumes import Kind, volume_sources
from .pods import TLS, TLS_VOLUME

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


class Bundle(t.NamedTuple):
    """A key of a Secret or ConfigMap with the PEM texts of CAs."""

    kind: Kind
    name: str
    key: str


def declared_bundle(spec: ClusterSpec, database: Database) -> tuple[Bundle, str]:
    """Return the bundle of a database, and the field of `tls` that names it, empty if it is ca.crt of the Secret."""
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
    """Return the bundle that a member was started with, or its relay, from the specification of its pod; None without TLS."""
    file = next(filter(None, map(_ca_file, [*(pod.get("initContainers") or ()), *pod["containers"]])), "")
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


def _ca_file(container: t.Mapping[str, t.Any]) -> str:
    """Return the file with the CAs that this container is given, empty without one: a launcher by a variable, a relay by an argument."""
    words = list(container.get("command") or ())
    if container["name"] == RELAY and CA_OPTION in words:
        return str(words[words.index(CA_OPTION) + 1])
    variables = {one["name"]: str(one.get("value") or "") for one in container.get("env") or ()}
    return variables.get(VARIABLES[-1], "")


def pod_of(workload: Object) -> Object:
    """Return the specification of the pods of a StatefulSet."""
    pod: Object = workload["spec"]["template"]["spec"]
    return pod
