"""Requests and bundles, with real cryptography."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import certificates

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.timezone.utc)


def make_ca(
    name: str, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW)
        .not_valid_after(NOW + datetime.timedelta(days=10))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    )


BOTH = ("serverAuth", "clientAuth")


def request(
    name: str = "ovn-1",
    alt_names: tuple[str, ...] = ("DNS:ovn-1", "IP:192.0.2.11"),
    usages: tuple[str, ...] = BOTH,
) -> str:
    key, _pem = certificates.new_private_key()
    return certificates.new_request(key, name, alt_names, usages).decode()


def test_a_declared_request_has_no_problems() -> None:
    assert certificates.request_problems(request(), "ovn-1", ["IP:192.0.2.11", "DNS:ovn-1"], BOTH) == []


def test_the_usages_are_those_that_were_declared() -> None:
    """A hypervisor must not become a server by asking for it."""
    names = ["IP:192.0.2.11", "DNS:ovn-1"]
    client = request(usages=("clientAuth",))
    assert certificates.request_problems(client, "ovn-1", names, ["clientAuth"]) == []
    (problem,) = certificates.request_problems(request(), "ovn-1", names, ["clientAuth"])
    assert problem == "its extended key usage is ['clientAuth', 'serverAuth'], declared is ['clientAuth']"


def test_a_request_for_blanks_and_other_alphabets_has_no_problems() -> None:
    assert certificates.request_problems(request("Rechner ä", ()), "Rechner ä", [], BOTH) == []


def forged(*extensions: tuple[x509.ExtensionType, bool], subject: str = "ovn-1") -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        pytest.param(request("ovn-2"), "its subject is", id="the name of another host"),
        pytest.param(request(alt_names=("DNS:other",)), "subject alternative names", id="the address of another host"),
        pytest.param(forged((x509.BasicConstraints(ca=True, path_length=None), True)), "rights of a CA", id="a CA"),
        pytest.param(forged((x509.OCSPNoCheck(), False)), "asks for the extension", id="an unknown extension"),
        pytest.param(forged(), "extended key usage", id="no usages"),
        pytest.param("nonsense", "cannot be read", id="no request at all"),
    ],
)
def test_a_request_beyond_the_declaration_is_reported(pem: str, problem: str) -> None:
    problems = certificates.request_problems(pem, "ovn-1", ["DNS:ovn-1", "IP:192.0.2.11"], BOTH)
    assert any(problem in one for one in problems), problems


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP384R1()),
        rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["EC", "RSA", "Ed25519"],
)
def test_signatures(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> None:
    authority = make_ca("CA", key)
    impostor = make_ca("CA", ec.generate_private_key(ec.SECP384R1()))
    assert certificates.signed_by(authority, authority)
    assert not certificates.signed_by(authority, impostor)


def test_a_bundle_keeps_order_and_drops_repetitions() -> None:
    one, two = (make_ca(name, ec.generate_private_key(ec.SECP256R1())) for name in ("one", "two"))
    text = b"some words\n" + certificates.to_pem([two]) + b"\n# comment\n" + certificates.to_pem([one, two])
    assert certificates.load_bundle(text, "bundle") == [two, one]


@pytest.mark.parametrize("cut", range(2, 400, 37))
def test_a_cut_bundle_is_an_error_not_a_traceback(cut: int) -> None:
    pem = certificates.to_pem([make_ca("CA", ec.generate_private_key(ec.SECP256R1()))])
    with pytest.raises(InvalidInput, match="Certificate 1 of bundle cannot be read"):
        certificates.load_bundle(pem[:-cut], "bundle")


def test_a_leaf_is_no_authority() -> None:
    with pytest.raises(InvalidInput, match="no certificate"):
        certificates.load_authority("", "issuer")
