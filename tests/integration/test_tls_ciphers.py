"""What the servers of ours agree to on a TLS port, tried with openssl: the ciphers of its command line, not those that the system happens to allow."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import typing as t

import pytest
from _launcher_lib import Cluster
from _pki import Pki, TlsPaths
from _relay import Relay
from conftest import next_address, run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor_units import controller_state

# The certificates have elliptic keys. AES without authentication of the text (CBC) is what the default of Open vSwitch still accepts.
WEAK = ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384"]
OLD = [["-tls1"], ["-tls1_1"]]
GOOD = [["-tls1_3"], ["-tls1_2"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"]]

# A system without limits of its own: what is refused is refused by the daemon.
PERMISSIVE = """openssl_conf = all
[all]
ssl_conf = sections
[sections]
system_default = limits
[limits]
MinProtocol = TLSv1
CipherString = ALL:@SECLEVEL=0
"""


@pytest.fixture(autouse=True)
def _permissive(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, daemons: None) -> None:
    file = tmp_path / "openssl.cnf"
    file.write_text(PERMISSIVE)
    monkeypatch.setenv("OPENSSL_CONF", str(file))


@pytest.fixture
def member(pki: Pki) -> t.Iterator[t.Callable[..., str]]:
    """Start a member under the launcher and return its Raft port; clients use the same listener code."""
    cluster = Cluster()

    def start(**environment: str) -> str:
        first = cluster.members[0]
        address = first.address.split(":")[1]
        pair = pki.issue("member", addresses=[address])
        first.address = f"ssl:{address}:6643"
        first.env |= {"OVN_LOCAL_ADDRESS": first.address, **TlsFiles(**pair.options()).as_environment(), **environment}
        cluster.found()
        return f"{address}:6643"

    yield start
    cluster.close()


@pytest.fixture
def relay(pki: Pki, short_dir: pathlib.Path) -> t.Iterator[str]:
    """The port of a relay. It listens before it has found a member."""
    host = next_address()
    made = Relay(
        short_dir / "relay", [f"ssl:{host}:1"], f"pssl:16642:{host}", pki.issue("relay", addresses=[host]), [pki]
    )
    made.launch()
    yield f"{host}:16642"
    made.kill()


def is_listening(port: str) -> bool:
    host, number = port.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(number))) == 0


def is_accepted(port: str, pair: TlsPaths, arguments: t.Sequence[str]) -> bool:
    """Whether the handshake came to an end."""
    done = subprocess.run(
        [
            *("openssl", "s_client", "-connect", port, "-key", pair.private_key, "-cert", pair.certificate),
            *("-CAfile", pair.ca_certificate, *arguments),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert "CONNECTED(" in done.stdout, done.stderr
    return "Cipher is (NONE)" not in done.stdout


def check_server(port: str, pair: TlsPaths) -> None:
    until(lambda: is_listening(port), f"{port} to listen")
    assert [offer for offer in GOOD if not is_accepted(port, pair, offer)] == []
    assert [offer for offer in [*OLD, WEAK] if is_accepted(port, pair, offer)] == []


def test_a_member(member: t.Callable[..., str], pki: Pki) -> None:
    check_server(member(), pki.issue("client"))


def test_a_relay(relay: str, pki: Pki) -> None:
    check_server(relay, pki.issue("client"))


def test_a_site_with_old_clients_says_so(member: t.Callable[..., str], pki: Pki) -> None:
    """The option reaches the daemon, and the test above can fail."""
    port, pair = member(OVN_TLS_CIPHERS="ALL:@SECLEVEL=0"), pki.issue("client")
    assert [offer for offer in [*GOOD, *OLD, WEAK] if not is_accepted(port, pair, offer)] == []


def test_ovn_controller_knows_all_of_its_command_line(pki: Pki, short_dir: pathlib.Path) -> None:
    """One before OVN 25.03 aborts at --ssl-ciphers."""
    files = list(pki.issue("chassis").options().values())
    arguments = ("ovn-controller", "unix:/nowhere", f"{short_dir}/pid", files)
    command = controller_state(*arguments, names_files=True)["command"].split()
    command = [word for word in command if not word.startswith("--log-file")]
    assert run(*command, "--help").startswith("ovn-controller: OVN controller")
