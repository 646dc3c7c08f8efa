# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The CAs of whom the Southbound lets in: a member whose Secret lacks them would come back from a restart without TLS, and the others would miss it.
"""

from __future__ import annotations

from .._api.names import Object
from .._api.spec import ClusterSpec
from .._errors import Refused
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import read_secret
from .._manifests.pods import member_tls_files
from .desired import DesiredCluster
from .observed_state import ObservedCluster


def uses_client_bundle(spec: ClusterSpec, stateful_set: Object | None) -> bool:
    """Return whether the members of the Southbound are declared to use the bundle already, or need none."""
    if not spec.tls.enabled or spec.tls.southbound_client_ca_key is None:
        return True
    path = member_tls_files(spec, "southbound").ca_certificate
    containers = stateful_set["spec"]["template"]["spec"]["containers"] if stateful_set else []
    return any(variable.get("value") == path for container in containers for variable in container.get("env") or ())


def refuse_secret_without_client_bundle(cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster) -> None:
    """Raise `Refused` if members are about to use a bundle that their Secret does not have. One that is not there yet, or may not be read, is no reason."""
    spec = desired.spec
    if uses_client_bundle(spec, observed.known_stateful_set("southbound")):
        return
    data, _refusal = read_secret(cluster, spec.tls_secret, desired.namespace)
    if data is not None and not data.get(str(spec.tls.southbound_client_ca_key)):
        raise Refused(
            f"Secret {desired.namespace}/{spec.tls_secret} has no {spec.tls.southbound_client_ca_key}, which tls.southboundClientCaKey of OVNCluster "
            f"{desired.name} names: the members of the Southbound would start without TLS. Run the role ovn_pki first (c5c3.ovn.central does), or let the "
            "owner of the Secret write that key, with the CAs of ca.crt and that of the chassis. Nothing was changed."
        )
