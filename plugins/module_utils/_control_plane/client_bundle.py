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
from .._manifests.pods import TLS_VOLUME
from .._tls_options import VARIABLES as TLS_VARIABLES
from .desired import DesiredCluster
from .observed_state import ObservedCluster

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


class _Bundle(t.NamedTuple):
    """Where members of the Southbound have the CAs of whom they let in: a key of a Secret."""

    secret: str
    key: str


def _bundle_in_use(stateful_set: Object | None) -> _Bundle | None:
    """Return the one that the members are declared to use, None if there are none, or no TLS."""
    pod = stateful_set["spec"]["template"]["spec"] if stateful_set else {}
    secrets = [str(one["secret"]["secretName"]) for one in pod.get("volumes") or () if one["name"] == TLS_VOLUME]
    files = [
        str(variable["value"])
        for container in pod.get("containers") or ()
        for variable in container.get("env") or ()
        if variable["name"] == TLS_VARIABLES[-1] and variable.get("value")
    ]
    return _Bundle(secrets[0], files[0].rpartition("/")[2]) if secrets and files else None


def _authorities(data: t.Mapping[str, str], key: str) -> set[str]:
    """Return the certificates of a file of the Secret; none if it is not readable, which is for others to find."""
    try:
        text = base64.b64decode(data.get(key) or "").decode()
    except ValueError:
        return set()
    return {"".join(block.split()) for block in _CERTIFICATE.findall(text)}


def refuse_secret_without_client_bundle(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
) -> None:
    """Raise `Refused` if members of the Southbound would find no CAs in the file that they are to use, or refuse somebody whom they let in now.

    A Secret that is not there yet, or may not be read, is no reason: pods wait for it. CAs that leave a file which stays in use are the owner's business.
    """
    spec = desired.spec
    key = spec.tls.southbound_client_ca_key
    before, after = _bundle_in_use(observed.known_stateful_set("southbound")), _Bundle(spec.tls_secret, key or "ca.crt")
    # In check mode the role ovn_pki has only predicted what it writes.
    predicted = check_mode and key == CLIENT_CA_KEY
    if not spec.tls.enabled or predicted or (key is None and before in (None, after)):
        return
    data, _refusal = read_secret(cluster, after.secret, desired.namespace)
    if data is None:
        return
    if not data.get(after.key):
        raise Refused(
            f"Secret {desired.namespace}/{after.secret} has no {after.key}, which tls.southboundClientCaKey of OVNCluster "
            f"{desired.name} names: the members of the Southbound would start without TLS. Run the role ovn_pki first (c5c3.ovn.central does), or let the "
            "owner of the Secret write that key, with the CAs of ca.crt and that of the chassis. Nothing was changed."
        )
    if before is not None and before != after:
        former = data if before.secret == after.secret else read_secret(cluster, before.secret, desired.namespace)[0]
        lost = _authorities(former or {}, before.key) - _authorities(data, after.key)
        if lost:
            raise Refused(_lost_message(desired, before, after, len(lost)))


def _lost_message(desired: DesiredCluster, before: _Bundle, after: _Bundle, lost: int) -> str:
    return (
        f"The members of the Southbound let in {lost} CA{'s' if lost > 1 else ''} of {before.key} in Secret {desired.namespace}/{before.secret}, which "
        f"{after.key} of Secret {desired.namespace}/{after.secret} does not have: with OVNCluster {desired.name} as it is declared they would refuse "
        f"everybody with a certificate of such a CA, chassis for example. Add it to {after.key} until nobody has one, or go on with the former file "
        "(tls.certSecretRef, tls.southboundClientCaKey). Nothing was changed."
    )
