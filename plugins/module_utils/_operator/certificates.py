# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificates of an OVNCluster: issued from CAs in Secrets, or looked at if somebody else issues them."""

from __future__ import annotations

import base64
import datetime
import typing as t

from .._api.hypervisor_clusters import HypervisorCluster
from .._api.names import CLIENT_CA_KEY, MANAGER, POD_SECURITY, Object, service_names
from .._api.status import rolled_out
from .._base.errors import Refused
from .._control_plane.tls_secret import TlsSecret, compare_secret, desired_texts, ensure_namespace, secret_manifest
from .._kubernetes.apply import ObjectChange
from .._kubernetes.client import Cluster
from .._pki.certificates import load_bundle, to_pem
from .._pki.decision import BOTH_USAGES, RENEW_BEFORE_DAYS
from .._pki.installed import Declared
from .._pki.issuing import AuthorityName, issue
from .._pki.names import subject_alt_names
from .._pki.secret import secret_state
from .._pki.signing import SigningAuthority
from .._roles.authority import given_secret_problem
from .authorities import VALIDITY_DAYS, Context, authorities_of, lost_message, pair_of

_MANAGED_BY = "app.kubernetes.io/managed-by"
_NAMESPACE_LABELS = {POD_SECURITY: "privileged"}  # the daemons use network and folders of their node


class _DesiredSecret(t.NamedTuple):
    """A Secret as it should be: the cluster and place, the CA that signs, and what the certificate is for."""

    cluster: Cluster
    namespace: str
    place: str
    signs: AuthorityName
    common_name: str
    names: t.Sequence[str]
    usages: frozenset[str]
    has_client_bundle: bool


def ensure_central(cluster: Cluster, context: Context, now: datetime.datetime) -> None:
    """Have the Secret of the control plane there. `Refused` if it is another owner's, or that of a CA that is not here."""
    spec = context.spec
    if not spec.tls.enabled:
        return
    place = f"Secret {context.namespace}/{spec.tls_secret}"
    found = cluster.get("v1", "Secret", spec.tls_secret, context.namespace)
    if spec.tls.certificates == "given":
        _check_given(found, place, context, now)
        return
    _check_owner(found, place)
    names = service_names(context.resource.get("spec") or {}, context.name, context.namespace, context.cluster_domain)
    desired = _DesiredSecret(
        cluster,
        context.namespace,
        place,
        "central",
        context.name,
        [context.name, *names],
        BOTH_USAGES,
        has_client_bundle=True,
    )
    authorities = authorities_of(
        cluster, context, now, may_make=found is None and not rolled_out(context.resource.get("status") or {})
    )
    _ensure(desired, context, authorities, found, now)


def ensure_hypervisors(
    central: Cluster, remote: Cluster, context: Context, place: HypervisorCluster, now: datetime.datetime
) -> None:
    """Have the Secret of a hypervisor cluster there, in a namespace that is made if it is missing."""
    spec = context.spec
    namespace = place.namespace or context.namespace
    if not spec.tls.enabled:
        ensure_namespace(remote, namespace, _NAMESPACE_LABELS, context.on_change)
        return
    label = f"Secret {namespace}/{spec.tls_secret} of {place.name}"
    found = remote.get("v1", "Secret", spec.tls_secret, namespace)
    if spec.tls.certificates == "given":
        _check_given(found, label, context, now)
        return
    _check_owner(found, label)
    if found is None:
        ensure_namespace(remote, namespace, _NAMESPACE_LABELS, context.on_change)
    desired = _DesiredSecret(
        remote,
        namespace,
        label,
        "chassis",
        place.name,
        [place.name],
        frozenset({"clientAuth"}),
        has_client_bundle=False,
    )
    _ensure(desired, context, authorities_of(central, context, now, may_make=False), found, now)


def node_signer(central: Cluster, context: Context) -> dict[str, t.Any] | None:
    """Return the option `signer` of ovn_hypervisors; None if nodes have no certificates of their own, or if another program signs."""
    spec = context.spec
    if not spec.has_node_certificates or spec.tls.certificates == "given":
        return None
    secret = central.get("v1", "Secret", context.authority_name("chassis"), context.namespace)
    if secret is None:
        raise Refused(lost_message(context, "chassis"))
    certificate, key = pair_of(secret)
    return {
        "certificate": certificate,
        "private_key": key,
        "passphrase": None,
        "validity_days": VALIDITY_DAYS,
        "other_chassis": [],
    }


def _check_given(found: Object | None, place: str, context: Context, now: datetime.datetime) -> None:
    data = (found or {}).get("data") or {}
    state = secret_state(data, place, "", now, declared=None, client_ca_key=CLIENT_CA_KEY)
    bundle = context.spec.tls.ca_config_map_ref
    problem = given_secret_problem(place, found is not None, state, ca_config_map=bundle.name if bundle else "")
    if problem:
        raise Refused(f"{problem} To have the operator issue it, set spec.tls.certificates to operator.")


def _ensure(
    desired: _DesiredSecret,
    context: Context,
    authorities: t.Mapping[AuthorityName, SigningAuthority],
    found: Object | None,
    now: datetime.datetime,
) -> None:
    authority, name = authorities[desired.signs], context.spec.tls_secret
    declared = _declared(desired, authorities, (found or {}).get("data") or {}, now)
    secret = TlsSecret(name, desired.namespace, context.name, desired.place, authority.pem, declared)
    state = compare_secret(found, secret, now)
    if state["in_service"] and not state["signed_by_issuer"]:
        raise Refused(
            f"The certificate in {desired.place} is of another CA ({state['issuer_name']}) than the one in Secret "
            f"{context.namespace}/{context.authority_name(desired.signs)}: to replace it would cut connections. Set spec.tls.certificates to given, or "
            "restore the Secret with its CA. Nothing was changed."
        )
    if not state["reasons"]:
        return
    pair = None
    if state["needed"]:
        pair = issue(
            authority,
            desired.common_name,
            now,
            subject_alt_names=declared.subject_alt_names,
            extended_key_usage=desired.usages,
        )
    # One object, so that pods see key and certificate change together; the daemons load them without a restart.
    texts = desired_texts(found, secret, state, pair)
    desired.cluster.apply(secret_manifest(name, desired.namespace, context.name, texts))
    context.on_change(ObjectChange("Secret", name, desired.namespace, "changed" if found else "created", None, None))


def _declared(
    desired: _DesiredSecret,
    authorities: t.Mapping[AuthorityName, SigningAuthority],
    data: t.Mapping[str, str],
    now: datetime.datetime,
) -> Declared:
    """Return what the Secret should have; `data` is what it has."""
    authority, own = authorities[desired.signs], authorities["central"].pem
    return Declared(
        desired.common_name,
        subject_alt_names(desired.names),
        authority.pem,
        _with_installed(data.get("ca.crt"), own),
        # Near the end of the CA a new certificate would end with it, as the one that is there does.
        max(0, min(RENEW_BEFORE_DAYS, (authority.end - now).days - 1)),
        renew_on_issuer_change=False,
        remove_authorities=False,
        extended_key_usage=desired.usages,
        client_ca_bundle=_with_installed(data.get(CLIENT_CA_KEY), own + authorities["chassis"].pem)
        if desired.has_client_bundle
        else "",
    )


def _check_owner(found: Object | None, place: str) -> None:
    if found is None:
        return
    owner = (found["metadata"].get("labels") or {}).get(_MANAGED_BY)
    if owner != MANAGER:
        raise Refused(
            f"{place} belongs to somebody else ({_MANAGED_BY}: {owner or 'not set'}), and spec.tls.certificates is operator. Set it to given, or "
            "name another Secret in spec.tls.certSecretRef. Nothing was changed."
        )


def _with_installed(data: str | None, own: str) -> str:
    """Return the bundle with everything that is trusted already: nobody declares the removal of a CA here."""
    text = base64.b64decode(data or "").decode(errors="replace")
    return to_pem(load_bundle(f"{own}\n{text}".encode(), "ca.crt")).decode()
