# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes CAs and issues certificates in this process, in the form that the role ovn_pki gives them."""

from __future__ import annotations

import datetime
import typing as t

from .._base.errors import InvalidInput
from .certificates import CRYPTOGRAPHY_PROBLEM, new_private_key, new_request, to_pem
from .signing import SigningAuthority

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
except ImportError:  # told by `require_cryptography`
    pass

_CLOCKS = datetime.timedelta(hours=1)  # those of machines differ a little


def require_cryptography() -> None:
    """Raise `InvalidInput` if the library is missing."""
    if CRYPTOGRAPHY_PROBLEM is not None:
        raise InvalidInput("Certificates cannot be issued: the Python library cryptography is missing. Install it.")


def new_authority(name: str, now: datetime.datetime, days: int) -> tuple[str, str]:
    """Return certificate and private key (PEM) of a new CA that signs no other CAs."""
    key = ec.generate_private_key(ec.SECP384R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    public = key.public_key()
    usage = dict.fromkeys(
        ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False, **usage),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return to_pem([certificate]).decode(), pem.decode()


def issue(
    authority: SigningAuthority,
    name: str,
    now: datetime.datetime,
    *,
    subject_alt_names: t.Sequence[str],
    extended_key_usage: t.Collection[str],
) -> tuple[str, str]:
    """Return certificate and private key (PEM) for a new key. `subject_alt_names` as `DNS:…` or `IP:…`; `extended_key_usage` of serverAuth and clientAuth."""
    key, pem = new_private_key()
    request = new_request(key, name, subject_alt_names, extended_key_usage)
    signed = authority.sign(
        request.decode(), name, now, subject_alt_names=subject_alt_names, extended_key_usage=extended_key_usage
    )
    return signed, pem.decode()
