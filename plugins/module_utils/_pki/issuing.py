# SPDX-License-Identifier: GPL-3.0-or-later
"""Creates CAs and issues certificates in this process: the one issuer for the role ovn_pki, the operator and nodes."""

from __future__ import annotations

import datetime
import sys
import typing as t

from .._base.errors import InvalidInput
from .certificates import CRYPTOGRAPHY_PROBLEM, new_private_key, new_request
from .signing import CLOCKS, SigningAuthority, sign_certificate

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
except ImportError:  # told by `require_cryptography`
    pass

if t.TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

AuthorityName = t.Literal["central", "chassis"]
_TITLES: t.Final[t.Mapping[AuthorityName, str]] = {"central": "OVN CA", "chassis": "OVN chassis CA"}


def authority_title(which: AuthorityName, now: datetime.datetime) -> str:
    """Return the common name of a new CA. Each one has its own: during a rotation logs and tools tell them apart by it."""
    return f"{_TITLES[which]} {now:%Y-%m-%d %H:%M:%S}"


def require_cryptography() -> None:
    """Raise `InvalidInput` if the library is missing."""
    if CRYPTOGRAPHY_PROBLEM is not None:
        raise InvalidInput(
            f"Certificates cannot be compared or issued: {sys.executable} lacks the Python library cryptography (3.3 or newer). Install it there."
        )


def new_authority(name: str, now: datetime.datetime, days: int) -> tuple[str, str]:
    """Return certificate and private key (PEM) of a new CA that signs no other CAs."""
    key, pem = new_authority_key()
    return authority_certificate(key, name, now, days), pem


def new_authority_key(passphrase: str = "") -> tuple[PrivateKeyTypes, str]:
    """Return a new key for a CA and its PEM text, which is encrypted if there is a passphrase."""
    key = ec.generate_private_key(ec.SECP384R1())
    encryption = (
        serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    return key, pem.decode()


def authority_certificate(key: PrivateKeyTypes, name: str, now: datetime.datetime, days: int) -> str:
    """Return the self-signed certificate (PEM) of a CA that signs no other CAs."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    public = t.cast("ec.EllipticCurvePublicKey", key.public_key())
    usage = dict.fromkeys(
        ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False, **usage),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    return sign_certificate(builder, key)


def issue(
    authority: SigningAuthority,
    name: str,
    now: datetime.datetime,
    *,
    subject_alt_names: t.Sequence[str],
    extended_key_usage: t.Collection[str],
    may_outlive: bool = False,
) -> tuple[str, str]:
    """Return certificate and private key (PEM) for a new key. `subject_alt_names` as `DNS:…` or `IP:…`; `extended_key_usage` of serverAuth and clientAuth."""
    key, pem = new_private_key()
    request = new_request(key, name, subject_alt_names, extended_key_usage)
    signed = authority.sign(
        request.decode(),
        name,
        now,
        subject_alt_names=subject_alt_names,
        extended_key_usage=extended_key_usage,
        may_outlive=may_outlive,
    )
    return signed, pem.decode()
