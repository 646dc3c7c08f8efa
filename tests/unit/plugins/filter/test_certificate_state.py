"""A Secret is judged by the rules for files."""

from __future__ import annotations

import base64
import datetime
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from ansible.errors import AnsibleFilterError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.c5c3.ovn.plugins.filter.certificate_state import certificate_state
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import certificates
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.decision import BOTH_USAGES

NOW = datetime.datetime.now(datetime.timezone.utc)
NAMES = ["*.ovn-northbound.ovn-system.svc", "ovn-nb.ovn-system.svc"]


class Authority:
    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        basic = x509.BasicConstraints(ca=True, path_length=0)
        builder = self.builder(self.name, self.key.public_key(), 3650).add_extension(basic, critical=True)
        self.pem = certificates.to_pem([builder.sign(self.key, hashes.SHA256())]).decode()

    def builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - datetime.timedelta(days=400))
            .not_valid_after(NOW + datetime.timedelta(days=days, hours=1))
        )

    def secret(self, days: int = 100) -> dict[str, str]:
        key, pem = certificates.new_private_key()
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        request = x509.load_pem_x509_csr(
            certificates.new_request(key, "control-plane", [f"DNS:{name}" for name in NAMES], BOTH_USAGES)
        )
        builder = self.builder(request.subject, key.public_key(), days)
        for extension in request.extensions:
            builder = builder.add_extension(extension.value, extension.critical)
        certificate = builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        contents = {"tls.key": pem, "tls.crt": certificate, "ca.crt": self.pem.encode()}
        return {name: base64.b64encode(content).decode() for name, content in contents.items()}


CA = Authority("CA")
OTHER = Authority("another CA")


def compared(data: dict[str, str] | None, issuer: str = CA.pem, **options: t.Any) -> dict[str, t.Any]:
    declared = {"ca_bundle": issuer, "common_name": "control-plane", "subject_alt_names": NAMES}
    return certificate_state(data, issuer=issuer, **{**declared, **options})


@pytest.mark.parametrize(
    ("data", "options", "codes"),
    [
        pytest.param(CA.secret(), {}, [], id="fits"),
        pytest.param(None, {}, ["missing", "ca_added"], id="no Secret"),
        pytest.param(
            {}, {"issuer": "", "ca_bundle": ""}, ["missing", "ca_bundle"], id="no Secret and no CA: check mode"
        ),
        pytest.param(CA.secret(days=29), {}, ["renewal"], id="ends soon"),
        pytest.param(CA.secret(days=-1), {}, ["expired"], id="has ended"),
        pytest.param(CA.secret() | {"tls.key": CA.secret()["tls.key"]}, {}, ["key_mismatch"], id="key of another pair"),
        pytest.param(CA.secret() | {"tls.crt": "%%"}, {}, ["certificate_unreadable"], id="no base64"),
        pytest.param(CA.secret() | {"tls.key": ""}, {}, ["private_key_missing"], id="key is empty"),
        pytest.param(CA.secret(), {"common_name": "other"}, ["common_name"], id="other name"),
        pytest.param(CA.secret(), {"subject_alt_names": NAMES[:1]}, ["subject_alt_names"], id="other services"),
        pytest.param(
            CA.secret(),
            {"issuer": OTHER.pem, "ca_bundle": OTHER.pem + CA.pem, "renew_on_issuer_change": False},
            ["ca_added"],
            id="next CA becomes known, the certificate stays",
        ),
        pytest.param(
            CA.secret(),
            {"issuer": OTHER.pem, "ca_bundle": OTHER.pem + CA.pem},
            ["issuer", "ca_added"],
            id="next CA signs",
        ),
    ],
)
def test_what_a_secret_lacks(data: dict[str, str] | None, options: dict[str, t.Any], codes: list[str]) -> None:
    state = compared(data, **options)
    assert [reason["code"] for reason in state["reasons"]] == codes
    assert state["needed"] == any(not code.startswith("ca_") for code in codes)


def test_a_ca_does_not_leave_the_bundle_unnoticed() -> None:
    with pytest.raises(AnsibleFilterError, match=r"ca\.crt of Secret a/b trusts 'CA'"):
        compared(CA.secret(), issuer=OTHER.pem, place="Secret a/b")


def test_the_bundle_of_clients_is_compared_where_one_is_declared() -> None:
    both = CA.pem + OTHER.pem
    assert compared(CA.secret())["client_ca_bundle_wanted"] == ""
    state = compared(CA.secret(), client_ca_bundle=both, place="Secret a/b")
    assert [reason["code"] for reason in state["reasons"]] == ["ca_added", "ca_added"]
    assert "becomes trusted in client-ca.crt of Secret a/b" in state["reasons"][0]["message"]
    assert (state["client_ca_bundle_wanted"], state["ca_bundle_wanted"], state["needed"]) == (both, CA.pem, False)
    data = {**CA.secret(), "client-ca.crt": base64.b64encode(both.encode()).decode()}
    assert compared(data, client_ca_bundle=both)["reasons"] == []
    assert compared(data, issuer=CA.pem)["reasons"] == []
    assert certificate_state(data, issuer=OTHER.pem)["issuer_accepted"]
    assert not certificate_state(CA.secret(), issuer=OTHER.pem)["issuer_accepted"]


def test_client_certificate_is_rejected_as_server() -> None:
    usage = {"extended_key_usage": ["clientAuth"]}
    assert [reason["code"] for reason in compared(CA.secret(), **usage)["reasons"]] == ["extended_key_usage"]


def test_a_bundle_that_fits_stays_as_it_is() -> None:
    assert compared(CA.secret())["ca_bundle_wanted"] == CA.pem


def test_without_a_declaration_it_only_tells() -> None:
    state = certificate_state(CA.secret())
    assert (state["needed"], state["reasons"], state["missing"]) == (False, [], [])
    assert (state["in_service"], state["days_left"]) == (True, 100)


def test_keys_that_are_missing_are_named() -> None:
    assert certificate_state({"tls.crt": CA.secret()["tls.crt"]})["missing"] == ["tls.key", "ca.crt"]


def test_nothing_secret_is_returned() -> None:
    assert "PRIVATE" not in str(compared(CA.secret()))
