"""TLS files that cannot work: a sentence, never a traceback and never a question at the terminal."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import CertificateProblem
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls import client_context
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """key.pem and cert.pem are a pair, other.pem is the key of nobody, locked.pem is key.pem with a passphrase."""
    path = tmp_path_factory.mktemp("tls")
    for name in ("key.pem", "other.pem"):
        openssl("ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", str(path / name))
    openssl("ec", "-in", str(path / "key.pem"), "-aes128", "-passout", "pass:secret", "-out", str(path / "locked.pem"))
    openssl("req", "-x509", "-key", str(path / "key.pem"), "-subj", "/CN=one", "-out", str(path / "cert.pem"))
    (path / "empty.pem").touch()
    return path


def test_a_pair_works(folder: pathlib.Path) -> None:
    assert client_context(TlsFiles(*(str(folder / name) for name in ("key.pem", "cert.pem", "cert.pem"))))


@pytest.mark.parametrize(
    ("private_key", "certificate", "ca_certificate", "message"),
    [
        ("locked.pem", "cert.pem", "cert.pem", "without a passphrase"),
        ("other.pem", "cert.pem", "cert.pem", "do not work together"),
        ("empty.pem", "cert.pem", "cert.pem", "do not work together"),
        ("missing.pem", "cert.pem", "cert.pem", "private_key .*missing.pem.* does not exist"),
        ("missing.pem/x", "cert.pem", "cert.pem", "does not exist"),
        ("nul\0.pem", "cert.pem", "cert.pem", "private_key .* does not exist"),
        (".", "cert.pem", "cert.pem", "private_key .* is a directory"),
        ("key.pem", ".", "cert.pem", "certificate .* is a directory"),
        ("key.pem", "cert.pem", ".", "ca_certificate .* is a directory"),
        ("key.pem", "cert.pem", "empty.pem", "ca_certificate .* holds no usable PEM certificate"),
        ("key.pem", "cert.pem", "key.pem", "ca_certificate .* holds no usable PEM certificate"),
    ],
)
def test_unusable_files(
    folder: pathlib.Path, private_key: str, certificate: str, ca_certificate: str, message: str
) -> None:
    files = TlsFiles(*(f"{folder}/{name}" for name in (private_key, certificate, ca_certificate)))
    with pytest.raises(CertificateProblem, match=message):
        client_context(files)
