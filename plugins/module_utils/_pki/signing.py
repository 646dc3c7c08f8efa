# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs requests of chassis with the key of their CA, on the control node, in the form that the role ovn_pki gives its certificates."""

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
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ed448, ed25519
    from cryptography.x509.oid import NameOID
except ImportError:  # SigningAuthority says so
    pass

if t.TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_CLOCKS = datetime.timedelta(hours=1)  # those of machines differ a little


class SigningAuthority:
    """The CA that signs for chassis. `days` is how long its certificates are valid; none outlives the CA."""

    def __init__(self, certificate: str, private_key: str, passphrase: str, days: int) -> None:
        if CRYPTOGRAPHY_PROBLEM is not None:
            raise InvalidInput(
                "The Python library cryptography is missing on the control node: install python3-cryptography or cryptography."
            )
        self.certificate = load_authority(certificate, "signer.certificate")
        self._key = _load_key(private_key, passphrase)
        self.days = days
        if not belongs_together(self._key, self.certificate):
            raise InvalidInput(
                "signer.private_key does not belong to signer.certificate. Give the key of the CA of the chassis."
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
    ) -> str:
        """Return the certificate (PEM) for the key of this request. Only the key is taken from it: names and usages are ours.

        `InvalidInput` if the CA has ended.
        """
        self.check(now)
        end = now + datetime.timedelta(days=days or self.days)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self.certificate.subject)
            .public_key(x509.load_pem_x509_csr(request.encode()).public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCKS)
            .not_valid_after(min(end, not_after(self.certificate)))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(digital_signature(), critical=True)
            .add_extension(extended_usage(extended_key_usage), critical=False)
            .add_extension(_authority_identifier(self.certificate), critical=False)
        )
        if subject_alt_names:
            builder = builder.add_extension(alternative_names(subject_alt_names), critical=False)
        plain = isinstance(self._key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey))
        algorithm = None if plain else hashes.SHA256()
        signed = builder.sign(t.cast("ec.EllipticCurvePrivateKey", self._key), algorithm)
        return to_pem([signed]).decode()


def check_end(end: datetime.datetime, now: datetime.datetime, days: int) -> str:
    """Return a warning if a CA that is valid until `end` signs for less than `days`; `InvalidInput` if it has ended."""
    if now >= end:
        raise InvalidInput(
            f"The CA of the chassis has ended on {end:%Y-%m-%d}: nobody accepts what it signs. Replace it: run c5c3.ovn.rotate with "
            "ovn_pki_rotate=chassis, or give another one in three runs (ovn_pki_chassis_ca_certificate, see the README of the role ovn_pki)."
        )
    if end - now >= datetime.timedelta(days=days):
        return ""
    return (
        f"The CA of the chassis ends on {end:%Y-%m-%d}, so the certificates of nodes end then, and not after {days} days. Replace it in "
        "time: run c5c3.ovn.rotate with ovn_pki_rotate=chassis, or give another one in three runs (ovn_pki_chassis_ca_certificate)."
    )


def _authority_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        found = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(t.cast("t.Any", authority.public_key()))
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found)


def _load_key(text: str, passphrase: str) -> PrivateKeyTypes:
    try:
        return serialization.load_pem_private_key(text.encode(), passphrase.encode() if passphrase else None)
    except (TypeError, ValueError) as e:
        raise InvalidInput(
            "signer.private_key cannot be read: it is no private key in PEM, or its passphrase is wrong or missing."
        ) from e
