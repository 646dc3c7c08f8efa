"""The TLS options of daemons: command lines that we build and those that the launchers build in their shell are the same."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.tls_options import (
    SHELL_ARGUMENTS,
    SHELL_FILES,
    tls_arguments,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons import chassis_launcher, raft_launcher
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

FILES = TlsFiles("/etc/a key.pem", "/etc/cert.pem", "/etc/ca.pem")
CIPHERS = "--ssl-ciphers=ECDHE+AESGCM:ECDHE+CHACHA20"
ARGUMENTS = ["-p", "/etc/a key.pem", "-c", "/etc/cert.pem", "-C", "/etc/ca.pem", CIPHERS]


def test_arguments() -> None:
    assert tls_arguments(FILES) == ARGUMENTS
    assert tls_arguments(TlsFiles()) == []
    assert tls_arguments(TlsFiles(ca_certificate="/etc/ca.pem")) == ["-C", "/etc/ca.pem", CIPHERS]


def test_a_shell_gives_the_same_files_with_the_same_options() -> None:
    script = f"printf '%s\\n' {SHELL_ARGUMENTS}"
    done = subprocess.run(["sh", "-c", script], env=FILES.as_environment(), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ARGUMENTS


def test_ciphers_of_the_site() -> None:
    own = {**FILES.as_environment(), "OVN_TLS_CIPHERS": "ECDHE+AESGCM"}
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {SHELL_ARGUMENTS}"], env=own, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == tls_arguments(FILES, "ECDHE+AESGCM")
    assert done.stdout.splitlines()[-1] == "--ssl-ciphers=ECDHE+AESGCM"


@pytest.mark.parametrize("script", [raft_launcher.SCRIPT, chassis_launcher.SCRIPT], ids=["raft", "chassis"])
def test_the_launchers_have_them(script: str) -> None:
    assert SHELL_FILES in script
    assert ("--ssl-ciphers" in script) is (
        script is raft_launcher.SCRIPT
    )  # ovn-controller aborts at it before OVN 25.03
    assert "@TLS@" not in script
