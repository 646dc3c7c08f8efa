"""The role ovn_pki on Secrets of a real API server, together with a machine that trusts the same CA."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing as t
import urllib.error

import _playbooks
import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from _apiserver import ApiServer
from _pki import certificates_in, is_signed
from _pki_site import PLAYBOOK
from conftest import next_address, start_tls_server
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from test_pki_authorities import SCHEMAS, refusal

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels, member_name
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES, PORTS, Database
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import TLS, relay_tls_files, tls_files
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central import CentralClusterOptions, cluster_spec

# How the machine h1 runs Python, and how it becomes root: each notes that it was used.
PYTHON = """#!/bin/sh
echo python >>{log}
exec {python} "$@"
"""
SUDO = """#!/bin/sh
echo root >>{log}
shift 2
exec "$@"
"""

Object = dict[str, t.Any]
PLACES = {"plane": "a", "rack1": "b"}


class Site:
    """A control plane and a hypervisor cluster, which are two new namespaces of one API server, and the machine h1."""

    def __init__(self, root: pathlib.Path, server: ApiServer, prefix: str) -> None:
        self.root, self.server = root, server
        self.namespaces = {host: f"{prefix}-{suffix}" for host, suffix in PLACES.items()}
        self.ca = root / "ovn-pki.cfg"
        self.scratch = root / "scratch"
        self.scratch.mkdir()
        self.chassis = ["rack1", "h1"]
        self.machine: Object = {}
        self.log = root / "used.log"
        self.stand_ins()

    def stand_ins(self) -> None:
        """For sudo and Python on h1: they note that they were used, and a host without sudo can run these tests."""
        for name, content in (("python", PYTHON), ("sudo", SUDO)):
            (self.root / name).write_text(content.format(log=self.log, python=sys.executable))
            (self.root / name).chmod(0o755)
        self.machine = {"ansible_become_exe": str(self.root / "sudo"), "ansible_become_flags": ""}

    def run(self, *arguments: str, playbook: str = PLAYBOOK, **variables: t.Any) -> tuple[int, str]:
        def cluster(host: str) -> Object:
            return {
                "ovn_backend": "kubernetes",
                "ovn_kubeconfig": self.server.kubeconfig,
                "ovn_namespace": self.namespaces[host],
            }

        hosts = {host: cluster(host) if host in PLACES else self.machine for host in self.chassis}
        _playbooks.write_inventory(
            self.root / "hosts.yml",
            {"ovn_central": {"hosts": {"plane": cluster("plane")}}, "ovn_hypervisors": {"hosts": hosts}},
            ansible_pipelining=True,
            ansible_remote_tmp=str(self.scratch / "remote"),
            ovn_pki_directory=f"{self.root}/{{{{ inventory_hostname }}}}",
            ovn_address="127.0.0.1",
            ovn_pki_ca_directory_is_kept=True,
            ovn_node_certificates="shared",
        )
        (self.root / "playbook.yml").write_text(playbook)
        scratch = self.scratch
        env = _playbooks.environment(scratch / "local", ANSIBLE_BECOME_ALLOW_SAME_USER="1", TMPDIR=str(scratch))
        given = ["-i", "hosts.yml", "playbook.yml", "-e", json.dumps(variables), *arguments]
        done = _playbooks.run(given, env, cwd=self.root, timeout=600)
        output = done.stdout + done.stderr
        assert "Traceback" not in output
        assert "PRIVATE KEY" not in output
        assert base64.b64encode(b"-----BEGIN PRIVATE KEY").decode()[:20] not in output
        return done.returncode, re.sub(r"\s+", " ", output)

    def apply(self, *arguments: str, **variables: t.Any) -> dict[str, int]:
        """How many tasks changed something, by host."""
        code, output = self.run(*arguments, **variables)
        assert code == 0, output
        return {host: int(count) for host, count in re.findall(r"(\S+) : ok=\d+ changed=(\d+)", output)}

    def refuse(self, *arguments: str, **variables: t.Any) -> str:
        before = self.versions()
        code, output = self.run(*arguments, **variables)
        assert code != 0, output
        assert self.versions() == before
        return output

    def secret(self, host: str) -> Object | None:
        path = f"/api/v1/namespaces/{self.namespaces[host]}/secrets/ovn-tls"
        try:
            return t.cast("Object", json.loads(self.server.request("GET", path)))
        except urllib.error.HTTPError as e:
            if e.code != 404:
                raise
            return None

    def write_secret(self, host: str, data: dict[str, str]) -> None:
        namespace = self.namespaces[host]
        if self.secret(host) is not None:
            self.server.request("DELETE", f"/api/v1/namespaces/{namespace}/secrets/ovn-tls")
        body = {"metadata": {"name": "ovn-tls"}, "data": data}
        self.server.request("POST", f"/api/v1/namespaces/{namespace}/secrets", body)

    def create_pod(self, database: Database) -> t.Callable[[str], object]:
        """Create a pod of this database that mounts the Secret, pending, and return what sets its phase."""
        place = f"/api/v1/namespaces/{self.namespaces['plane']}/pods"
        restricted = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        mounts = [{"name": "tls", "mountPath": "/tls"}]
        container = {"name": "database", "image": "ovn", "volumeMounts": mounts, "securityContext": restricted}
        volume = {"name": "tls", "secret": {"secretName": "ovn-tls"}}
        spec = {"containers": [container], "volumes": [volume], "automountServiceAccountToken": False}
        name = member_name("ovn", database, 0)
        self.server.request(
            "POST", place, {"metadata": {"name": name, "labels": labels("ovn", database)}, "spec": spec}
        )
        return lambda phase: self.server.request("PATCH", f"{place}/{name}/status", {"status": {"phase": phase}})

    def versions(self) -> dict[str, str]:
        secrets = {host: self.secret(host) for host in PLACES}
        return {host: secret["metadata"]["resourceVersion"] for host, secret in secrets.items() if secret}

    def contents(self, host: str) -> dict[str, bytes]:
        secret = self.secret(host)
        assert secret is not None
        assert secret["type"] == "kubernetes.io/tls"
        return {key: base64.b64decode(value) for key, value in secret["data"].items()}

    def certificate(self, host: str) -> x509.Certificate:
        """After checks that hold always."""
        contents = self.contents(host)
        certificate = x509.load_pem_x509_certificate(contents["tls.crt"])
        key = serialization.load_pem_private_key(contents["tls.key"], None)
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        assert key.public_key().public_bytes(*form) == certificate.public_key().public_bytes(*form)
        return certificate

    def bundle(self, host: str) -> list[x509.Certificate]:
        return certificates_in(self.contents(host)["ca.crt"])

    def authority(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.ca / "ca.pem").read_bytes())

    def signer(self, host: str) -> x509.Certificate:
        """Return the CA of the certificate of this cluster."""
        name = "ca" if host == "plane" else "chassis-ca"
        return x509.load_pem_x509_certificate((self.ca / f"{name}.pem").read_bytes())

    def write_files(self, host: str, folder: pathlib.Path) -> None:
        """Write what the Secret of a cluster has as a pod shows it."""
        folder.mkdir()
        for key, content in self.contents(host).items():
            (folder / key).write_bytes(content)


@pytest.fixture
def site(api_server: ApiServer, tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path, api_server, f"pki-{os.getpid()}-{abs(hash(str(tmp_path))) % 10**6}")


def check_what_the_key_of_a_node_opens(site: Site, short_dir: pathlib.Path) -> None:
    """With servers that have the files of members and relays: members refuse it, and nobody takes it for a server."""
    declared = cluster_spec(CentralClusterOptions(), has_client_bundle=True)
    spec = parse_spec(declared, name="ovn", namespace=site.namespaces["plane"])
    for host in PLACES:
        site.write_files(host, short_dir / host)
        for name, key in (("node-key.pem", "tls.key"), ("node-cert.pem", "tls.crt"), ("ca.pem", "ca.crt")):
            (short_dir / host / name).symlink_to(key)
    address, servers = next_address(), []

    def serve(database: Database, name: str, host: str, port: int, *, relay: bool = False) -> None:
        paths = relay_tls_files(spec) if relay else tls_files(enabled=True)
        files = [str(short_dir / host / str(path).removeprefix(f"{TLS}/")) for path in paths]
        servers.append(start_tls_server(short_dir / f"{name}.db", SCHEMAS[database[0] + "b"], files, address, port))

    try:
        for database in DATABASES:
            serve(database, database, "plane", PORTS[database].unrestricted)
            assert refusal(short_dir / "plane", "node", address, PORTS[database].unrestricted) == ""
        serve("southbound", "relay", "plane", PORTS["southbound"].client, relay=True)
        for tls, pair in ((short_dir / "rack1", "node"), (site.root / "h1", "chassis")):
            for database in DATABASES:
                assert "UNKNOWN_CA" in refusal(tls, pair, address, PORTS[database].unrestricted)
            assert refusal(tls, pair, address, PORTS["southbound"].client) == ""
        shutil.copy(short_dir / "plane" / "client-ca.crt", short_dir / "rack1")
        serve("southbound", "false", "rack1", 6700, relay=True)
        for bundle in ("ca.crt", "client-ca.crt"):
            words = ["-p", "tls.key", "-c", "tls.crt", "-C", bundle, "list-dbs", f"ssl:{address}:6700"]
            command = ["ovsdb-client", "-t", "5", *words]
            answer = subprocess.run(command, cwd=short_dir / "plane", capture_output=True, text=True, check=False)
            assert "certificate verify failed" in answer.stderr
    finally:
        for server in servers:
            server.kill()


def test_first_run_then_the_same_again(daemons: None, site: Site, short_dir: pathlib.Path) -> None:
    predicted = site.apply("--check", "--diff")
    assert all(predicted[host] > 0 for host in ("plane", "rack1", "h1"))
    assert site.versions() == {}
    assert not site.ca.exists()

    site.apply()
    for host in PLACES:
        certificate = site.certificate(host)
        assert certificate.subject.rfc4514_string() == f"CN={host}"
        assert is_signed(certificate, site.signer(host))
        assert site.bundle(host) == [site.authority()]
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        server = {ExtendedKeyUsageOID.SERVER_AUTH} if host == "plane" else set()
        assert set(usage) == {ExtendedKeyUsageOID.CLIENT_AUTH, *server}
        assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert certificates_in(site.contents("plane")["client-ca.crt"]) == [site.authority(), site.signer("rack1")]
    assert "client-ca.crt" not in site.contents("rack1")
    names = site.certificate("plane").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    namespace = site.namespaces["plane"]
    assert {f"*.ovn-northbound.{namespace}.svc.cluster.local", f"ovn-sb.{namespace}.svc"} <= set(
        names.get_values_for_type(x509.DNSName)
    )
    # The daemons of hypervisors need the network and folders of their node.
    namespace_object = json.loads(site.server.request("GET", f"/api/v1/namespaces/{site.namespaces['rack1']}"))
    assert namespace_object["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"

    check_what_the_key_of_a_node_opens(site, short_dir)

    before = site.versions()
    assert set(site.apply().values()) == {0}
    assert set(site.apply("--check", "--diff").values()) == {0}
    assert site.versions() == before

    # In time, and key and certificate together.
    serials = {host: site.certificate(host).serial_number for host in PLACES}
    options = {"ovn_pki_renew_before_days": 366, "ovn_pki_validity_days": 730}
    assert site.apply("--check", "--limit", "rack1", **options)["rack1"] > 0
    assert site.versions() == before
    site.apply("--limit", "rack1", **options)
    assert site.certificate("rack1").serial_number != serials["rack1"]
    assert site.certificate("plane").serial_number == serials["plane"]

    # Without the CA nobody makes a second one.
    shutil.move(site.ca, site.root / "elsewhere")
    message = site.refuse("--limit", "h1")
    assert "plane" in message
    assert "A second CA would cut their connections" in message


def test_clients_have_secrets_too(site: Site) -> None:
    """The control plane's CA signs them, that of the chassis one with their access; a second run changes nothing."""
    agent = {"name": "metadata", "common_name": "h1", "access": "chassis"}
    clients = {"ovn_pki_clients": ["neutron", agent]}
    site.apply("--check", "--limit", "plane", **clients)
    assert not site.ca.exists()
    site.apply("--limit", "plane", **clients)
    path = f"/api/v1/namespaces/{site.namespaces['plane']}/secrets/ovn-client-neutron"
    secret = json.loads(site.server.request("GET", path))
    assert secret["type"] == "kubernetes.io/tls"
    data = {key: base64.b64decode(value) for key, value in secret["data"].items()}
    certificate = x509.load_pem_x509_certificate(data["tls.crt"])
    assert certificate.subject.rfc4514_string() == "CN=neutron"
    assert is_signed(certificate, site.authority())
    assert certificates_in(data["ca.crt"]) == [site.authority()]
    assert data["tls.key"] == (site.ca / "clients" / "neutron-key.pem").read_bytes()
    of_agent = json.loads(site.server.request("GET", path.replace("neutron", "metadata")))["data"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(of_agent["tls.crt"]))
    assert is_signed(certificate, site.signer("rack1"))
    assert certificates_in(base64.b64decode(of_agent["ca.crt"])) == [site.authority()]
    assert set(site.apply("--limit", "plane", **clients).values()) == {0}
    assert (
        json.loads(site.server.request("GET", path))["metadata"]["resourceVersion"]
        == secret["metadata"]["resourceVersion"]
    )


@pytest.mark.rotations
def test_a_new_ca_reaches_clusters_in_the_same_three_steps(site: Site) -> None:
    """A phase is refused while a cluster, a machine or a pod is not ready for it; machines are looked at as root and with their own Python."""
    site.machine["ansible_python_interpreter"] = str(site.root / "python")
    site.apply()
    former, former_signer = site.authority(), site.signer("rack1")
    before = {host: site.certificate(host).serial_number for host in PLACES}

    site.apply("--limit", "plane,h1", ovn_pki_ca_rotation="prepare")
    site.log.unlink(missing_ok=True)
    assert "rack1 do not trust the new CA yet" in site.refuse("--limit", "plane,rack1", ovn_pki_ca_rotation="switch")
    assert set(site.log.read_text().split()) == {"python", "root"}

    site.apply(ovn_pki_ca_rotation="prepare")
    assert {host: site.certificate(host).serial_number for host in PLACES} == before
    # The Secret has the bundle. Nobody runs pods here, so this one never shows that it does.
    set_phase = site.create_pod("northbound")
    set_phase("Running")
    output = site.refuse("--limit", "plane,h1", ovn_pki_ca_rotation="switch", _ovn_pki_pod_retries=1)
    assert f"{site.namespaces['plane']}/ovn-northbound-0 did not show the CA bundle" in output
    set_phase("Succeeded")
    # As before the first c5c3.ovn.central that gives members the CAs of chassis.
    set_phase = site.create_pod("southbound")
    output = site.refuse("--limit", "plane,h1", ovn_pki_ca_rotation="switch")
    assert f"Pod {site.namespaces['plane']}/ovn-southbound-0 would refuse certificates of the chassis CA" in output
    assert site.authority() == former
    set_phase("Succeeded")
    site.apply("--limit", "plane,h1", ovn_pki_ca_rotation="switch")
    site.log.unlink(missing_ok=True)
    output = site.refuse("--limit", "plane,rack1", ovn_pki_ca_rotation="finish")
    assert "rack1 still use certificates of the former CA" in output
    assert set(site.log.read_text().split()) == {"python", "root"}

    site.apply(ovn_pki_ca_rotation="switch")
    for host in PLACES:
        assert is_signed(site.certificate(host), site.signer(host))
        assert former in site.bundle(host)
    clients = certificates_in(site.contents("plane")["client-ca.crt"])
    assert {former, former_signer, site.authority(), site.signer("rack1")} == set(clients)
    site.apply(ovn_pki_ca_rotation="finish")
    assert all(site.bundle(host) == [site.authority()] for host in PLACES)
    assert certificates_in(site.contents("plane")["client-ca.crt"]) == [site.authority(), site.signer("rack1")]
    assert set(site.apply().values()) == {0}


def test_nodes_that_cannot_read_the_secret_get_its_cas_in_each_phase(site: Site) -> None:
    own = {"ovn_node_certificates": "own", "ovn_pki_rotate": "central"}
    namespaced = f"/api/v1/namespaces/{site.namespaces['rack1']}"

    def shown() -> bytes:
        found = json.loads(site.server.request("GET", f"{namespaced}/configmaps/ovn-chassis-ca"))
        return str(found["data"]["ca.crt"]).encode()

    site.apply(**own)
    assert shown() == site.contents("rack1")["ca.crt"]
    assert set(site.apply(**own).values()) == {0}

    site.apply(**own, ovn_pki_ca_rotation="prepare")
    assert len(certificates_in(shown())) == 2
    # Nobody runs pods here, so this one never shows that it has them.
    volume = {"name": "tls", "configMap": {"name": "ovn-chassis-ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    container = {"name": "ovn-controller", "image": "ovn", "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}
    pod = {"metadata": {"name": "node"}, "spec": {"containers": [container], "volumes": [volume]}}
    site.server.request("POST", f"{namespaced}/pods", pod)
    site.server.request("PATCH", f"{namespaced}/pods/node/status", {"status": {"phase": "Running"}})
    output = site.refuse(**own, ovn_pki_ca_rotation="switch", _ovn_pki_pod_retries=1)
    assert f"{site.namespaces['rack1']}/node did not show the CA bundle" in output


def test_control_plane_and_hypervisors_in_one_namespace_share_a_certificate(site: Site) -> None:
    site.namespaces["rack1"] = site.namespaces["plane"]
    assert "run c5c3.ovn.central first" in site.refuse("--limit", "rack1")
    site.apply("--check", "--diff")
    site.apply()
    certificate = site.certificate("plane")
    assert certificate.subject.rfc4514_string() == "CN=plane"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert f"ovn-sb.{site.namespaces['plane']}.svc" in names.get_values_for_type(x509.DNSName)
    namespace = json.loads(site.server.request("GET", f"/api/v1/namespaces/{site.namespaces['plane']}"))
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    before = site.versions()
    assert set(site.apply("--check", "--diff").values()) == {0}
    assert set(site.apply().values()) == {0}
    assert site.versions() == before
    # One host can be both.
    site.chassis = ["plane", "h1"]
    assert set(site.apply().values()) == {0}


def test_two_hypervisor_clusters_in_one_namespace_are_refused(site: Site) -> None:
    site.chassis = ["plane", "rack1", "h1"]
    site.namespaces["rack1"] = site.namespaces["plane"]
    message = site.refuse("--limit", "rack1")
    assert f"rack1 and plane are namespace {site.namespaces['plane']} of the same cluster" in message


def test_a_secret_that_cannot_be_written_tells_why(site: Site) -> None:
    site.apply("--limit", "plane")
    site.write_secret("plane", {})  # of the type Opaque, by another manager
    message = site.refuse("--limit", "plane")
    assert f"Secret {site.namespaces['plane']}/ovn-tls of plane could not be written" in message
    assert "another field manager owns fields of the desired object" in message
    assert "set .type" in message


def test_a_given_secret_is_checked_and_never_touched(site: Site) -> None:
    site.apply("--limit", "plane")
    good = {key: base64.b64encode(value).decode() for key, value in site.contents("plane").items()}
    given = {"ovn_pki_kubernetes_secret_given": True}

    for data, words in (
        ({key: value for key, value in good.items() if key != "ca.crt"}, "lacks ca.crt"),
        (good | {"tls.key": base64.b64encode(b"nonsense").decode()}, "does not belong to its key"),
    ):
        site.write_secret("plane", data)
        assert words in site.refuse("--limit", "plane", **given)
    site.server.request("DELETE", f"/api/v1/namespaces/{site.namespaces['plane']}/secrets/ovn-tls")
    assert "There is no Secret" in site.refuse("--limit", "plane", **given)

    # Where pods have the CAs from a ConfigMap, nobody needs those of the Secret.
    site.write_secret("plane", {key: value for key, value in good.items() if key != "ca.crt"})
    elsewhere = {"tls": {"certSecretRef": {"name": "ovn-tls"}, "caConfigMapRef": {"name": "trusted"}}}
    assert site.apply("--limit", "plane", ovn_cluster_spec=elsewhere) == {"plane": 0}

    site.write_secret("plane", good)
    before = site.versions()
    assert site.apply("--limit", "plane", **given) == {"plane": 0}
    named = {"tls": {"certSecretRef": {"name": "ovn-tls"}}}
    assert site.apply("--limit", "plane", ovn_cluster_spec=named, ovn_pki_renew_before_days=364) == {"plane": 0}
    assert site.versions() == before


def test_cas_that_this_role_does_not_know_are_refused(site: Site) -> None:
    """Pods would trust a ConfigMap, and their certificates would be of the CA on the control node."""
    bundle = {"tls": {"caConfigMapRef": {"name": "trusted"}}}
    assert "plane has tls.caConfigMapRef (trusted)" in site.refuse("--limit", "plane", ovn_cluster_spec=bundle)
    assert not site.ca.exists()


def test_a_cluster_that_cannot_be_asked_is_named(site: Site) -> None:
    site.apply("--limit", "plane")
    wrong = site.server.expired_kubeconfig
    message = site.refuse("--limit", "plane", ovn_kubeconfig=wrong)
    assert f"Secret {site.namespaces['plane']}/ovn-tls cannot be read with kubeconfig {wrong}" in message
    assert "does not accept the credentials" in message
    assert "(401)" in message
