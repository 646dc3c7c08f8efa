"""A certificate authority for tests, which lives as long as the test."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import ipaddress
import pathlib
import typing as t

if t.TYPE_CHECKING:
    from cryptography import x509


@dataclasses.dataclass(frozen=True)
class TlsPaths:
    """The three files of one party, by the names of the modules' options."""

    private_key: str
    certificate: str
    ca_certificate: str

    def options(self) -> dict[str, str]:
        return dataclasses.asdict(self)

    def secret(self, name: str, without: str = "") -> dict[str, t.Any]:
        """Return a Secret as pods mount it, for the API server; one key may be left out."""
        files = {"tls.key": self.private_key, "tls.crt": self.certificate, "ca.crt": self.ca_certificate}
        data = {
            key: base64.b64encode(pathlib.Path(path).read_bytes()).decode()
            for key, path in files.items()
            if key != without
        }
        return {"metadata": {"name": name}, "data": data}


BEGIN = b"-----BEGIN CERTIFICATE-----"


def certificates_in(pem: bytes) -> list[x509.Certificate]:
    """All certificates of a PEM text. The oldest cryptography that the collection works with reads them one by one."""
    from cryptography import x509

    return [x509.load_pem_x509_certificate(BEGIN + part) for part in pem.split(BEGIN)[1:]]


def is_signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether an authority with an elliptic key, as the role makes it, has signed the certificate."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec

    key, algorithm = authority.public_key(), certificate.signature_hash_algorithm
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert algorithm is not None
    try:
        key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(algorithm))
    except InvalidSignature:
        return False
    return certificate.issuer == authority.subject


class Pki:
    """A certificate authority that lives as long as the test; negative `days`: expired that long ago."""

    def __init__(self, directory: pathlib.Path, name: str = "ca", days: float = 400) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        self._x509, self._hashes, self._serialization, self._ec = x509, hashes, serialization, ec
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, f"c5c3 test {name}")])
        now = datetime.datetime.now(datetime.timezone.utc)
        ca = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=400))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    key_cert_sign=True,
                    crl_sign=True,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_certificate = str(directory / f"{name}.pem")
        pathlib.Path(self.ca_certificate).write_bytes(ca.public_bytes(serialization.Encoding.PEM))

    def as_texts(self) -> tuple[str, str]:
        """Return certificate and private key as PEM texts, for who signs in its name."""
        form = (self._serialization.Encoding.PEM, self._serialization.PrivateFormat.PKCS8)
        key = self._key.private_bytes(*form, self._serialization.NoEncryption())
        return pathlib.Path(self.ca_certificate).read_text(), key.decode()

    def issue(
        self,
        common_name: str,
        *,
        days: float = 30,
        addresses: t.Sequence[str] = (),
        usages: t.Collection[t.Literal["server", "client"]] = ("server", "client"),
    ) -> TlsPaths:
        """Key and certificate; negative `days`: expired that long ago."""
        x509, serialization = self._x509, self._serialization
        key = self._ec.generate_private_key(self._ec.SECP256R1())
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common_name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(end - datetime.timedelta(days=60))
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage(
                    [getattr(x509.oid.ExtendedKeyUsageOID, f"{usage.upper()}_AUTH") for usage in usages]
                ),
                critical=False,
            )
            .add_extension(
                x509.SubjectAlternativeName(
                    [
                        x509.DNSName(common_name),
                        *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
                    ]
                ),
                critical=False,
            )
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, self._hashes.SHA256())
        )
        key_file, certificate_file = (
            self.directory / f"{common_name}-key.pem",
            self.directory / f"{common_name}-cert.pem",
        )
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        key_file.chmod(0o600)
        certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return TlsPaths(str(key_file), str(certificate_file), self.ca_certificate)
