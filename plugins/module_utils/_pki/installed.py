# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed and what it lacks, from the contents alone: files of a host and keys of a Secret are checked alike."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .._base.errors import InvalidInput
from . import certificates, decision, names

if t.TYPE_CHECKING:
    from cryptography import x509


@dataclasses.dataclass(frozen=True)
class InstalledFiles:
    """PEM texts; None where there is nothing. The places name the file or key in messages."""

    private_key: bytes | None
    certificate: bytes | None
    ca_bundle: bytes | None
    certificate_place: str
    ca_bundle_place: str
    client_ca_bundle: bytes | None = None
    client_ca_bundle_place: str = ""


@dataclasses.dataclass(frozen=True)
class Declared:
    """What the certificate and the bundle should be."""

    common_name: str
    subject_alt_names: tuple[str, ...]
    issuer: str
    ca_bundle: str
    renew_before_days: int
    renew_on_issuer_change: bool
    remove_authorities: bool
    extended_key_usage: frozenset[str] = decision.BOTH_USAGES
    renew: bool = False
    client_ca_bundle: str = ""  # empty: the host has no such bundle


class Installed:
    """The contents, parsed: `pair` and `certificate`."""

    def __init__(self, contents: InstalledFiles, issuer: x509.Certificate | None) -> None:
        self.contents = contents
        self.certificate: x509.Certificate | None = None
        certificate_state: decision.FileState = "missing" if contents.certificate is None else "unreadable"
        if contents.certificate is not None:
            try:
                self.certificate = certificates.load_certificate(contents.certificate, contents.certificate_place)
                certificate_state = "usable"
            except InvalidInput:
                self.certificate = None
        key_state: decision.FileState = "missing" if contents.private_key is None else "unreadable"
        matches = False
        if contents.private_key is not None:
            try:
                key = certificates.load_private_key(contents.private_key)
                key_state = "usable"
                matches = self.certificate is not None and certificates.belongs_together(key, self.certificate)
            except ValueError:
                key_state = "unreadable"
        leaf = None if self.certificate is None else certificates.describe(self.certificate, issuer)
        self.pair = decision.Pair(key_state, certificate_state, matches, leaf)

    def authorities(self) -> list[x509.Certificate]:
        """Return the installed bundle."""
        return _readable(self.contents.ca_bundle, self.contents.ca_bundle_place)

    def is_signed_by(self, authority: x509.Certificate) -> bool:
        """Return whether the authority signed the pair in use. With the pair out of service nothing is lost by dropping its CA."""
        return (
            self.certificate is not None and self.pair.matches and certificates.signed_by(self.certificate, authority)
        )


def _readable(pem: bytes | None, place: str) -> list[x509.Certificate]:
    """Return the certificates of an installed bundle; a broken one counts as empty, it has to be replaced anyway."""
    try:
        return certificates.load_bundle(pem or b"", place)
    except InvalidInput:
        return []


def load_issuer(pem: str) -> x509.Certificate | None:
    """Return the CA certificate; None if `pem` is empty because there is no CA yet."""
    return certificates.load_authority(pem, "issuer") if pem.strip() else None


def facts(contents: InstalledFiles, issuer_pem: str, now: datetime.datetime) -> dict[str, t.Any]:
    """Return what is installed, with the keys of ovn_certificate's result, for reports and for checks over many hosts. Days may be None."""
    issuer = load_issuer(issuer_pem)
    installed = Installed(contents, issuer)
    trusted = installed.authorities()
    accepted = _readable(contents.client_ca_bundle, contents.client_ca_bundle_place)
    leaf = installed.pair.leaf
    return {
        "in_service": decision.is_in_service(installed.pair, now),
        "ca_installed": contents.ca_bundle is not None,
        "ca_bundle": certificates.to_pem(trusted).decode(),
        "client_ca_bundle": certificates.to_pem(accepted).decode(),
        "issuer_trusted": issuer is not None and issuer in trusted,
        "issuer_accepted": issuer is not None and issuer in accepted,
        "signed_by_issuer": leaf is not None and leaf.signed_by_issuer,
        "signed_by_trusted": any(map(installed.is_signed_by, trusted)),
        "installed_common_name": "" if leaf is None else leaf.common_name,
        "issuer_name": "" if installed.certificate is None else certificates.common_name(installed.certificate.issuer),
        "serial_number": "" if installed.certificate is None else f"{installed.certificate.serial_number:x}",
        "not_after": "" if leaf is None else f"{leaf.not_after:%Y-%m-%dT%H:%M:%SZ}",
        "days_left": None if leaf is None else decision.days_left(leaf.not_after, now),
        "ca_days_left": None if issuer is None else decision.days_left(certificates.not_after(issuer), now),
    }


def compare(
    contents: InstalledFiles, declared: Declared, now: datetime.datetime
) -> tuple[list[decision.RenewalReason], bytes | None, list[decision.RenewalReason]]:
    """Return why a new pair is needed, the new bundle (None: it stays) and why; `Refused` if the step would cut connections."""
    issuer = load_issuer(declared.issuer)
    desired = decision.DesiredCertificate(
        common_name=names.checked_common_name(declared.common_name),
        subject_alt_names=frozenset(declared.subject_alt_names),
        renew_before_days=declared.renew_before_days,
        renew_on_issuer_change=declared.renew_on_issuer_change,
        extended_key_usage=declared.extended_key_usage,
        renew=declared.renew,
    )
    installed = Installed(contents, issuer)
    new_pair = decision.reasons_for_new_pair(installed.pair, desired, now)
    if issuer is None:
        # The very first CA does not exist yet (check mode): its bundle would be new, too.
        return (
            new_pair,
            None,
            []
            if contents.ca_bundle is not None
            else [decision.RenewalReason("ca_bundle", "no CA certificate is installed")],
        )
    # A server shows its certificate to hosts with the same bundle. That of a client is verified by servers, which have another one.
    if "serverAuth" in declared.extended_key_usage:
        decision.require_issuer_in_bundle(
            _authority(installed, issuer),
            [_authority(installed, one) for one in certificates.load_bundle(declared.ca_bundle.encode(), "ca_bundle")],
        )
    change = BundleChange(contents.ca_bundle, contents.ca_bundle_place, declared.ca_bundle, "ca_bundle")
    return new_pair, *_bundle(installed, change, declared.remove_authorities)


def compare_client_bundle(
    contents: InstalledFiles, declared: Declared
) -> tuple[bytes | None, list[decision.RenewalReason]]:
    """Return the new bundle of those whom a server lets in (None: it stays) and why; `Refused` as `compare`."""
    if not declared.client_ca_bundle.strip():
        return None, []
    change = BundleChange(
        contents.client_ca_bundle, contents.client_ca_bundle_place, declared.client_ca_bundle, "client_ca_bundle"
    )
    return _bundle(Installed(contents, None), change, declared.remove_authorities)


@dataclasses.dataclass(frozen=True)
class BundleChange:
    """One bundle: what is installed, where, what is desired, and the option that says so."""

    installed: bytes | None
    place: str
    desired: str
    option: str


def _authority(installed: Installed, certificate: x509.Certificate) -> decision.Authority:
    return decision.Authority(
        certificates.fingerprint(certificate),
        certificates.display_name(certificate),
        installed.is_signed_by(certificate),
    )


def _bundle(
    installed: Installed, change: BundleChange, removal_declared: bool
) -> tuple[bytes | None, list[decision.RenewalReason]]:
    desired = certificates.load_bundle(change.desired.encode(), change.option)
    added, dropped = decision.bundle_change(
        [_authority(installed, certificate) for certificate in _readable(change.installed, change.place)],
        [_authority(installed, certificate) for certificate in desired],
        removal_declared,
        change.place,
    )
    reasons = [
        decision.RenewalReason("ca_added", f"{one.name!r} ({one.fingerprint[:16]}) becomes trusted in {change.place}")
        for one in added
    ]
    reasons += [
        decision.RenewalReason(
            "ca_removed", f"{one.name!r} ({one.fingerprint[:16]}) is trusted no longer in {change.place}"
        )
        for one in dropped
    ]
    return (certificates.to_pem(desired) if reasons else None), reasons
