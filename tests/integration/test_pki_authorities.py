"""The two CAs of the role ovn_pki and the playbook rotate, with servers on the ports of a central host and clients that connect all the time."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import typing as t

import _playbooks
import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from _pki import is_signed
from _pki_site import PAIRS, Outcome, Site, copy_of
from conftest import Daemon, next_address, start_tls_server, until
from conftest import run as output_of
from cryptography import x509

from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import parse_list

SCHEMAS = {"nb": "/usr/share/ovn/ovn-nb.ovsschema", "sb": "/usr/share/ovn/ovn-sb.ovsschema"}
MEMBERS, RELAY = {"nb": 6641, "sb": 16642}, 6642
RAFT = {"nb": 6643, "sb": 6644}
WARNING = "chassis_certificates_open_northbound"


class Servers:
    """A member of each database with its Raft port, and what lets chassis in as a relay does: another process with another bundle."""

    def __init__(self, folder: pathlib.Path, tls: pathlib.Path, address: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.tls, self.address = folder, tls, address
        self.daemons = [
            *(self._member(name, port) for name, port in MEMBERS.items()),
            self._start("relay", RELAY, "relay-ca.pem"),
        ]

    def _member(self, name: str, port: int) -> Daemon:
        database = str(self.folder / f"{name}.db")
        raft = f"ssl:{self.address}:{RAFT[name]}"
        output_of("ovsdb-tool", "create-cluster", database, SCHEMAS[name], raft)
        return self._start(name, port, "ca.pem")

    def _start(self, name: str, port: int, bundle: str) -> Daemon:
        files = [str(self.tls / file) for file in ("central-key.pem", "central-cert.pem", bundle)]
        return start_tls_server(self.folder / f"{name}.db", SCHEMAS["sb"], files, self.address, port)

    def kill(self) -> None:
        for daemon in self.daemons:
            daemon.kill()


def refusal(tls: pathlib.Path, pair: str, address: str, port: int) -> str:
    """Why the pair of this folder opens nothing at the port, empty if the server talks to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(tls / "ca.pem")
    try:
        context.load_cert_chain(tls / f"{pair}-cert.pem", tls / f"{pair}-key.pem")
        with socket.create_connection((address, port), 10) as raw, context.wrap_socket(raw) as secure:
            # A server that has refused already does not read it, but its reason is there to be read.
            with contextlib.suppress(OSError):
                secure.sendall(json.dumps({"method": "echo", "params": [], "id": "e"}).encode())
            return "" if secure.recv(4096) else "closed"
    except ssl.SSLError as e:
        return e.reason or str(e)


class Clients:
    """The central host at each port and the hypervisor at the relay, again and again. Only what a server or a client refuses counts."""

    def __init__(self, site: Site, address: str) -> None:
        self.site, self.address = site, address
        self.refusals: list[str] = []
        self.count = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        ports = [*MEMBERS.values(), *RAFT.values(), RELAY]
        places = [("c1", "central", port) for port in ports] + [("h1", "chassis", RELAY), ("c1", "chassis", RELAY)]
        while not self._over.wait(0.05):
            for host, pair, port in places:
                reason = refusal(self.site.tls(host), pair, self.address, port)
                # A daemon loads a pair only when it is complete; this client may read between the two renames.
                if reason and reason != "KEY_VALUES_MISMATCH":
                    self.refusals.append(f"{pair} of {host} at {port}: {reason}")
                self.count += 1

    def __enter__(self) -> Clients:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._thread.is_alive(), "the clients have stopped connecting"
        self._over.set()
        self._thread.join(60)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("authorities") / "site")
    site.apply()
    return site


@pytest.fixture
def ready(installed: Site, short_dir: pathlib.Path) -> Site:
    site = copy_of(installed, short_dir)
    site.shared = {"ovn_address": next_address()}
    for host in ("c1", "h1"):
        site.variables[host]["ovn_pki_subject_alt_names"] = []
    return site


@pytest.fixture
def former(short_dir: pathlib.Path) -> Site:
    """An installation from before there were two CAs: ca.pem signed for chassis, too."""
    site = Site(short_dir / "former")
    site.shared = {"ovn_address": next_address()}
    site.apply(ovn_southbound_rbac=False)
    assert not (site.ca / "chassis-ca.pem").exists()
    (site.tls("c1") / "relay-ca.pem").unlink()
    return site


@pytest.fixture
def serve(daemons: None, short_dir: pathlib.Path) -> t.Iterator[t.Callable[[Site], Servers]]:
    started = []

    def start(site: Site) -> Servers:
        started.append(Servers(short_dir / "servers", site.tls("c1"), site.shared["ovn_address"]))
        return started[-1]

    yield start
    for servers in started:
        servers.kill()


def rotate(site: Site, *arguments: str, **variables: t.Any) -> Outcome:
    given, env = site.arguments(*arguments, playbook="c5c3.ovn.rotate", **variables)
    done = _playbooks.run(given, env, cwd=site.root, timeout=600)
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    assert "PRIVATE KEY" not in output
    return Outcome(done.returncode, output)


def issued(site: Site) -> dict[str, int]:
    """The serial numbers of the certificates that the observer of c1 knows, by the names of the chassis."""
    found = parse_list((site.root / "machines" / "c1" / "etc" / "issued-certificates.json").read_text())
    return {one.holder: int(one.serial_number, 16) for one in found or ()}


def test_what_the_key_of_a_chassis_opens(ready: Site, serve: t.Callable[[Site], Servers]) -> None:
    ready.apply()
    address = serve(ready).address
    for port in (*MEMBERS.values(), *RAFT.values()):
        assert "UNKNOWN_CA" in refusal(ready.tls("h1"), "chassis", address, port), port
        assert refusal(ready.tls("c1"), "central", address, port) == ""
    assert refusal(ready.tls("h1"), "chassis", address, RELAY) == ""
    assert refusal(ready.tls("c1"), "central", address, RELAY) == ""


def test_a_server_with_the_certificate_of_a_chassis_or_a_client(
    daemons: None, ready: Site, short_dir: pathlib.Path
) -> None:
    """Nobody believes it, not even who trusts its CA."""
    ready.apply(ovn_pki_clients=["neutron"])
    address = ready.shared["ovn_address"]
    clients = ready.ca / "clients"
    for number, (key, certificate) in enumerate(
        (
            (ready.tls("h1") / "chassis-key.pem", ready.tls("h1") / "chassis-cert.pem"),
            (clients / "neutron-key.pem", clients / "neutron-cert.pem"),
        )
    ):
        port = 6642 + number
        tls = [str(key), str(certificate), str(ready.tls("c1") / "relay-ca.pem")]
        false = start_tls_server(short_dir / f"false{number}.db", SCHEMAS["sb"], tls, address, port)
        try:
            for bundle in ("ca.pem", "relay-ca.pem"):
                central = [str(ready.tls("c1") / name) for name in ("central-key.pem", "central-cert.pem", bundle)]
                words = [word for pair in zip(("-p", "-c", "-C"), central) for word in pair]
                client = ["ovsdb-client", "-t", "5", *words, "list-dbs", f"ssl:{address}:{port}"]
                answer = subprocess.run(client, capture_output=True, text=True, timeout=20, check=False)
                assert answer.returncode != 0
                assert "certificate verify failed" in answer.stderr
        finally:
            false.kill()


def test_clients_get_the_rights_of_their_listener(ready: Site, serve: t.Callable[[Site], Servers]) -> None:
    agent = {"name": "metadata", "common_name": "h1", "access": "chassis"}
    ready.apply(ovn_pki_clients=["neutron", agent])
    assert ready.apply(ovn_pki_clients=["neutron", agent]).changed() == 0
    address, clients = serve(ready).address, ready.ca / "clients"
    for port in (*MEMBERS.values(), RELAY):
        assert refusal(clients, "neutron", address, port) == ""
    assert refusal(clients, "metadata", address, RELAY) == ""
    for port in (*MEMBERS.values(), *RAFT.values()):
        assert "UNKNOWN_CA" in refusal(clients, "metadata", address, port), port
    message = ready.refuse(ovn_pki_clients=[agent], ovn_southbound_rbac=False).message
    assert "metadata cannot have access: chassis" in message


@pytest.mark.rotations
def test_a_former_installation_keeps_working_and_is_carried_over(
    former: Site, serve: t.Callable[[Site], Servers]
) -> None:
    before = former.serials_of(PAIRS)
    old = former.authority()
    outcome = former.apply()
    assert WARNING in outcome.output
    assert "c5c3.ovn.rotate" in outcome.output
    assert former.serials_of(PAIRS) == before
    assert former.relay_bundle() == former.bundle("h1") == [old]
    assert former.apply().changed() == 0
    agent = {"name": "metadata", "common_name": "h1", "access": "chassis"}
    assert "Run c5c3.ovn.rotate, which separates the two" in former.refuse(ovn_pki_clients=[agent]).message
    message = rotate(former, ovn_pki_rotate="chassis")
    assert message.code != 0
    assert "The chassis CA alone cannot be introduced" in message.message
    assert former.serials_of(PAIRS) == before

    servers = serve(former)
    with Clients(former, servers.address) as clients:
        rotated = rotate(former)
        assert rotated.code == 0, rotated.output
    assert clients.refusals == []
    assert clients.count > 50
    former.check_issuers()
    assert former.authority() != old
    assert former.bundle("h1") == former.bundle("c1") == [former.authority()]
    assert former.relay_bundle() == [former.authority(), former.chassis_authority()]
    assert not set(former.serials_of(PAIRS).values()) & set(before.values())
    for port in (*MEMBERS.values(), *RAFT.values()):
        assert "UNKNOWN_CA" in refusal(former.tls("h1"), "chassis", servers.address, port)
    assert issued(former) == {host: former.pair(host, "chassis").serial_number for host in ("c1", "h1")}
    again = former.apply()
    assert again.changed() == 0
    assert WARNING not in again.output


@pytest.mark.rotations
def test_a_rotation_goes_on_where_it_was_cut_off(ready: Site, serve: t.Callable[[Site], Servers]) -> None:
    """First a server that does not accept the next CA, as if it were hung; then a run for the rest."""
    ready.apply()
    servers, before = serve(ready), (ready.authority(), ready.chassis_authority())
    assert rotate(ready, "--check").code == 0
    assert not (ready.ca / "rotation.json").exists()
    assert "h1 are not part of this run" in rotate(ready, "--limit", "c1,localhost").message
    servers.daemons[0].kill()
    stopped = rotate(ready)
    assert stopped.code != 0
    assert "Phase prepare is not done" in stopped.message
    assert f"{servers.address}:{MEMBERS['nb']}" in stopped.message
    assert (ready.authority(), ready.chassis_authority()) == before
    assert json.loads((ready.ca / "rotation.json").read_text())["phase"] == "prepare"
    # Nothing was issued, but compared.
    assert issued(ready) == {host: ready.pair(host, "chassis").serial_number for host in ("c1", "h1")}

    servers.daemons[0] = servers._start("nb", MEMBERS["nb"], "ca.pem")
    with Clients(ready, servers.address) as clients:
        assert rotate(ready).code == 0
    assert clients.refusals == []
    assert not (ready.ca / "rotation.json").exists()
    assert ready.authority() != before[0]
    assert ready.chassis_authority() != before[1]
    ready.check_issuers()
    assert ready.apply().changed() == 0

    # One of the two, and a renewal of the certificates alone
    central, serials = ready.authority(), ready.serials_of(PAIRS)
    assert rotate(ready, ovn_pki_rotate="chassis").code == 0
    assert ready.authority() == central
    changed = {pair for pair, serial in ready.serials_of(PAIRS).items() if serial != serials[pair]}
    assert changed == {pair for pair in PAIRS if pair[1] == "chassis"}
    serials = ready.serials_of(PAIRS)
    assert rotate(ready, ovn_pki_rotate="certificates").code == 0
    assert not set(ready.serials_of(PAIRS).values()) & set(serials.values())
    ready.check_issuers()


def test_a_rotation_looks_at_every_host_before_it_begins(ready: Site) -> None:
    ready.variables["h1"]["ovn_pki_group"] = "{{ nowhere }}"
    refused = rotate(ready)
    assert refused.code != 0
    assert "ovn_pki_group" in refused.message
    assert not (ready.ca / "rotation.json").exists()


@pytest.mark.rotations
def test_a_rotation_that_is_killed_in_each_phase(ready: Site, serve: t.Callable[[Site], Servers]) -> None:
    """With SIGKILL, in the middle of what it does; the run after that goes on."""
    ready.apply()
    servers, before = serve(ready), (ready.authority(), ready.chassis_authority())
    reached = {
        "prepare": (ready.ca / "next-ca.pem").exists,
        "switch": (ready.ca / "previous-ca.pem").exists,
        "finish": lambda: any(ready.ca.glob("retired-*-previous-ca-key.pem")),
    }
    with Clients(ready, servers.address) as clients:
        for phase, begun in reached.items():
            given, env = ready.arguments(playbook="c5c3.ovn.rotate")
            run = subprocess.Popen(
                _playbooks.command(*given),
                cwd=ready.root,
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                until(begun, f"phase {phase}", 300)
            finally:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait(10)
            assert json.loads((ready.ca / "rotation.json").read_text())["phase"] == phase
        finished = rotate(ready)
    assert finished.code == 0, finished.output
    assert clients.refusals == []
    assert not {ready.authority(), ready.chassis_authority()} & set(before)
    assert ready.bundle("h1") == ready.bundle("c1") == [ready.authority()]
    ready.check_issuers()
    assert ready.apply().changed() == 0


@pytest.mark.rotations
def test_with_clients_each_run_has_one_phase(former: Site, serve: t.Callable[[Site], Servers]) -> None:
    """Somebody has to bring the files to them in between. One with the rights of a chassis gets its certificate when the CA for it comes."""
    former.apply(ovn_pki_clients=["neutron"])
    servers = serve(former)
    brought = former.root / "brought"
    agent = {"name": "metadata", "common_name": "h1", "access": "chassis"}
    for phase in ("prepare", "switch", "finish"):
        shutil.copytree(former.ca / "clients", brought, dirs_exist_ok=True)
        outcome = rotate(former, ovn_pki_clients=["neutron", agent])
        assert outcome.code == 0, outcome.output
        assert (f"{phase} is done" in outcome.output) == (phase != "finish")
        assert refusal(brought, "neutron", servers.address, MEMBERS["nb"]) == ""
        assert (former.ca / "clients" / "metadata-cert.pem").exists() == (phase != "prepare")
    former.check_issuers()
    pem = (former.ca / "clients" / "metadata-cert.pem").read_bytes()
    assert is_signed(x509.load_pem_x509_certificate(pem), former.chassis_authority())


@pytest.mark.rotations
def test_a_given_central_ca_gets_a_chassis_ca_beside_it(
    former: Site, serve: t.Callable[[Site], Servers], short_dir: pathlib.Path
) -> None:
    other = Site(short_dir / "other")
    other.shared = {"ovn_address": next_address()}
    given = {
        "ovn_pki_ca": {
            "certificate": (former.ca / "ca.pem").read_text(),
            "private_key": (former.ca / "ca-key.pem").read_text(),
        },
    }
    other.apply(**given)
    assert not (other.ca / "ca.pem").exists()
    for host, name in PAIRS:
        expected = former.authority() if name == "central" else other.chassis_authority()
        assert is_signed(other.pair(host, name), expected)
    assert other.apply(**given).changed() == 0

    # Only ours can be rotated here.
    assert "replace a given CA in three runs" in rotate(other, **given).message
    serve(other)
    chassis = other.chassis_authority()
    rotated = rotate(other, **given, ovn_pki_rotate="chassis")
    assert rotated.code == 0, rotated.output
    assert other.chassis_authority() != chassis
    assert is_signed(other.pair("h1", "chassis"), other.chassis_authority())
    assert is_signed(other.pair("c1", "central"), former.authority())

    # Where hosts have certificates of it already, chassis keep them until the three phases.
    shutil.rmtree(former.ca)
    assert WARNING in former.apply(**given).output
    assert not (former.ca / "chassis-ca.pem").exists()
