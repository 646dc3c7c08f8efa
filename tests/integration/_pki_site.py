"""An installation of two machines that are directories, and the role ovn_pki as ansible-playbook runs it on them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import typing as t

import _playbooks
from _pki import certificates_in, is_signed
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

PLAYBOOK = """
- name: Databases
  hosts: ovn_central
  gather_facts: false
  roles:
    - role: c5c3.ovn.ovn_pki
      vars: {ovn_pki_certificate: central}
- name: Chassis
  hosts: ovn_hypervisors
  gather_facts: false
  roles:
    - role: c5c3.ovn.ovn_pki
      vars: {ovn_pki_certificate: chassis}
"""


@dataclasses.dataclass
class Outcome:
    code: int
    output: str

    @property
    def message(self) -> str:
        """The output as one line: Ansible breaks long messages."""
        return re.sub(r"\s+", " ", self.output)

    def changed(self, host: str | None = None) -> int:
        found = re.findall(r"^(\S+)\s*: ok=\d+\s+changed=(\d+)", self.output, re.MULTILINE)
        return sum(int(count) for name, count in found if host in (None, name))


class Site:
    """Two machines that are directories: c1 is database host and chassis, h1 is a chassis."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.ca = root / "inventory" / "ovn-pki.cfg"
        (root / "inventory").mkdir(parents=True)
        (root / "playbook.yml").write_text(PLAYBOOK)
        self.variables: dict[str, dict[str, t.Any]] = {"c1": {}, "h1": {}}
        self.shared: dict[str, t.Any] = {}
        python = shutil.which("python3", path="/usr/bin:/bin")
        if (
            python
            and not subprocess.run([python, "-c", "import cryptography"], capture_output=True, check=False).returncode
        ):
            # What a Debian machine brings, usually years older than the control node's.
            self.variables["h1"]["ansible_python_interpreter"] = python

    def tls(self, host: str) -> pathlib.Path:
        return self.root / "machines" / host / "tls"

    def arguments(
        self,
        *arguments: str,
        inventory: str = "inventory/hosts.yml",
        playbook: str = "playbook.yml",
        **variables: t.Any,
    ) -> tuple[list[str], dict[str, str]]:
        _playbooks.write_inventory(
            self.root / "inventory" / "hosts.yml",
            {
                "ovn_central": {"hosts": {"c1": self.variables["c1"]}},
                "ovn_hypervisors": {"hosts": {"h1": self.variables["h1"], "c1": {}}},
            },
            ovn_pki_directory=f"{self.root}/machines/{{{{ inventory_hostname }}}}/tls",
            ovn_pki_ca_directory_is_kept=True,
            ovn_central_config_directory=f"{self.root}/machines/{{{{ inventory_hostname }}}}/etc",
            **{"ovn_address": "127.0.0.1", **self.shared},
        )
        given = ["-i", inventory, playbook, "-e", json.dumps(variables), *arguments]
        return given, _playbooks.environment(self.root / "tmp", ANSIBLE_PIPELINING="1")

    def run(self, *arguments: str, **variables: t.Any) -> Outcome:
        given, env = self.arguments(*arguments, **variables)
        done = _playbooks.run(given, env, cwd=self.root, timeout=300)
        assert "Traceback" not in done.stdout + done.stderr
        assert "PRIVATE KEY" not in done.stdout + done.stderr
        return Outcome(done.returncode, done.stdout + done.stderr)

    def apply(self, *arguments: str, **variables: t.Any) -> Outcome:
        outcome = self.run(*arguments, **variables)
        assert outcome.code == 0, outcome.output
        return outcome

    def refuse(self, *arguments: str, **variables: t.Any) -> Outcome:
        """A run that has to fail and to leave every installed file as it is."""
        before = self.files()
        outcome = self.run(*arguments, **variables)
        assert outcome.code != 0, outcome.output
        assert self.files() == before
        return outcome

    def files(self) -> dict[str, tuple[bytes, int, int]]:
        """Content, mode and modification time of everything installed; hidden files are unfinished business."""
        return {
            str(path): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
            for path in sorted(self.root.glob("machines/*/tls/[!.]*"))
        }

    def pair(self, host: str, name: str) -> x509.Certificate:
        """The installed certificate, after checks that hold always."""
        key_path, certificate_path = (self.tls(host) / f"{name}-{part}.pem" for part in ("key", "cert"))
        assert key_path.stat().st_mode & 0o777 == 0o600
        assert key_path.stat().st_mtime_ns == certificate_path.stat().st_mtime_ns
        certificate = x509.load_pem_x509_certificate(certificate_path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), None)
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        assert key.public_key().public_bytes(*form) == certificate.public_key().public_bytes(*form)
        trusted = self.bundle(host) if name == "central" else self.relay_bundle()
        assert any(is_signed(certificate, authority) for authority in trusted), "who has to accept it does not trust it"
        return certificate

    def bundle(self, host: str) -> list[x509.Certificate]:
        return certificates_in((self.tls(host) / "ca.pem").read_bytes())

    def authority(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.ca / "ca.pem").read_bytes())

    def chassis_authority(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.ca / "chassis-ca.pem").read_bytes())

    def relay_bundle(self) -> list[x509.Certificate]:
        return certificates_in((self.tls("c1") / "relay-ca.pem").read_bytes())

    def check_issuers(self) -> None:
        """Each pair is of its CA, and for what it is needed."""
        for host, name in PAIRS:
            certificate = self.pair(host, name)
            assert is_signed(certificate, self.authority() if name == "central" else self.chassis_authority())
            usage = set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
            assert usage == ({CLIENT} if name == "chassis" else {CLIENT, ExtendedKeyUsageOID.SERVER_AUTH})

    def serials(self) -> dict[tuple[str, str], int]:
        return {(host, name): self.pair(host, name).serial_number for host, name in PAIRS}

    def serials_of(self, pairs: t.Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """As they are, whoever has signed them."""
        paths = {pair: self.tls(pair[0]) / f"{pair[1]}-cert.pem" for pair in pairs}
        return {pair: x509.load_pem_x509_certificate(path.read_bytes()).serial_number for pair, path in paths.items()}


CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH
PAIRS = [("c1", "central"), ("c1", "chassis"), ("h1", "chassis")]


def copy_of(site: Site, directory: pathlib.Path) -> Site:
    """A finished installation in another directory, because making one takes a while."""
    copied = Site(directory / "site")
    shutil.rmtree(copied.root)
    shutil.copytree(site.root, copied.root)
    return copied
