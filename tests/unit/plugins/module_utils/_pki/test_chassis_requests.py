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

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
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
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.chassis_requests import (
    NODE_EXTRA,
    NODE_UID_EXTRA,
    AskingNode,
    RequestDecision,
    judge_requests,
    pem_of,
    without_floods,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority, check_end

Object = dict[str, t.Any]
ACCOUNT = "system:serviceaccount:ovn-hypervisors:ovn-controller"
NODES = {
    "node-a": AskingNode("uid-a", "a.example.com"),
    "node-b": AskingNode("uid-b", "node-b"),
    "node-n": AskingNode("uid-n", "node-n", "Its name is not known to be free."),
}
KEY, _PEM = new_private_key()
NOW = datetime.datetime.now(datetime.timezone.utc)


def pem(name: str = "a.example.com", names: t.Sequence[str] = (), usage: str = "clientAuth") -> bytes:
    return new_request(KEY, name, names, (usage,))


def of_key(key: t.Any) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a.example.com")])
    client = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject).add_extension(client, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def of_node(*names: str, uid: str = "") -> Object:
    return {NODE_EXTRA: list(names), NODE_UID_EXTRA: [uid or f"uid-{names[0][-1]}"]}


def request(
    text: bytes = b"", status: Object | None = None, name: str = "r1", created: str = "T1", **spec: t.Any
) -> Object:
    return {
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {
            "signerName": "ovn.c5c3.io/chassis",
            "username": ACCOUNT,
            "extra": of_node("node-a"),
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
            request(extra=of_node("node-b")), "deny", "on node node-b, which is chassis node-b", id="from another node"
        ),
        pytest.param(
            request(extra=of_node("node-c")),
            "wait",
            "node node-c was no hypervisor when this run read the nodes",
            id="unknown",
        ),
        pytest.param(request(extra={}), "deny", "ServiceAccountTokenPodNodeInfo", id="a token that names no node"),
        pytest.param(request(extra=of_node("node-a", "node-b")), "deny", "from which node", id="two nodes"),
        pytest.param(
            request(extra=of_node("node-a", uid="former")), "deny", "a former Node node-a", id="of a deleted Node"
        ),
        pytest.param(
            request(extra={NODE_EXTRA: ["node-a"]}), "deny", "a former Node node-a", id="a token without the uid"
        ),
        pytest.param(
            request(pem("node-n"), extra=of_node("node-n")), "wait", "Its name is not known to be free.", id="its name"
        ),
        pytest.param(
            request(extra=of_node("node-n")), "deny", "declared is CN='node-n'", id="its name, and it asks for another"
        ),
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
    (found,) = judge(given) or [RequestDecision("r1", "ignore")]
    assert (found.name, found.verdict) == ("r1", verdict)
    assert found.chassis == ("a.example.com" if verdict == "sign" else "")
    assert words in found.reason
    assert len(found.reason) < 1000


def judge(*given: Object, **options: bool) -> list[RequestDecision]:
    return judge_requests(given, account=ACCOUNT, nodes=NODES, **options)


def der(tag: int, body: bytes) -> bytes:
    count = len(body)
    number = count.to_bytes(max(1, (count.bit_length() + 7) // 8), "big")
    length = number if count < 128 else bytes([0x80 + len(number)]) + number
    return bytes([tag]) + length + body


def odd_request(version: int = 0, tag: int = 0x0C, name: bytes = b"") -> bytes:
    """Return a request that is signed well, and that no builder would make: `tag` is the type of the common name, `name` a subject alternative name."""
    common_name_of_a = der(0x30, bytes.fromhex("0603550403") + der(tag, b"a.example.com"))
    extensions = der(0x30, der(0x30, bytes.fromhex("0603551d11") + der(0x04, der(0x30, name))))
    attribute = der(0x30, bytes.fromhex("06092a864886f70d01090e") + der(0x31, extensions))
    subject = der(0x30, der(0x31, common_name_of_a))
    public = KEY.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    info = der(0x30, der(0x02, bytes([version])) + subject + public + der(0xA0, attribute if name else b""))
    signature = t.cast(ec.EllipticCurvePrivateKey, KEY).sign(info, ec.ECDSA(hashes.SHA256()))
    content = info + der(0x30, bytes.fromhex("06082a8648ce3d040302")) + der(0x03, b"\0" + signature)
    text = base64.encodebytes(der(0x30, content)).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n".encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(odd_request(), "its extended key usage", id="the form itself is good"),
        # The oldest cryptography reads it all the same.
        pytest.param(
            odd_request(version=1), ("1 is not a valid CSR version", "its extended key usage"), id="another version"
        ),
        pytest.param(odd_request(name=der(0xA3, b"")), "its extensions cannot be read", id="an X.400 address"),
        pytest.param(odd_request(name=der(0xA5, b"")), "its extensions cannot be read", id="an EDI party"),
        pytest.param(odd_request(tag=0x05), "it cannot be read", id="a common name that is no text"),
        pytest.param(odd_request(tag=0x1F), "it cannot be read", id="an unknown type"),
        pytest.param(pem(names=["DNS:" + "x" * 60] * 5000), "subject alternative names are", id="as big as they come"),
    ],
)
def test_what_an_attacker_sends_stops_nobody_else(text: bytes, words: str | tuple[str, ...]) -> None:
    bad, good = judge(request(text, name="bad"), request(name="good", created="T2"))
    assert (bad.verdict, good.verdict) == ("deny", "sign")
    assert any(one in bad.reason for one in ([words] if isinstance(words, str) else words))
    assert len(bad.reason) < 1000


def test_only_the_newest_request_of_a_node_is_signed() -> None:
    """A node that was taken over asks with keys of the attacker's; they must not be signed after it was installed again."""
    found = judge(
        request(name="z-old", created="2026-11-26T10:00:00Z"),
        request(name="a-new", created="2026-11-26T11:00:00Z"),
        request(name="m-older", created="2026-11-26T09:00:00Z", status=condition("Approved")),
        request(pem("node-b"), name="b", created="2026-11-26T12:00:00Z", extra=of_node("node-b")),
        request(pem("node-b"), name="wrong", created="2026-11-26T13:00:00Z"),
    )
    assert [(one.name, one.verdict, one.node, one.approved) for one in found] == [
        ("m-older", "deny", "node-a", True),
        ("z-old", "deny", "node-a", False),
        ("a-new", "sign", "node-a", False),
        ("b", "sign", "node-b", False),
        ("wrong", "deny", "node-a", False),
    ]
    assert found[0].reason == "node node-a has a newer request, a-new. Nothing has to be done."
    assert found[0].chassis == ""


def test_a_node_that_was_read_long_ago_is_no_reason_to_deny() -> None:
    """A run waits for hours; meanwhile a node was deleted and joined again."""
    given = request(extra=of_node("node-a", uid="later"))
    assert [(one.verdict, one.is_of_unknown_node) for one in judge(given, current=False)] == [("wait", True)]
    assert [one.verdict for one in judge(request(pem("node-b")), current=False)] == ["deny"]


def test_a_flood_of_one_node_holds_up_nobody() -> None:
    """Each denial is a request to the API server, and a run carries them out one by one."""
    flood = [request(pem("other"), name=f"r{number:03}", created="T0") for number in range(500)]
    found = without_floods(judge(*flood, request(pem("node-b"), name="b", extra=of_node("node-b"))))
    assert [one.name for one in found[:2]] == ["b", "r000"]
    assert len(found) == 11


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

    @pytest.mark.parametrize(
        ("left", "words"),
        [(400, ""), (365, ""), (364, "The CA of the chassis ends on 2030-12-31, so"), (1, "and not after 365 days")],
    )
    def test_a_ca_that_ends_soon(self, left: int, words: str) -> None:
        end = datetime.datetime(2030, 12, 31, tzinfo=datetime.timezone.utc)
        found = check_end(end, end - datetime.timedelta(days=left), 365)
        assert words in found
        assert bool(found) is bool(words)

    @pytest.mark.parametrize("hours", [0, 0.5, 2, 5000])
    def test_a_ca_that_has_ended_signs_nothing(self, hours: float) -> None:
        """For an hour it could, because certificates begin an hour ago."""
        certificate, key = self.authority(days=1)
        signer = SigningAuthority(certificate, key, "", 365)
        later = not_after(signer.certificate) + datetime.timedelta(hours=hours)
        for attempt in (signer.check, lambda now: signer.sign(pem_of(request()), "a.example.com", now)):
            with pytest.raises(
                InvalidInput, match=r"has ended on .* Replace it: run c5c3\.ovn\.rotate with ovn_pki_rotate=chassis"
            ):
                attempt(later)
        assert "ends on" in signer.check(NOW)
