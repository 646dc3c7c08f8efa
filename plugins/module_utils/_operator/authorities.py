# SPDX-License-Identifier: GPL-3.0-or-later
"""The CAs of the operator, in Secrets beside the OVNCluster."""

from __future__ import annotations

import base64
import datetime
import typing as t

from .._api.names import Object, record_name
from .._api.spec import ClusterSpec
from .._base.databases import DATABASES
from .._base.errors import Conflict, InvalidInput, Refused
from .._control_plane.tls_secret import secret_manifest
from .._kubernetes.apply import ObjectChange, OnChange
from .._kubernetes.client import Cluster
from .._pki.issuing import AuthorityName, authority_title, new_authority, require_cryptography
from .._pki.signing import SigningAuthority
from .._roles.authorities import AUTHORITIES

AUTHORITY_DAYS = 3650
VALIDITY_DAYS = 365
_WARN_BEFORE = datetime.timedelta(days=180)

Warn = t.Callable[[str], None]


def authority_name(cluster: str, which: AuthorityName) -> str:
    """Return the name of the Secret with a CA of the OVNCluster `cluster`."""
    return f"{cluster}-ca" if which == "central" else f"{cluster}-chassis-ca"


class Context(t.NamedTuple):
    """One OVNCluster, its specification with all defaults, the domain of its Kubernetes cluster, and who wants to know what."""

    resource: Object
    spec: ClusterSpec
    cluster_domain: str
    on_change: OnChange
    warn: Warn

    @property
    def name(self) -> str:
        return str(self.resource["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.resource["metadata"]["namespace"])

    def authority_name(self, which: AuthorityName) -> str:
        """Return the name of the Secret with the CA."""
        return authority_name(self.name, which)


def authorities_of(
    cluster: Cluster, context: Context, now: datetime.datetime, *, may_make: bool
) -> dict[AuthorityName, SigningAuthority]:
    """Return both CAs. They are made once, the Secret first that others are issued from, and never replaced; `Refused` if one is lost."""
    require_cryptography()
    found: dict[AuthorityName, SigningAuthority] = {}
    for which in AUTHORITIES:
        name = context.authority_name(which)
        secret = cluster.get("v1", "Secret", name, context.namespace)
        if secret is None and (not may_make or _has_data(cluster, context)):
            raise Refused(lost_message(context, which))
        if secret is None:
            secret = _create_authority(cluster, context, which, now)
        authority = SigningAuthority(*pair_of(secret), "", VALIDITY_DAYS)
        _check_end(authority, f"Secret {context.namespace}/{name}", context.warn, now)
        found[which] = authority
    return found


def _has_data(cluster: Cluster, context: Context) -> bool:
    """Return whether there are databases of an earlier installation: hypervisors trust its CAs."""
    return any(cluster.get("v1", "ConfigMap", record_name(context.name, d), context.namespace) for d in DATABASES)


def _create_authority(cluster: Cluster, context: Context, which: AuthorityName, now: datetime.datetime) -> Object:
    certificate, key = new_authority(authority_title(which, now), now, AUTHORITY_DAYS)
    name = context.authority_name(which)
    manifest = secret_manifest(name, context.namespace, context.name, {"tls.crt": certificate, "tls.key": key})
    try:
        cluster.create(manifest)
    except Conflict:  # somebody was first: theirs counts
        return t.cast("Object", cluster.get("v1", "Secret", name, context.namespace))
    context.on_change(ObjectChange("Secret", name, context.namespace, "created", None, None))
    return manifest


def _check_end(authority: SigningAuthority, place: str, warn: Warn, now: datetime.datetime) -> None:
    end = authority.end
    if now >= end:
        raise Refused(
            f"The CA in {place} has ended on {end:%Y-%m-%d}: nobody accepts what it signs. Have somebody else issue the certificates (cert-manager, ovn_pki) "
            "and set spec.tls.certificates to given. Nothing was changed."
        )
    if end - now < _WARN_BEFORE:
        warn(
            f"The CA in {place} ends on {end:%Y-%m-%d}, and the operator replaces none. Have somebody else issue the certificates before (docs/operator.md)."
        )


def lost_message(context: Context, which: AuthorityName) -> str:
    """Return that the CA is lost, and what to do."""
    return (
        f"Secret {context.namespace}/{context.authority_name(which)} with the CA of the operator does not exist, and there are certificates that it may "
        f"have issued (Secret {context.spec.tls_secret}), or databases whose clients trust it: a new CA would cut their connections. Restore it from a "
        "backup; or, if somebody else issues the certificates, set spec.tls.certificates to given. Nothing was changed."
    )


def pair_of(secret: Object) -> tuple[str, str]:
    """Return certificate and private key of a CA (PEM); `Refused` if they are not there, are no CA, or do not belong together."""
    require_cryptography()
    data = secret.get("data") or {}
    try:
        certificate, key = (base64.b64decode(data[name]).decode() for name in ("tls.crt", "tls.key"))
        SigningAuthority(certificate, key, "", VALIDITY_DAYS)
    except (KeyError, ValueError, InvalidInput) as e:
        place = f"Secret {secret['metadata']['namespace']}/{secret['metadata']['name']}"
        cause = f"it lacks {e.args[0]}" if isinstance(e, KeyError) else "they are no certificate of a CA with its key"
        raise Refused(
            f"{place} has no usable tls.crt and tls.key of a CA: {cause}. Restore it from a backup. Nothing was changed."
        ) from e
    return certificate, key
