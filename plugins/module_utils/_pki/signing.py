# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs requests with the key of a CA: those of machines and clients for the role ovn_pki, those of nodes, and those of the operator."""

from __future__ import annotations

import datetime
import typing as t

from .._base.errors import InvalidInput
from .certificates import (
    CRYPTOGRAPHY_PROBLEM,
    alternative_names,
    belongs_together,
    digital_signature,
    display_name,
    extended_usage,
    load_authority,
    not_after,
    to_pem,
)

try:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ed448, ed25519
    from cryptography.x509.oid import NameOID
except ImportError:  # SigningAuthority says so
    pass

if t.TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

CLOCKS = datetime.timedelta(hours=1)  # those of machines differ a little


class AuthorityPlaces(t.NamedTuple):
    """What messages call the certificate and the key of a CA: options or files."""

    certificate: str = "signer.certificate"
    private_key: str = "signer.private_key"


_OPTIONS = AuthorityPlaces()


class SigningAuthority:
    """A CA that signs. `days` is how long its certificates are valid; none outlives the CA, unless its caller says so."""

    def __init__(
        self,
        certificate: str,
        private_key: str,
        passphrase: str,
        days: int,
        places: AuthorityPlaces = _OPTIONS,
    ) -> None:
        if CRYPTOGRAPHY_PROBLEM is not None:
            raise InvalidInput(
                "The Python library cryptography is missing on the control node: install python3-cryptography or cryptography."
            )
        self.certificate = load_authority(certificate, places.certificate)
        self._key = load_authority_key(private_key, passphrase, places.private_key)
        self.days = days
        if not belongs_together(self._key, self.certificate):
            raise InvalidInput(
                f"{places.private_key} does not belong to {places.certificate} ({self.name}). Give the key of this CA."
            )

    @property
    def name(self) -> str:
        return display_name(self.certificate)

    @property
    def pem(self) -> str:
        return to_pem([self.certificate]).decode()

    @property
    def end(self) -> datetime.datetime:
        """When it ends."""
        return not_after(self.certificate)

    def check(self, now: datetime.datetime) -> str:
        """Return a warning if certificates cannot be valid as long as declared; `InvalidInput` if the CA has ended, and none would be valid at all."""
        return check_end(not_after(self.certificate), now, self.days)

    def sign(
        self,
        request: str,
        name: str,
        now: datetime.datetime,
        *,
        days: int | None = None,
        subject_alt_names: t.Sequence[str] = (),
        extended_key_usage: t.Collection[str] = ("clientAuth",),
        may_outlive: bool = False,
    ) -> str:
        """Return the certificate (PEM) for the key of this request. Only the key is taken from it: names and usages are ours.

        `InvalidInput` if the CA has ended. With `may_outlive` its end does not count: each run would renew a certificate that ends with its CA, and a CA
        that has ended can only be replaced by runs that issue certificates.
        """
        end = now + datetime.timedelta(days=days or self.days)
        if not may_outlive:
            self.check(now)
            end = min(end, self.end)
        public_key = x509.load_pem_x509_csr(request.encode()).public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self.certificate.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCKS)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(digital_signature(), critical=True)
            .add_extension(extended_usage(extended_key_usage), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(_authority_identifier(self.certificate), critical=False)
        )
        if subject_alt_names:
            builder = builder.add_extension(alternative_names(subject_alt_names), critical=False)
        return sign_certificate(builder, self._key)


def check_end(end: datetime.datetime, now: datetime.datetime, days: int) -> str:
    """Return a warning if a CA that is valid until `end` signs for less than `days`; `InvalidInput` if it has ended."""
    if now >= end:
        raise InvalidInput(
            f"The CA of the chassis has ended on {end:%Y-%m-%d}: nobody accepts what it signs. Replace it: run c5c3.ovn.rotate with "
            "ovn_pki_rotate=chassis, or give another one in three runs (ovn_pki_chassis_ca.certificate, see the README of the role ovn_pki)."
        )
    if end - now >= datetime.timedelta(days=days):
        return ""
    return (
        f"The CA of the chassis ends on {end:%Y-%m-%d}, so the certificates of nodes end then, and not after {days} days. Replace it in "
        "time: run c5c3.ovn.rotate with ovn_pki_rotate=chassis, or give another one in three runs (ovn_pki_chassis_ca.certificate)."
    )


def _authority_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        found = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(t.cast("t.Any", authority.public_key()))
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found)


def sign_certificate(builder: x509.CertificateBuilder, key: PrivateKeyTypes) -> str:
    """Return the signed certificate (PEM), with the hash that suits the key."""
    plain = isinstance(key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey))
    signed = builder.sign(t.cast("ec.EllipticCurvePrivateKey", key), None if plain else hashes.SHA256())
    return to_pem([signed]).decode()


def load_authority_key(text: str, passphrase: str, place: str) -> PrivateKeyTypes:
    """Return the key of a CA; `InvalidInput` names its place. A passphrase for a key that has none is ignored, as a CA may have been made without one."""
    try:
        try:
            return serialization.load_pem_private_key(text.encode(), passphrase.encode() if passphrase else None)
        except TypeError:  # a passphrase that is not needed, or a missing one
            return serialization.load_pem_private_key(text.encode(), None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as e:
        raise InvalidInput(
            f"{place} cannot be read: it is no private key in PEM, or its passphrase is wrong or missing."
        ) from e
