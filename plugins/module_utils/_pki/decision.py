# SPDX-License-Identifier: GPL-3.0-or-later
"""Does an installed pair still match the desired one? Pure: facts and a clock reading in, reasons out."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .._base.errors import InvalidInput, Refused

RENEW_BEFORE_DAYS = 30  # before its end; reports and conditions warn from then on

FileState = t.Literal["missing", "unreadable", "usable"]

# Each Raft member dials the others and is dialed, and every client shows its certificate. Nobody believes a server whose certificate is only for clients.
BOTH_USAGES = frozenset({"serverAuth", "clientAuth"})


@dataclasses.dataclass(frozen=True)
class Leaf:
    """The fields of an installed certificate that are compared; times are in UTC."""

    common_name: str
    subject_alt_names: frozenset[str]
    extended_key_usage: frozenset[str]
    not_before: datetime.datetime
    not_after: datetime.datetime
    signed_by_issuer: bool
    is_ca: bool = False


@dataclasses.dataclass(frozen=True)
class Pair:
    """Private key and certificate as they are on the host."""

    private_key: FileState
    certificate: FileState
    matches: bool = False
    leaf: Leaf | None = None


@dataclasses.dataclass(frozen=True)
class DesiredCertificate:
    """The certificate that the task declares."""

    common_name: str
    subject_alt_names: frozenset[str]
    renew_before_days: int
    renew_on_issuer_change: bool
    extended_key_usage: frozenset[str] = BOTH_USAGES
    renew: bool = False  # whatever is installed


@dataclasses.dataclass(frozen=True)
class RenewalReason:
    """Why something must be renewed or written; `code` is stable, `message` is for people."""

    code: str
    message: str


def reasons_for_new_pair(pair: Pair, desired: DesiredCertificate, now: datetime.datetime) -> list[RenewalReason]:
    """Return why the pair must be renewed; empty if the installed pair can stay."""
    if pair.private_key == "missing" and pair.certificate == "missing":
        return [RenewalReason("missing", "no private key and no certificate are installed")]
    reasons = []
    if pair.private_key != "usable":
        reasons.append(RenewalReason(f"private_key_{pair.private_key}", f"the private key is {pair.private_key}"))
    if pair.certificate != "usable" or pair.leaf is None:
        reasons.append(RenewalReason(f"certificate_{pair.certificate}", f"the certificate is {pair.certificate}"))
        return reasons
    if pair.private_key == "usable" and not pair.matches:
        reasons.append(RenewalReason("key_mismatch", "the private key does not belong to the certificate"))
    reasons += _differences(pair.leaf, desired)
    if desired.renew:
        reasons.append(RenewalReason("renewal_declared", "the renewal is declared (ovn_pki_rotate=certificates)"))
    return [*reasons, *_validity_reasons(pair.leaf, desired.renew_before_days, now)]


def _differences(leaf: Leaf, desired: DesiredCertificate) -> list[RenewalReason]:
    """Return in what the certificate is another one than the desired one, at any time."""
    reasons = []
    if leaf.common_name != desired.common_name:
        reasons.append(
            RenewalReason("common_name", f"the common name is {leaf.common_name!r}, desired is {desired.common_name!r}")
        )
    if leaf.subject_alt_names != desired.subject_alt_names:
        reasons.append(
            RenewalReason(
                "subject_alt_names",
                f"the subject alternative names are {_listed(leaf.subject_alt_names)}, "
                f"desired are {_listed(desired.subject_alt_names)}",
            )
        )
    if leaf.extended_key_usage != desired.extended_key_usage:
        reasons.append(
            RenewalReason(
                "extended_key_usage",
                f"the extended key usage is {_listed(leaf.extended_key_usage)}, desired is {_listed(desired.extended_key_usage)}",
            )
        )
    if leaf.is_ca:
        reasons.append(RenewalReason("is_ca", "the certificate is one of a certificate authority"))
    if not leaf.signed_by_issuer and desired.renew_on_issuer_change:
        reasons.append(RenewalReason("issuer", "the certificate was not signed by the active CA"))
    return reasons


def _validity_reasons(leaf: Leaf, renew_before_days: int, now: datetime.datetime) -> list[RenewalReason]:
    """Return why the certificate cannot be used at `now`, or not for much longer."""
    reasons = []
    left = days_left(leaf.not_after, now)
    if leaf.not_after <= now:
        reasons.append(RenewalReason("expired", f"the certificate expired on {leaf.not_after:%Y-%m-%d}"))
    elif leaf.not_after - now < datetime.timedelta(days=renew_before_days):
        reasons.append(
            RenewalReason(
                "renewal", f"the certificate ends in {left} days, it is renewed {renew_before_days} days before"
            )
        )
    if leaf.not_before > now:
        reasons.append(
            RenewalReason(
                "not_yet_valid", f"the certificate begins on {leaf.not_before:%Y-%m-%dT%H:%M:%SZ}; check the clock"
            )
        )
    return reasons


def is_in_service(pair: Pair, now: datetime.datetime) -> bool:
    """Return whether daemons can use the pair at `now`, no matter which CA signed it."""
    return pair.matches and pair.leaf is not None and pair.leaf.not_before <= now < pair.leaf.not_after


def days_left(not_after: datetime.datetime, now: datetime.datetime) -> int:
    """Return the whole days until `not_after`, negative after it."""
    return (not_after - now) // datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class Authority:
    """One CA certificate of a bundle; `signed_installed`: it signed the installed certificate."""

    fingerprint: str
    name: str
    signed_installed: bool = False


def bundle_change(
    installed: t.Sequence[Authority], desired: t.Sequence[Authority], removal_declared: bool, path: str
) -> tuple[list[Authority], list[Authority]]:
    """Return the CAs to add and to remove; `Refused` if that would cut connections: the removal is not declared, or the CA is in use."""
    new = {authority.fingerprint for authority in desired}
    old = {authority.fingerprint for authority in installed}
    added = [authority for authority in desired if authority.fingerprint not in old]
    dropped = [authority for authority in installed if authority.fingerprint not in new]
    if dropped and not removal_declared:
        raise Refused(
            f"{path} trusts {_named(dropped)}, the bundle of this run does not. Either this is the CA of another "
            "installation (check ovn_pki_ca_directory or ovn_pki_ca.certificate), or it is a new CA without an overlap, "
            "which would cut the connections between the hosts. Add the old CA to ovn_pki_ca.bundle_extra, or, when no "
            "certificate of it is in use any more, declare its removal with ovn_pki_ca_rotation: finish.",
            dropped=[authority.name for authority in dropped],
        )
    in_use = [authority for authority in dropped if authority.signed_installed]
    if in_use:
        raise Refused(
            f"The certificate in use on this host was signed by {_named(in_use)}, which would leave {path}. "
            "Run with ovn_pki_ca_rotation: switch first, so that the certificate comes from the new CA.",
            dropped=[authority.name for authority in in_use],
        )
    return added, dropped


def require_issuer_in_bundle(issuer: Authority, desired: t.Sequence[Authority]) -> None:
    if issuer.fingerprint not in {authority.fingerprint for authority in desired}:
        raise InvalidInput(
            f"The bundle (ca_bundle) does not contain the CA that signs (issuer, {issuer.name}). Add it."
        )


def _listed(values: t.Iterable[str]) -> str:
    return ", ".join(sorted(values)) or "none"


def _named(authorities: t.Iterable[Authority]) -> str:
    return ", ".join(f"{authority.name!r} ({authority.fingerprint[:16]})" for authority in authorities)
