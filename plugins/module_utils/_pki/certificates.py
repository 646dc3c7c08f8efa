# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates, keys and requests, by the library `cryptography`. Works from version 3.3 on; Debian 12 has 38."""

from __future__ import annotations

import datetime
import ipaddress
import traceback
import typing as t

from .._base.errors import InvalidInput
from .decision import Leaf

CRYPTOGRAPHY_PROBLEM: str | None = None
try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID
except ImportError:
    CRYPTOGRAPHY_PROBLEM = traceback.format_exc()

if t.TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

BEGIN = b"-----BEGIN CERTIFICATE-----"
END = b"-----END CERTIFICATE-----"


def load_bundle(pem: bytes, what: str) -> list[x509.Certificate]:
    """Return all certificates of a PEM text, each once, in order; `InvalidInput` names `what`. Text between them is allowed, as in openssl."""
    found: dict[bytes, x509.Certificate] = {}
    for number, part in enumerate(pem.split(BEGIN)[1:], start=1):
        body, end, _rest = part.partition(END)
        try:
            if not end:
                raise ValueError("the END line is missing")
            certificate = x509.load_pem_x509_certificate(BEGIN + body + END + b"\n")
        except ValueError as error:
            raise InvalidInput(
                f"Certificate {number} of {what} cannot be read: {error}. Give complete PEM text."
            ) from error
        found.setdefault(certificate.fingerprint(hashes.SHA256()), certificate)
    return list(found.values())


def load_authority(pem: str, what: str) -> x509.Certificate:
    """Return the first certificate of the PEM text; `InvalidInput` names `what` if that is no CA certificate."""
    certificates = load_bundle(pem.encode(), what)
    if not certificates:
        raise InvalidInput(f"{what} contains no certificate. Give the PEM text of a CA certificate.")
    if not is_ca(certificates[0]):
        raise InvalidInput(
            f"{what} ({display_name(certificates[0])}) is not the certificate of a CA: basicConstraints lacks CA:TRUE."
        )
    return certificates[0]


def load_certificate(pem: bytes, what: str) -> x509.Certificate:
    certificates = load_bundle(pem, what)
    if not certificates:
        raise InvalidInput(f"{what} contains no certificate. Give PEM text.")
    return certificates[0]


def load_private_key(pem: bytes) -> PrivateKeyTypes:
    """Return the private key; ValueError if the PEM text is none without a passphrase (daemons cannot type one)."""
    try:
        return serialization.load_pem_private_key(pem, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error


def new_private_key() -> tuple[PrivateKeyTypes, bytes]:
    """Return a new key and its PEM text. P-256: accepted by every OVS and generated in a millisecond, which counts for a thousand hosts."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key, pem


def public_bytes(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def belongs_together(key: PrivateKeyTypes, certificate: x509.Certificate) -> bool:
    return public_bytes(key.public_key()) == public_bytes(certificate.public_key())


def to_pem(certificates: t.Iterable[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates)


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 fingerprint, hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def display_name(certificate: x509.Certificate) -> str:
    return common_name(certificate.subject) or certificate.subject.rfc4514_string() or "a CA without a name"


def common_name(name: x509.Name) -> str:
    return ", ".join(str(attribute.value) for attribute in name.get_attributes_for_oid(NameOID.COMMON_NAME))


def not_before(certificate: x509.Certificate) -> datetime.datetime:
    # The properties with a time zone came in 42, and the older ones warn since then.
    if hasattr(certificate, "not_valid_before_utc"):
        return certificate.not_valid_before_utc
    naive: datetime.datetime = certificate.not_valid_before
    return naive.replace(tzinfo=datetime.timezone.utc)


def not_after(certificate: x509.Certificate) -> datetime.datetime:
    if hasattr(certificate, "not_valid_after_utc"):
        return certificate.not_valid_after_utc
    naive: datetime.datetime = certificate.not_valid_after
    return naive.replace(tzinfo=datetime.timezone.utc)


def is_ca(certificate: x509.Certificate) -> bool:
    try:
        return bool(certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
    except (x509.ExtensionNotFound, ValueError):
        return False


def signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether the authority signed the certificate; equal names prove nothing, two CAs may share one."""
    if certificate.issuer != authority.subject:
        return False
    key = authority.public_key()
    try:
        algorithm = certificate.signature_hash_algorithm
        if isinstance(key, rsa.RSAPublicKey) and algorithm is not None:
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, padding.PKCS1v15(), algorithm)
        elif isinstance(key, ec.EllipticCurvePublicKey) and algorithm is not None:
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(algorithm))
        elif isinstance(key, (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)):
            key.verify(certificate.signature, certificate.tbs_certificate_bytes)
        else:
            return False
    except (InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def describe(certificate: x509.Certificate, issuer: x509.Certificate | None) -> Leaf:
    return Leaf(
        common_name=common_name(certificate.subject),
        subject_alt_names=frozenset(alt_names(certificate.extensions)),
        extended_key_usage=frozenset(usages(certificate.extensions)),
        not_before=not_before(certificate),
        not_after=not_after(certificate),
        signed_by_issuer=issuer is not None and signed_by(certificate, issuer),
        is_ca=is_ca(certificate),
    )


def alt_names(extensions: x509.Extensions) -> list[str]:
    """Return the names in the form of `names.subject_alt_name`; other kinds (mail, URI) by their class, so that they count as a difference."""
    try:
        value = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    result = []
    for name in value:
        if isinstance(name, x509.DNSName):
            result.append(f"DNS:{name.value.lower()}")
        elif isinstance(name, x509.IPAddress):
            result.append(f"IP:{name.value}")
        else:
            result.append(f"{type(name).__name__}:{name.value}")
    return result


def _usage_names() -> dict[x509.ObjectIdentifier, str]:
    # A function, because the module is imported without the library, too.
    return {ExtendedKeyUsageOID.SERVER_AUTH: "serverAuth", ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth"}


def usages(extensions: x509.Extensions) -> list[str]:
    names = _usage_names()
    try:
        value = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return []
    return [names.get(oid, oid.dotted_string) for oid in value]


def digital_signature() -> x509.KeyUsage:
    """Return the key usage of every certificate that is not one of a CA."""
    unused = (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
    )
    return x509.KeyUsage(
        digital_signature=True, encipher_only=False, decipher_only=False, **dict.fromkeys(unused, False)
    )


def extended_usage(names: t.Collection[str]) -> x509.ExtendedKeyUsage:
    """Return the extension for usages of `serverAuth` and `clientAuth`."""
    return x509.ExtendedKeyUsage([oid for oid, usage in _usage_names().items() if usage in names])


def alternative_names(names: t.Iterable[str]) -> x509.SubjectAlternativeName:
    """Return the extension for names in the form of `names.subject_alt_name`."""
    return x509.SubjectAlternativeName([_general_name(name) for name in names])


def new_request(
    key: PrivateKeyTypes, name: str, subject_alt_names: t.Sequence[str], extended_key_usage: t.Collection[str]
) -> bytes:
    builder = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(digital_signature(), critical=True)
        .add_extension(extended_usage(extended_key_usage), critical=False)
    )
    if subject_alt_names:
        builder = builder.add_extension(alternative_names(subject_alt_names), critical=False)
    return builder.sign(t.cast("ec.EllipticCurvePrivateKey", key), hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )


def request_problems(
    pem: str, name: str, subject_alt_names: t.Iterable[str], extended_key_usage: t.Collection[str]
) -> list[str]:
    """Return how the signing request `pem` differs from the declared names and usages: a host must not get more rights from the CA.

    Whoever asks may be an attacker, and the library raises many classes for what it cannot read: all of them are a problem of the request.
    """
    try:
        return _request_problems(pem, name, subject_alt_names, extended_key_usage)
    except Exception as error:
        return [f"it cannot be read: {error}"]


def key_problem(pem: str) -> str:
    """Return what is wrong with the key of a request, empty if it is one like those of `new_private_key`."""
    try:
        key = x509.load_pem_x509_csr(pem.encode()).public_key()
    except Exception as error:  # as above
        return f"its key cannot be read: {error}"
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return ""
    return "its key is not of the curve P-256"


def _request_problems(
    pem: str, name: str, subject_alt_names: t.Iterable[str], extended_key_usage: t.Collection[str]
) -> list[str]:
    request = x509.load_pem_x509_csr(pem.encode())
    problems = []
    if not request.is_signature_valid:
        problems.append("its signature is not valid")
    if [(attribute.oid, attribute.value) for attribute in request.subject] != [(NameOID.COMMON_NAME, name)]:
        problems.append(f"its subject is {request.subject.rfc4514_string()!r}, declared is CN={name!r}")
    try:
        extensions = request.extensions
    except Exception as error:  # as above; the problems before it are told, too
        return [*problems, f"its extensions cannot be read: {error}"]
    known = {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    }
    problems += [
        f"it asks for the extension {extension.oid.dotted_string}"
        for extension in extensions
        if extension.oid not in known
    ]
    for extension in extensions:
        if isinstance(extension.value, x509.BasicConstraints) and extension.value.ca:
            problems.append("it asks for the rights of a CA")
        if isinstance(extension.value, x509.KeyUsage) and (extension.value.key_cert_sign or extension.value.crl_sign):
            problems.append("it asks for the right to sign certificates")
    if set(usages(extensions)) != set(extended_key_usage):
        problems.append(
            f"its extended key usage is {sorted(usages(extensions))}, declared is {sorted(extended_key_usage)}"
        )
    declared, requested = sorted(subject_alt_names), sorted(alt_names(extensions))
    if requested != declared:
        problems.append(f"its subject alternative names are {requested}, declared are {declared}")
    return problems


def _general_name(value: str) -> x509.GeneralName:
    kind, _colon, name = value.partition(":")
    return x509.IPAddress(ipaddress.ip_address(name)) if kind == "IP" else x509.DNSName(name)
