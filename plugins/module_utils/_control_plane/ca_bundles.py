# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The CAs of whom the Southbound lets in: a member without them would come back from a restart without TLS, or not at all, and the others would miss it.
"""

from __future__ import annotations

import base64
import typing as t

from .._api.names import CA_KEY, CLIENT_CA_KEY, MANAGER, Object
from .._databases import DATABASES, Database
from .._errors import Refused
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import read_config_map, read_secret
from .._manifests.pods import TLS, TLS_VOLUME
from .._tls_options import VARIABLES, certificates_of
from .desired import DesiredCluster
from .observed_state import ObservedCluster

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


class Bundle(t.NamedTuple):
    """Where the CAs are that a member lets in."""

    kind: t.Literal["Secret", "ConfigMap"]
    name: str
    key: str

    def read(self, cluster: Cluster, namespace: str) -> dict[str, str] | None:
        """Return the data of the object, None if it is not there or may not be read."""
        read = read_secret if self.kind == "Secret" else read_config_map
        return read(cluster, self.name, namespace)[0]


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


def bundle_in_use(stateful_set: Object | None) -> Bundle | None:
    """Return the bundle whose CAs the members let in, None if there are no members, or without TLS."""
    pod = stateful_set["spec"]["template"]["spec"] if stateful_set else {}
    variables = [variable for container in pod.get("containers") or () for variable in container.get("env") or ()]
    file = next((str(one.get("value") or "") for one in variables if one["name"] == VARIABLES[-1]), "")
    path = file[len(TLS) + 1 :] if file.startswith(f"{TLS}/") else ""
    for volume in (pod.get("volumes") or ()) if path else ():
        if volume["name"] == TLS_VOLUME and "secret" in volume:
            return Bundle("Secret", str(volume["secret"]["secretName"]), path)
        if volume["name"] == TLS_VOLUME:
            return _projected(volume, path)
    return None


def _projected(volume: Object, path: str) -> Bundle | None:
    for source in (volume.get("projected") or {}).get("sources") or ():
        for origin, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            for item in (source.get(origin) or {}).get("items") or ():
                if item["path"] == path:
                    return Bundle(t.cast("t.Any", kind), str(source[origin]["name"]), str(item["key"]))
    return None


def _authorities(data: t.Mapping[str, str], key: str) -> set[str]:
    """Return the certificates of a bundle; none if it is not readable, which is for others to find."""
    try:
        return certificates_of(base64.b64decode(data.get(key) or "").decode())
    except ValueError:
        return set()


def refuse_bundles_without_authorities(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
) -> None:
    """Raise `Refused` if members would find no CAs in the file that they are to use, or refuse somebody whom they let in now.

    A Secret or ConfigMap that is not there yet, or may not be read, is no reason: pods wait for it. CAs that leave a file which stays in use are its owner's
    business.
    """
    if not desired.spec.tls.enabled:
        return
    for database in DATABASES:
        bundle, field = declared_bundle(desired.spec, database)
        former = bundle_in_use(observed.known_stateful_set(database))
        if not field and former in (None, bundle):
            continue
        # In check mode the role ovn_pki has only predicted what it writes.
        if check_mode and bundle[::2] == ("Secret", CLIENT_CA_KEY) and _is_of_ovn_pki(cluster, bundle, desired):
            continue
        _compare(cluster, desired, database, bundle, field, former)


def _is_of_ovn_pki(cluster: Cluster, bundle: Bundle, desired: DesiredCluster) -> bool:
    """Return whether the role ovn_pki makes this Secret, as far as can be known: it labels its own."""
    try:
        found = cluster.get("v1", "Secret", bundle.name, desired.namespace)
    except Refused:
        return True
    return found is None or (found["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER


def _compare(
    cluster: Cluster, desired: DesiredCluster, database: Database, bundle: Bundle, field: str, former: Bundle | None
) -> None:
    data = bundle.read(cluster, desired.namespace)
    if data is None:
        return
    if field and not data.get(bundle.key):
        raise Refused(_missing_key(bundle, field, desired, database))
    before = former.read(cluster, desired.namespace) if former and former != bundle else None
    if former and before is not None:
        lost = len(_authorities(before, former.key) - _authorities(data, bundle.key))
        if lost:
            raise Refused(_lost_authorities(lost, former, bundle, desired, database))


def _missing_key(bundle: Bundle, field: str, desired: DesiredCluster, database: Database) -> str:
    outcome, remedy = (
        (
            "start without TLS",
            "Run the role ovn_pki first (c5c3.ovn.central does), or let the owner of the Secret write it",
        )
        if bundle.kind == "Secret"
        else ("not start", "Correct the key, or let the owner of the ConfigMap write it")
    )
    authorities = "of the control plane and of the chassis" if database == "southbound" else "of the control plane"
    return (
        f"{bundle.kind} {desired.namespace}/{bundle.name} has no {bundle.key}, which tls.{field} of OVNCluster {desired.name} names: the members of the "
        f"{database.title()} would {outcome}. {remedy}, with the CAs {authorities}. Nothing was changed."
    )


def _lost_authorities(lost: int, former: Bundle, bundle: Bundle, desired: DesiredCluster, database: Database) -> str:
    namespace = desired.namespace
    whom = "chassis for example" if database == "southbound" else "other members for example"
    return (
        f"The members of the {database.title()} let in {lost} CA{'s' if lost > 1 else ''} of {former.key} in {former.kind} {namespace}/{former.name}, which "
        f"{bundle.key} of {bundle.kind} {namespace}/{bundle.name} does not have. They would refuse everybody with a certificate of such a CA, {whom}. Add it "
        f"there until nobody has one, or let tls of OVNCluster {desired.name} name the bundle that has it. Nothing was changed."
    )
