"""TLS files that cannot work: a sentence, never a traceback and never a question at the terminal."""

from __future__ import annotations

import contextlib
import errno
import json
import pathlib
import socket
import ssl
import subprocess
import threading
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import CertificateProblem, OvnError, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls import client_context, tls_failure
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection


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


@pytest.fixture
def serve(folder: pathlib.Path) -> t.Iterator[t.Callable[[int], str]]:
    """Start a server that ends after so many answers, as a process that dies does; its endpoint."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(folder / "cert.pem"), str(folder / "key.pem"))
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def run(answers: int) -> None:
            raw, _address = listener.accept()
            with context.wrap_socket(raw, server_side=True) as connection:
                for _number in range(answers):
                    request = json.loads(connection.recv(1 << 16))
                    connection.sendall(json.dumps({"id": request["id"], "result": [], "error": None}).encode())
                connection.recv(1 << 16)

        def start(answers: int) -> str:
            threading.Thread(target=run, args=(answers,), daemon=True).start()
            return f"ssl:127.0.0.1:{listener.getsockname()[1]}"

        yield start


@pytest.mark.parametrize(
    ("answers", "kind", "words"),
    [
        (0, CertificateProblem, "it may not trust our certificate"),
        (1, Unreachable, "is not reachable: the server closed the connection."),
    ],
    ids=["at once", "after an answer"],
)
def test_a_server_that_has_answered_trusts_our_certificate(
    folder: pathlib.Path, serve: t.Callable[[int], str], answers: int, kind: type[OvnError], words: str
) -> None:
    files = TlsFiles(*(str(folder / name) for name in ("key.pem", "cert.pem", "cert.pem")))
    with Connection(parse_endpoint(serve(answers)), files, Deadline(10)) as connection:
        for _number in range(answers):
            connection.call("echo", [])
        with pytest.raises(kind, match=words):
            connection.call("echo", [])


def ended() -> ssl.SSLEOFError:
    error = ssl.SSLEOFError(8, "EOF occurred in violation of protocol")
    error.reason = "UNEXPECTED_EOF_WHILE_READING"  # as OpenSSL sets it
    return error


@pytest.mark.parametrize("error", [ended(), BrokenPipeError(errno.EPIPE, "Broken pipe")], ids=["ended", "broken"])
def test_what_ends_after_an_answer_is_no_failure_of_tls(error: OSError) -> None:
    assert tls_failure("ssl:192.0.2.1:6641", error, answered=True) is None
    assert tls_failure("ssl:192.0.2.1:6641", error) is not None
