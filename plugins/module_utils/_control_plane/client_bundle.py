# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The CAs of whom the Southbound lets in: a member whose Secret lacks them would come back from a restart without TLS, and the others would miss it.
"""

from __future__ import annotations

import base64
import re
import typing as t

from .._api.names import CLIENT_CA_KEY, Object
from .._errors import Refused
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import read_secret
from .._manifests.pods import TLS, TLS_VOLUME
from .desired import DesiredCluster
from .observed_state import ObservedCluster

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


def _members_name(stateful_set: Object | None, file: str) -> bool:
    """Return whether the members are declared to use this file."""
    containers = stateful_set["spec"]["template"]["spec"]["containers"] if stateful_set else []
    return any(variable.get("value") == file for container in containers for variable in container.get("env") or ())


def _authorities(data: t.Mapping[str, str], key: str) -> dict[str, None]:
    """Return the certificates of a file of the Secret in their order; none if it is not readable, which is for others to find."""
    try:
        text = base64.b64decode(data.get(key) or "").decode()
    except ValueError:
        return {}
    return dict.fromkeys("".join(block.split()) for block in _CERTIFICATE.findall(text))


def refuse_secret_without_client_bundle(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
) -> None:
    """Raise `Refused` if members of the Southbound are about to use CAs that their Secret does not have, or no longer those of the chassis.

    A Secret that is not there yet, or may not be read, is no reason: pods wait for it.
    """
    spec, there = desired.spec, observed.known_stateful_set("southbound")
    key = spec.tls.southbound_client_ca_key
    if not spec.tls.enabled:
        return
    if key is not None:
        # In check mode the role ovn_pki has only predicted what it writes.
        if not (check_mode and key == CLIENT_CA_KEY):
            _refuse_missing_key(cluster, desired, key)
    elif _members_name(there, f"{TLS}/{CLIENT_CA_KEY}"):
        _refuse_lost_authorities(cluster, desired, there)


def _refuse_missing_key(cluster: Cluster, desired: DesiredCluster, key: str) -> None:
    data, _refusal = read_secret(cluster, desired.spec.tls_secret, desired.namespace)
    if data is not None and not data.get(key):
        raise Refused(
            f"Secret {desired.namespace}/{desired.spec.tls_secret} has no {key}, which tls.southboundClientCaKey of OVNCluster "
            f"{desired.name} names: the members of the Southbound would start without TLS. Run the role ovn_pki first (c5c3.ovn.central does), or let the "
            "owner of the Secret write that key, with the CAs of ca.crt and that of the chassis. Nothing was changed."
        )


def _refuse_lost_authorities(cluster: Cluster, desired: DesiredCluster, there: Object | None) -> None:
    """Members would let in the CAs of ca.crt alone from now on."""
    name, namespace = desired.spec.tls_secret, desired.namespace
    data, _refusal = read_secret(cluster, name, namespace)
    former = _mounted_secret(there)
    before = data if former == name else read_secret(cluster, former, namespace)[0] if former else None
    if data is None or before is None:
        return
    lost = _authorities(before, CLIENT_CA_KEY).keys() - _authorities(data, "ca.crt").keys()
    if lost:
        raise Refused(
            f"The members of the Southbound let in {len(lost)} CA{'s' if len(lost) > 1 else ''} of {CLIENT_CA_KEY} in Secret {namespace}/{former}, which "
            f"ca.crt of Secret {namespace}/{name} does not have. Without tls.southboundClientCaKey of OVNCluster {desired.name} they would refuse every "
            "chassis with a certificate of these CAs. Add them to ca.crt until chassis have certificates of another CA, or let the Secret have a bundle "
            "for the clients of the Southbound and name it in tls.southboundClientCaKey. Nothing was changed."
        )


def _mounted_secret(stateful_set: Object | None) -> str:
    volumes = stateful_set["spec"]["template"]["spec"].get("volumes") or () if stateful_set else ()
    names = [
        str(volume["secret"]["secretName"]) for volume in volumes if volume["name"] == TLS_VOLUME and "secret" in volume
    ]
    return names[0] if names else ""
