"""CAs and certificates that this process makes."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import issuing
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.certificates import (
    alt_names,
    belongs_together,
    load_authority,
    load_certificate,
    not_after,
    not_before,
    signed_by,
    usages,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issuing import issue, new_authority, require_cryptography
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority

NOW = datetime.datetime(2026, 11, 27, 7, 0, tzinfo=datetime.timezone.utc)
DAY, CLOCKS = datetime.timedelta(days=1), datetime.timedelta(hours=1)


def authority(days: int = 3650, valid_for: int = 365) -> SigningAuthority:
    return SigningAuthority(*new_authority("OVN CA", NOW, days), "", valid_for)


def test_a_new_authority() -> None:
    pem, key = new_authority("OVN CA", NOW, 3650)
    certificate = load_authority(pem, "it")
    assert belongs_together(load_pem_private_key(key.encode(), None), certificate)
    assert signed_by(certificate, certificate)
    assert certificate.subject.rfc4514_string() == "CN=OVN CA"
    # clocks of other machines may be behind
    assert (not_before(certificate), not_after(certificate)) == (NOW - CLOCKS, NOW + 3650 * DAY)
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert (usage.value.key_cert_sign, usage.value.crl_sign) == (True, True)
    others = (usage.value.digital_signature, usage.value.key_encipherment, usage.value.key_agreement)
    assert not any(others)


def test_two_authorities_have_nothing_in_common() -> None:
    one, other = (load_authority(new_authority("OVN CA", NOW, 1)[0], "it") for _number in range(2))
    assert one.serial_number != other.serial_number
    assert one.public_key() != other.public_key()


@pytest.mark.parametrize(
    ("names", "usage"),
    [
        (("DNS:ovn", "DNS:*.ovn-northbound.net.svc", "IP:192.0.2.1"), {"serverAuth", "clientAuth"}),
        (("DNS:rack1",), {"clientAuth"}),
        ((), {"serverAuth"}),
    ],
)
def test_a_certificate_has_the_declared_names_and_usages_and_no_more(names: tuple[str, ...], usage: set[str]) -> None:
    signer = authority()
    pem, key = issue(signer, "ovn", NOW, subject_alt_names=names, extended_key_usage=usage)
    certificate = load_certificate(pem.encode(), "it")
    assert signed_by(certificate, signer.certificate)
    assert belongs_together(load_pem_private_key(key.encode(), None), certificate)
    assert certificate.subject.rfc4514_string() == "CN=ovn"
    assert alt_names(certificate.extensions) == list(names)
    assert set(usages(certificate.extensions)) == usage
    extended = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert (ExtendedKeyUsageOID.SERVER_AUTH in extended) is ("serverAuth" in usage)
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    # by these, and not by the equal names of two CAs, OpenSSL finds the right one
    own = signer.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    assert certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier == own


@pytest.mark.parametrize(("of_authority", "valid"), [(3650, 365), (365, 365), (100, 100)])
def test_none_outlives_its_authority(of_authority: int, valid: int) -> None:
    signer = authority(of_authority)
    pem, _key = issue(signer, "ovn", NOW, subject_alt_names=["DNS:ovn"], extended_key_usage=["serverAuth"])
    certificate = load_certificate(pem.encode(), "it")
    assert (not_before(certificate), not_after(certificate)) == (NOW - CLOCKS, NOW + valid * DAY)


def test_an_authority_that_has_ended_issues_nothing() -> None:
    with pytest.raises(InvalidInput, match="has ended on 2026-11-28"):
        issue(authority(days=1), "ovn", NOW + DAY, subject_alt_names=(), extended_key_usage=["serverAuth"])


def test_each_one_has_a_key_of_its_own() -> None:
    signer = authority()
    keys = {
        issue(signer, "ovn", NOW, subject_alt_names=(), extended_key_usage=["clientAuth"])[1] for _number in range(2)
    }
    assert len(keys) == 2


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    require_cryptography()
    monkeypatch.setattr(issuing, "CRYPTOGRAPHY_PROBLEM", "No module named cryptography")
    with pytest.raises(InvalidInput, match=r"lacks the Python library cryptography"):
        require_cryptography()
