"""Which requests of nodes get a certificate."""

from __future__ import annotations

import base64
import datetime
import typing as t

import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.certificates import (
    alt_names,
    common_name,
    load_certificate,
    new_private_key,
    new_request,
    not_after,
    signed_by,
    usages,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.chassis_requests import NODE_EXTRA, judge_request, pem_of
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority

Object = dict[str, t.Any]
ACCOUNT = "system:serviceaccount:ovn-hypervisors:ovn-controller"
CHASSIS = {"node-a": "a.example.com", "node-b": "node-b"}
KEY, _PEM = new_private_key()
NOW = datetime.datetime.now(datetime.timezone.utc)


def pem(name: str = "a.example.com", names: t.Sequence[str] = (), usage: str = "clientAuth") -> bytes:
    return new_request(KEY, name, names, (usage,))


def of_key(key: t.Any) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a.example.com")])
    client = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject).add_extension(client, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def request(text: bytes = b"", status: Object | None = None, **spec: t.Any) -> Object:
    return {
        "metadata": {"name": "r1"},
        "spec": {
            "signerName": "ovn.c5c3.io/chassis",
            "username": ACCOUNT,
            "extra": {NODE_EXTRA: ["node-a"]},
            "usages": ["digital signature", "client auth"],
            "request": base64.b64encode(text or pem()).decode(),
            **spec,
        },
        **({"status": status} if status else {}),
    }


def condition(kind: str) -> Object:
    return {"conditions": [{"type": kind, "status": "True"}]}


@pytest.mark.parametrize(
    ("given", "verdict", "words"),
    [
        pytest.param(request(), "sign", "", id="a node asks for its own name"),
        pytest.param(request(status=condition("Approved")), "sign", "", id="approved by a run that was killed"),
        pytest.param(request(signerName="kubernetes.io/kubelet-serving"), "ignore", "", id="another signer"),
        pytest.param(
            request(username=ACCOUNT.replace("ovn-hypervisors", "other")), "ignore", "", id="another hypervisor cluster"
        ),
        pytest.param(request(username="system:admin"), "ignore", "", id="a user"),
        pytest.param(request(status={"certificate": "x"}), "ignore", "", id="signed already"),
        pytest.param(request(status=condition("Denied")), "ignore", "", id="denied already"),
        pytest.param(request(pem("node-b")), "deny", "declared is CN='a.example.com'", id="the name of another node"),
        pytest.param(
            request(extra={NODE_EXTRA: ["node-b"]}), "deny", "node node-b is chassis node-b", id="from another node"
        ),
        pytest.param(
            request(extra={NODE_EXTRA: ["node-c"]}), "deny", "node node-c is no hypervisor", id="no hypervisor"
        ),
        pytest.param(request(extra={}), "deny", "Kubernetes 1.30", id="a token that names no node"),
        pytest.param(request(extra={NODE_EXTRA: ["node-a", "node-b"]}), "deny", "from which node", id="two nodes"),
        pytest.param(request(usages=["digital signature", "server auth"]), "deny", "its usages are", id="for a server"),
        pytest.param(request(usages=["client auth"]), "deny", "its usages are client auth, not", id="another usage"),
        pytest.param(request(pem(usage="serverAuth")), "deny", "its extended key usage", id="for a server inside"),
        pytest.param(request(pem(names=["DNS:b"])), "deny", "subject alternative names are ['DNS:b']", id="more names"),
        pytest.param(
            request(of_key(ec.generate_private_key(ec.SECP384R1()))), "deny", "curve P-256", id="another curve"
        ),
        pytest.param(request(of_key(rsa.generate_private_key(65537, 1024))), "deny", "curve P-256", id="a weak key"),
        pytest.param(request(b"no request"), "deny", "cannot be read", id="no request at all"),
        pytest.param(
            {**request(), "spec": {**request()["spec"], "request": "%"}}, "deny", "cannot be read", id="no text"
        ),
    ],
)
def test_decision(given: Object, verdict: str, words: str) -> None:
    found = judge_request(given, account=ACCOUNT, chassis=CHASSIS)
    assert (found.name, found.verdict) == ("r1", verdict)
    assert found.chassis == ("a.example.com" if verdict == "sign" else "")
    assert words in found.reason
    assert found.reason.startswith("CertificateSigningRequest r1 was denied: ") is (verdict == "deny")


class TestSigning:
    @staticmethod
    def authority(days: int = 400, passphrase: str = "") -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chassis CA")])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(7)
            .not_valid_before(NOW - datetime.timedelta(days=1))
            .not_valid_after(NOW + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        encryption: t.Any = serialization.NoEncryption()
        if passphrase:
            encryption = serialization.BestAvailableEncryption(passphrase.encode())
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        return certificate.public_bytes(serialization.Encoding.PEM).decode(), key.private_bytes(*form).decode()

    @pytest.mark.parametrize(("days", "valid"), [(400, 365), (10, 10)], ids=["as declared", "not longer than the CA"])
    def test_names_and_usages_are_ours(self, days: int, valid: int) -> None:
        certificate, key = self.authority(days)
        signer = SigningAuthority(certificate, key, "", 365)
        found = load_certificate(signer.sign(pem_of(request()), "a.example.com", NOW).encode(), "it")
        assert common_name(found.subject) == "a.example.com"
        assert (usages(found.extensions), alt_names(found.extensions)) == (["clientAuth"], [])
        assert signed_by(found, signer.certificate)
        assert abs(not_after(found) - NOW - datetime.timedelta(days=valid)) < datetime.timedelta(seconds=2)
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        assert found.public_key().public_bytes(*form) == KEY.public_key().public_bytes(*form)

    def test_a_key_with_a_passphrase(self) -> None:
        certificate, key = self.authority(passphrase="secret")
        assert SigningAuthority(certificate, key, "secret", 1)
        for passphrase in ("", "wrong"):
            with pytest.raises(InvalidInput, match=r"its passphrase is wrong or missing\.$") as e:
                SigningAuthority(certificate, key, passphrase, 1)
            assert "PRIVATE" not in str(e.value)

    def test_the_key_of_another_ca(self) -> None:
        with pytest.raises(InvalidInput, match=r"does not belong to signer\.certificate"):
            SigningAuthority(self.authority()[0], self.authority()[1], "", 1)
