# SPDX-License-Identifier: GPL-3.0-or-later
"""The CAs of whom the members of the Northbound let in, and the relays of the Southbound: a bundle without them would be noticed after a restart alone."""

from __future__ import annotations

import base64
import functools
import typing as t

from .._api.names import CLIENT_CA_KEY, MANAGER
from .._base.databases import DATABASES, Database
from .._base.errors import Refused
from .._base.tls_options import certificates_of
from .._kubernetes.client import Cluster
from .._kubernetes.secret_files import read_config_map, read_secret
from .._manifests.ca_bundle import Bundle, bundle_in_use, declared_bundle, pod_of
from .desired import DesiredCluster
from .observed_state import ObservedCluster

# The data of a Secret or ConfigMap in base64, None if it is not there or may not be read
_Reader = t.Callable[[str, str], t.Optional[t.Mapping[str, str]]]


def _authorities(data: t.Mapping[str, str], key: str) -> set[str]:
    """Return the certificates of a bundle; none if it is not readable, which is for others to find."""
    try:
        return certificates_of(base64.b64decode(data.get(key) or "").decode())
    except ValueError:
        return set()


def refuse_bundles_without_authorities(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
) -> None:
    """Raise `Refused` if members or relays would find no CAs in the file that they are to use, or refuse somebody whom they let in now.

    A Secret or ConfigMap that is not there yet, or may not be read, is no reason: pods wait for it. CAs that leave a file which stays in use are its owner's
    business.
    """
    if not desired.spec.tls.enabled:
        return

    @functools.cache
    def read(kind: str, name: str) -> t.Mapping[str, str] | None:
        return (read_secret if kind == "Secret" else read_config_map)(cluster, name, desired.namespace)[0]

    for database in DATABASES:
        bundle, field = declared_bundle(desired.spec, database)
        there = observed.known_stateful_set(database)
        former = bundle_in_use(pod_of(there)) if there else None
        if not field and former in (None, bundle):
            continue
        # In check mode the role ovn_pki has only predicted what it writes.
        if check_mode and bundle[::2] == ("Secret", CLIENT_CA_KEY) and _is_of_ovn_pki(cluster, bundle, desired):
            continue
        _compare(read, desired, database, bundle, field, former)


def _is_of_ovn_pki(cluster: Cluster, bundle: Bundle, desired: DesiredCluster) -> bool:
    """Return whether the role ovn_pki makes this Secret, as far as can be known: it labels its own."""
    try:
        found = cluster.get("v1", "Secret", bundle.name, desired.namespace)
    except Refused:
        return True
    return found is None or (found["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER


def _compare(
    read: _Reader, desired: DesiredCluster, database: Database, bundle: Bundle, field: str, former: Bundle | None
) -> None:
    data = read(bundle.kind, bundle.name)
    if data is None:
        return
    if field and not data.get(bundle.key):
        raise Refused(_missing_key(bundle, field, desired, database))
    if former is None or former == bundle:
        return
    lost = _authorities(read(former.kind, former.name) or {}, former.key) - _authorities(data, bundle.key)
    if lost:
        raise Refused(_lost_authorities(len(lost), former, bundle, desired, database))


_WHO: dict[Database, str] = {
    "northbound": "members of the Northbound",
    "southbound": "relays of the Southbound",
}


def _missing_key(bundle: Bundle, field: str, desired: DesiredCluster, database: Database) -> str:
    outcome, remedy = (
        (
            f"the {_WHO[database]} would let in nobody",
            "Run the role ovn_pki first (c5c3.ovn.central does), or let the owner of the Secret write it",
        )
        if bundle.kind == "Secret"
        else (
            f"the pods of the {database.title()} would not start",
            "Correct the key, or let the owner of the ConfigMap write it",
        )
    )
    authorities = "of the control plane and of the chassis" if database == "southbound" else "of the control plane"
    return (
        f"{bundle.kind} {desired.namespace}/{bundle.name} has no {bundle.key}, which tls.{field} of OVNCluster {desired.name} names: {outcome}. "
        f"{remedy}, with the CAs {authorities}. Nothing was changed."
    )


def _lost_authorities(lost: int, former: Bundle, bundle: Bundle, desired: DesiredCluster, database: Database) -> str:
    namespace = desired.namespace
    whom = "chassis for example" if database == "southbound" else "other members for example"
    return (
        f"The {_WHO[database]} let in {lost} CA{'s' if lost > 1 else ''} of {former.key} in {former.kind} {namespace}/{former.name}, which "
        f"{bundle.key} of {bundle.kind} {namespace}/{bundle.name} does not have. They would refuse everybody with a certificate of such a CA, {whom}. Add it "
        f"there until nobody has one, or let tls of OVNCluster {desired.name} name the bundle that has it. Nothing was changed."
    )
