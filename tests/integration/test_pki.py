"""The role ovn_pki as ansible-playbook runs it, against directories of its own, and one real ovsdb-server."""

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

import _playbooks
import pytest
from _waits import until

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from _pki import Pki, is_signed
from _pki_site import PAIRS, Site, copy_of
from conftest import next_address, start_tls_server
from conftest import run as output_of
from cryptography import x509
from cryptography.x509.oid import NameOID


@pytest.fixture
def site(short_dir: pathlib.Path) -> Site:
    return Site(short_dir)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A finished installation; copied for each test, because making one takes a while."""
    site = Site(tmp_path_factory.mktemp("installed") / "site")
    site.apply()
    return site


@pytest.fixture
def ready(installed: Site, short_dir: pathlib.Path) -> Site:
    return copy_of(installed, short_dir)


def test_an_inventory_that_is_a_folder_has_the_same_ca(ready: Site) -> None:
    """Nothing of the CA is taken for an inventory: no group, no warning, no key that somebody tries to read."""
    given = ready.apply("--check", inventory="inventory")
    assert given.changed() == 0
    ready.apply(ovn_pki_clients=["neutron"])
    assert (ready.ca / "clients" / "neutron-key.pem").exists()
    (ready.ca / "clusters.json").write_text('{"clusters": {}}')
    listed = [
        _playbooks.run(
            ["-i", inventory, "--list"],
            _playbooks.environment(ready.root / "tmp"),
            program="ansible-inventory",
            cwd=ready.root,
        )
        for inventory in ("inventory", "inventory/hosts.yml")
    ]
    assert [done.returncode for done in listed] == [0, 0]
    assert listed[0].stderr == listed[1].stderr
    assert json.loads(listed[0].stdout) == json.loads(listed[1].stdout)


def test_first_run_then_the_same_again(site: Site) -> None:
    predicted = site.apply("--check", "--diff")
    assert predicted.changed("c1") > 0
    assert predicted.changed("h1") > 0
    assert "no private key and no certificate are installed" in predicted.message
    assert not (site.root / "machines").exists()
    assert not site.ca.exists()

    site.apply()
    assert (site.ca / "ca-key.pem").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(site.ca)) == [".gitignore", "ca-key.pem", "ca.pem", "chassis-ca-key.pem", "chassis-ca.pem"]
    assert sorted(os.listdir(site.tls("c1"))) == [
        "ca.pem",
        "central-cert.pem",
        "central-key.pem",
        "chassis-cert.pem",
        "chassis-key.pem",
        "relay-ca.pem",
    ]
    assert sorted(os.listdir(site.tls("h1"))) == ["ca.pem", "chassis-cert.pem", "chassis-key.pem"]
    assert site.relay_bundle() == [site.authority(), site.chassis_authority()]
    for host, name in PAIRS:
        certificate = site.pair(host, name)
        assert site.bundle(host) == [site.authority()]
        assert certificate.subject.rfc4514_string() == f"CN={host}"
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [host]
        assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
        assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca

    site.check_issuers()
    before = site.files()
    assert site.apply().changed() == 0
    assert site.apply("--check", "--diff").changed() == 0
    assert site.files() == before


def test_git_never_adds_a_key_of_the_ca(ready: Site) -> None:
    """The inventory often lies in a repository."""
    inventory = ready.ca.parent
    ready.apply(ovn_pki_clients=["neutron"])
    output_of("git", "-C", str(inventory), "init", "--quiet")
    output_of("git", "-C", str(inventory), "add", "--all")
    assert output_of("git", "-C", str(inventory), "ls-files").split() == ["hosts.yml"]


def test_renewal_replaces_key_and_certificate_together(ready: Site) -> None:
    before = ready.serials()
    keys = {path: path.read_bytes() for path in ready.root.glob("machines/*/tls/*-key.pem")}
    options = {"ovn_pki_renew_before_days": 366, "ovn_pki_validity_days": 730}

    predicted = ready.apply("--check", "--diff", **options)
    assert predicted.changed("h1") > 0
    assert "it is renewed 366 days before" in predicted.message
    assert ready.serials() == before

    ready.apply(**options)
    assert not set(ready.serials().values()) & set(before.values())
    assert all(path.read_bytes() != old for path, old in keys.items())
    assert ready.apply(**options).changed() == 0


def test_renewal_without_end_is_refused(ready: Site) -> None:
    message = ready.refuse(ovn_pki_renew_before_days=365, ovn_pki_validity_days=365).message
    assert "every run would make new certificates" in message


def test_names_and_addresses_that_change(ready: Site) -> None:
    before = ready.serials()
    ready.variables["h1"].update(ovn_system_id="Rechner ä 1", ovn_address="2001:db8::7")
    ready.apply()
    after = ready.serials()
    assert {pair for pair in PAIRS if after[pair] != before[pair]} == {("h1", "chassis")}
    subject = ready.pair("h1", "chassis").subject
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["Rechner ä 1"]
    assert ready.apply().changed() == 0

    ready.variables["h1"]["ovn_system_id"] = "x" * 65
    assert "a certificate can carry 64" in ready.refuse().message


def test_damage_is_repaired(ready: Site) -> None:
    before = ready.serials()
    (ready.tls("h1") / "chassis-key.pem").write_text("nonsense")
    (ready.tls("c1") / "chassis-cert.pem").unlink()
    (ready.tls("c1") / "central-key.pem").chmod(0o644)
    ready.apply()
    after = ready.serials()
    assert {pair for pair in PAIRS if after[pair] != before[pair]} == {("c1", "chassis"), ("h1", "chassis")}
    assert ready.apply().changed() == 0


def test_a_lost_ca_is_never_replaced_silently(ready: Site) -> None:
    """An execution environment that is thrown away forgets the CA; the installation must not get a second one."""
    before = ready.serials()
    former = ready.authority()
    shutil.rmtree(ready.ca)
    for arguments in ((), ("--check",), ("--limit", "h1")):
        message = ready.refuse(*arguments).message
        assert "c1" in message
        assert "ovn_pki_ca.certificate" in message
        assert "ovn_pki_ca_rotation=lost_key" in message
        assert not (ready.ca / "ca.pem").exists()

    # Declared: the new CA becomes known first, certificates follow in the next run.
    ready.apply(ovn_pki_ca_rotation="lost_key")
    assert ready.serials() == before
    for host in ("c1", "h1"):
        assert ready.bundle(host) == [ready.authority(), former]
    ready.apply()
    assert not set(ready.serials().values()) & set(before.values())
    ready.check_issuers()
    assert ready.apply().changed() == 0


def test_the_ca_of_another_installation_is_refused(ready: Site, short_dir: pathlib.Path) -> None:
    other = Site(short_dir / "other")
    other.apply()
    message = ready.refuse(ovn_pki_ca_directory=str(other.ca)).message
    assert "ovn_pki_ca.bundle_extra" in message
    assert "ovn_pki_ca_rotation: finish" in message

    # Given as content, with the former CA in the bundle: phase by phase.
    options = {
        f"ovn_pki_{name.replace('-', '_')}": {
            "certificate": (other.ca / f"{name}.pem").read_text(),
            "private_key": (other.ca / f"{name}-key.pem").read_text(),
            "bundle_extra": (ready.ca / f"{name}.pem").read_text(),
        }
        for name in ("ca", "chassis-ca")
    }
    before = ready.serials()
    ready.apply(**options, ovn_pki_ca_rotation="prepare")
    assert ready.serials() == before
    ready.apply(**options)
    assert not set(ready.serials().values()) & set(before.values())
    assert ready.apply(**options).changed() == 0
    for given in options.values():
        del given["bundle_extra"]
    ready.refuse(**options)
    ready.apply(**options, ovn_pki_ca_rotation="finish")
    assert ready.bundle("h1") == [other.authority()]
    assert ready.relay_bundle() == [other.authority(), other.chassis_authority()]
    assert ready.apply(**options).changed() == 0


@pytest.mark.rotations
def test_rotation_of_the_ca(ready: Site) -> None:
    before, former = ready.serials(), ready.authority()
    assert "ovn_pki_ca_rotation=prepare" in ready.refuse(ovn_pki_ca_rotation="switch").message

    ready.apply("--limit", "c1", ovn_pki_ca_rotation="prepare")
    message = ready.refuse(ovn_pki_ca_rotation="switch").message
    assert "h1 do not trust the new CA yet" in message
    assert "ovn_pki_ca_rotation=switch" in ready.refuse(ovn_pki_ca_rotation="finish").message

    ready.apply(ovn_pki_ca_rotation="prepare")
    assert ready.apply(ovn_pki_ca_rotation="prepare").changed() == 0
    assert ready.serials() == before
    assert ready.authority() == former

    assert ready.apply("--check", ovn_pki_ca_rotation="switch").changed("h1") > 0
    ready.apply("--limit", "c1", ovn_pki_ca_rotation="switch")
    assert ready.authority() != former
    assert "h1 still use certificates of the former CA" in ready.refuse(ovn_pki_ca_rotation="finish").message
    ready.apply(ovn_pki_ca_rotation="switch")
    assert not set(ready.serials().values()) & set(before.values())
    assert ready.apply(ovn_pki_ca_rotation="switch").changed() == 0
    # Their order means nothing, so a switch alone does not rewrite the bundle.
    assert set(ready.bundle("h1")) == {ready.authority(), former}

    ready.apply(ovn_pki_ca_rotation="finish")
    assert ready.bundle("c1") == ready.bundle("h1") == [ready.authority()]
    assert ready.relay_bundle() == [ready.authority(), ready.chassis_authority()]
    ready.check_issuers()
    assert ready.apply().changed() == 0


def test_a_run_that_ended_between_request_and_installation(ready: Site) -> None:
    before = ready.serials()
    key = ready.ca / "ca-key.pem"
    key.rename(ready.ca / "elsewhere")
    options = {"ovn_pki_renew_before_days": 366, "ovn_pki_validity_days": 730}
    assert "not ca-key.pem" in ready.refuse(**options).message
    waiting = ready.tls("c1") / ".central-key.pem.pending"
    assert waiting.stat().st_mode & 0o777 == 0o600
    content = waiting.read_bytes()
    assert ready.serials() == before

    (ready.ca / "elsewhere").rename(key)
    ready.apply(**options)
    assert (ready.tls("c1") / "central-key.pem").read_bytes() == content
    assert not list(ready.root.glob("machines/*/tls/.*"))


def test_a_key_that_others_can_read_signs_nothing(ready: Site) -> None:
    key = ready.ca / "ca-key.pem"
    options = {"ovn_pki_renew_before_days": 366, "ovn_pki_validity_days": 730}
    key.chmod(0o644)
    assert f"Run: chmod 0600 {key}." in ready.refuse(**options).message
    key.chmod(0o600)
    ready.ca.chmod(0o755)
    assert f"Run: chmod 0700 {ready.ca}." in ready.refuse(**options).message
    # As a repository gives it back: nobody can read an encrypted key.
    password = ready.root / "password"
    password.write_text("secret")
    vault = ["encrypt", "--vault-password-file", str(password), str(key), str(ready.ca / "chassis-ca-key.pem")]
    done = _playbooks.run(vault, _playbooks.environment(ready.root / "tmp"), program="ansible-vault", cwd=ready.root)
    assert done.returncode == 0, done.stderr
    key.chmod(0o644)
    before = ready.serials()
    ready.apply("--vault-password-file", str(password), **options)
    assert not set(ready.serials().values()) & set(before.values())


def test_what_a_hypervisor_trusts_reaches_nobody_else(ready: Site, short_dir: pathlib.Path) -> None:
    """Its owner adds a CA to the file, and the CA of the control node is lost."""
    foreign = Pki(short_dir / "foreign")
    with (ready.tls("h1") / "ca.pem").open("a") as bundle:
        bundle.write(pathlib.Path(foreign.ca_certificate).read_text())
    former = ready.authority()
    shutil.rmtree(ready.ca)
    ready.run(ovn_pki_ca_rotation="lost_key")  # h1 itself is refused: its bundle has more than was declared
    assert set(ready.bundle("c1")) == {ready.authority(), former}


def test_keys_that_a_killed_run_has_left_are_removed(ready: Site) -> None:
    left = [ready.ca / f".{name}-key.pem.pending" for name in ("ca", "next-ca", "next-chassis-ca")]
    for path in left:
        path.write_text("a key")
    ready.apply(ovn_pki_ca_rotation="prepare")
    assert not list(ready.ca.glob(".*.pending"))
    assert (ready.ca / "next-ca-key.pem").read_text().startswith("-----BEGIN PRIVATE KEY-----")


def test_ca_that_openssl_made_is_taken_over(site: Site) -> None:
    """Keys in the form before PKCS#8, encrypted, as community.crypto writes them."""
    site.ca.mkdir(mode=0o700)
    config = site.root / "openssl.cnf"
    config.write_text("[req]\ndistinguished_name = dn\n[dn]\n")
    for name in ("ca", "chassis-ca"):
        key, certificate = site.ca / f"{name}-key.pem", site.ca / f"{name}.pem"
        make = ["openssl", "ecparam", "-name", "secp384r1", "-genkey", "-noout"]
        plain = subprocess.run(make, check=True, capture_output=True).stdout
        encrypt = ["openssl", "ec", "-aes256", "-passout", "pass:secret of both", "-out", str(key)]
        subprocess.run(encrypt, check=True, capture_output=True, input=plain)
        sign = ["openssl", "req", "-x509", "-new", "-config", str(config), "-key", str(key), "-passin"]
        sign += ["pass:secret of both", "-subj", f"/CN=Former {name}", "-days", "3650", "-out", str(certificate)]
        sign += ["-addext", "basicConstraints=critical,CA:TRUE,pathlen:0"]
        sign += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        subprocess.run(sign, check=True, capture_output=True)
        key.chmod(0o600)
        assert "Proc-Type: 4,ENCRYPTED" in key.read_text()
    before = {path.name: path.read_bytes() for path in site.ca.iterdir()}
    assert "its passphrase is wrong or missing" in site.run().message
    options = {"ovn_pki_ca": {"private_key_passphrase": "secret of both"}}
    assert "secret of both" not in site.apply("-vvv", **options).output
    site.check_issuers()
    assert {path.name: path.read_bytes() for path in site.ca.iterdir()} == before
    assert site.apply(**options).changed() == 0
    site.apply(ovn_pki_ca_rotation="prepare", **options)
    assert (site.ca / "next-ca-key.pem").read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")


def test_two_first_runs_at_once_make_one_ca(site: Site) -> None:
    runs = []
    for _number in range(2):
        given, env = site.arguments()
        command, pipe = _playbooks.command(*given), subprocess.PIPE
        runs.append(subprocess.Popen(command, cwd=site.root, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True))
    outputs = [run.communicate(timeout=300)[0] for run in runs]
    for run, output in zip(runs, outputs):
        # The slower run may find its key replaced; then it says so and changed nothing that works.
        assert run.returncode == 0 or "run again" in output.lower(), output
    site.apply()
    site.serials()
    assert sorted(os.listdir(site.ca)) == [".gitignore", "ca-key.pem", "ca.pem", "chassis-ca-key.pem", "chassis-ca.pem"]
    assert site.bundle("c1") == site.bundle("h1") == [site.authority()]
    assert site.apply().changed() == 0


def served_serial(address: str, site: Site) -> int:
    """Serial number of the certificate that port 6642 of the address shows right now."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(site.tls("h1") / "ca.pem")
    context.load_cert_chain(site.tls("c1") / "central-cert.pem", site.tls("c1") / "central-key.pem")
    with socket.create_connection((address, 6642), 5) as raw, context.wrap_socket(raw) as secure:
        certificate = secure.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


def test_clients_that_are_no_hosts(daemons: None, ready: Site, short_dir: pathlib.Path) -> None:
    """Neutron's certificate: it connects to a database server, and is renewed as others are."""
    directory = ready.ca / "clients"
    clients = [
        "neutron",
        {"name": "octavia", "common_name": "octavia-ovn", "subject_alt_names": ["DNS:octavia.example"]},
    ]
    assert ready.apply("--check", ovn_pki_clients=clients).changed("c1") > 0
    assert not directory.exists()
    ready.apply(ovn_pki_clients=clients)
    files = ["ca.pem", *(f"{name}-{part}.pem" for name in ("neutron", "octavia") for part in ("cert", "key"))]
    assert sorted(os.listdir(directory)) == files
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "neutron-key.pem").stat().st_mode & 0o777 == 0o600
    loaded = {
        name: x509.load_pem_x509_certificate((directory / f"{name}-cert.pem").read_bytes())
        for name in ("neutron", "octavia")
    }
    assert {name: one.subject.rfc4514_string() for name, one in loaded.items()} == {
        "neutron": "CN=neutron",
        "octavia": "CN=octavia-ovn",
    }
    assert all(is_signed(one, ready.authority()) for one in loaded.values())
    assert ready.apply(ovn_pki_clients=clients).changed() == 0

    # A server with the certificate of a central host, a client with Neutron's
    with DatabaseServer(short_dir, ready.tls("c1")) as endpoint:
        dump = ["ovsdb-client", "-t", "10", "list-dbs", endpoint, "-C", str(directory / "ca.pem")]
        pair = ["-p", str(directory / "neutron-key.pem"), "-c", str(directory / "neutron-cert.pem")]
        assert "OVN_Northbound" in subprocess.run([*dump, *pair], capture_output=True, text=True, check=True).stdout
        own = x509.load_pem_x509_certificate((directory / "neutron-cert.pem").read_bytes())
        ready.apply(ovn_pki_clients=clients, ovn_pki_renew_before_days=370, ovn_pki_validity_days=400)
        renewed = x509.load_pem_x509_certificate((directory / "neutron-cert.pem").read_bytes())
        assert renewed.serial_number != own.serial_number
        assert "OVN_Northbound" in subprocess.run([*dump, *pair], capture_output=True, text=True, check=True).stdout


class DatabaseServer:
    """An ovsdb-server with an empty Northbound database and the certificate of a central host. As a context, its endpoint."""

    def __init__(self, folder: pathlib.Path, tls: pathlib.Path) -> None:
        self.folder, self.tls = folder, tls

    def __enter__(self) -> str:
        address = next_address()
        files = [str(self.tls / name) for name in ("central-key.pem", "central-cert.pem", "ca.pem")]
        self._server = start_tls_server(self.folder / "nb.db", "/usr/share/ovn/ovn-nb.ovsschema", files, address, 6641)
        return f"ssl:{address}:6641"

    def __exit__(self, *_error: object) -> None:
        self._server.kill()


def test_a_control_node_that_is_a_container_makes_no_ca(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is generated before somebody says that the directory is kept."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    for arguments in ([], ["--check"]):
        message = site.refuse(*arguments, ovn_pki_ca_directory_is_kept=False).message
        assert "The control node is a container" in message
        assert "KUBERNETES_SERVICE_HOST" in message
        assert "ovn_pki_ca_directory to it and ovn_pki_ca_directory_is_kept to true" in message
        assert not site.ca.exists()
        assert not (site.root / "machines").exists()
    site.apply()
    # What is there is used, and not extended.
    assert site.apply(ovn_pki_ca_directory_is_kept=False).changed() == 0
    site.refuse(ovn_pki_ca_directory_is_kept=False, ovn_pki_ca_rotation="prepare")
    assert not (site.ca / "next-ca.pem").exists()


def test_a_running_ovsdb_server_loads_the_renewed_pair(daemons: None, ready: Site) -> None:
    address = next_address()
    tls = ready.tls("c1")
    subprocess.run(
        ["ovsdb-tool", "create", str(ready.root / "db"), "/usr/share/ovn/ovn-sb.ovsschema"], check=True, timeout=30
    )
    server = subprocess.Popen(
        [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "ovsdb-server",
            "-vconsole:off",
            "--no-chdir",
            f"--log-file={ready.root / 'db.log'}",
            f"--unixctl={ready.root / 'db.ctl'}",
            f"--remote=pssl:6642:{address}",
            f"--private-key={tls / 'central-key.pem'}",
            f"--certificate={tls / 'central-cert.pem'}",
            f"--ca-cert={tls / 'ca.pem'}",
            str(ready.root / "db"),
        ],
    )
    try:

        def first_serial() -> int | None:
            with contextlib.suppress(OSError):
                return served_serial(address, ready)
            return None

        first = until(first_serial, "the server to answer")
        assert first == ready.pair("c1", "central").serial_number

        ready.apply(ovn_pki_renew_before_days=366, ovn_pki_validity_days=730)
        second = ready.pair("c1", "central").serial_number
        assert second != first
        until(lambda: served_serial(address, ready) == second, "the new certificate to be served", 300)
        assert server.poll() is None
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait(10)
