from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

FILES = TlsFiles("/tls/tls.key", "/tls/tls.crt", "/tls/ca.crt")
ENVIRONMENT = {
    "OVN_PRIVATE_KEY": "/tls/tls.key",
    "OVN_CERTIFICATE": "/tls/tls.crt",
    "OVN_CA_CERTIFICATE": "/tls/ca.crt",
}


@pytest.mark.parametrize(
    ("files", "environment"),
    [
        pytest.param(FILES, ENVIRONMENT, id="all three"),
        pytest.param(TlsFiles(), {}, id="none"),
        pytest.param(TlsFiles(ca_certificate="/ca"), {"OVN_CA_CERTIFICATE": "/ca"}, id="one"),
    ],
)
def test_there_and_back(files: TlsFiles, environment: dict[str, str]) -> None:
    assert files.as_environment() == environment
    assert TlsFiles.of_environment({"OVN_NODE": "n1", **environment}) == files


def test_empty_is_not_given() -> None:
    assert TlsFiles.of_environment(dict.fromkeys(ENVIRONMENT, "")) == TlsFiles()


def test_complete() -> None:
    assert (FILES.complete, FILES._replace(certificate=None).complete) == (True, False)
