"""A real API server on loopback: kube-apiserver and etcd in a folder of their own, without nodes and controllers.

Ready in seconds. Both end with the test, at the latest with the test process.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import sys
import tempfile
import typing as t
import urllib.request

import pytest
from _launcher_lib import reserve
from conftest import Daemon, Pki, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import converge
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

BINARIES = ("kube-apiserver", "etcd")
ADMIN_TOKEN, LOW_TOKEN = "token-of-the-admin", "token-of-somebody"


def testbed_cache() -> pathlib.Path:
    """Where the test bed keeps what it has built."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("TESTBED_CACHE") or os.path.join(cache, "c5c3-ovn-testbed"))


def folder_of_binaries() -> pathlib.Path | None:
    """Where kube-apiserver and etcd lie: $KUBEBUILDER_ASSETS or the cache of the test bed."""
    for folder in (os.environ.get("KUBEBUILDER_ASSETS"), testbed_cache() / "bin"):
        if folder and all(os.access(os.path.join(folder, name), os.X_OK) for name in BINARIES):
            return pathlib.Path(folder)
    return None


def require_binaries() -> pathlib.Path:
    """Where there are none: an error if C5C3_OVN_REQUIRE_ALL=1 (continuous integration), otherwise a loud skip."""
    folder = folder_of_binaries()
    if folder is None:
        command = "tests/testbed/node-image/build api-server"
        reason = f"kube-apiserver and etcd missing: {command} makes them, or set KUBEBUILDER_ASSETS"
        skip_loudly("a real API server", reason)
    return folder


def skip_loudly(what: str, reason: str) -> t.NoReturn:
    """An error if C5C3_OVN_REQUIRE_ALL=1 (continuous integration), otherwise a skip that nobody overlooks."""
    if os.environ.get("C5C3_OVN_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason}; C5C3_OVN_REQUIRE_ALL=1 allows no skip")
    sys.__stderr__.write(f"\nNOT TESTED against {what}: {reason}\n")
    pytest.skip(f"NOT TESTED against {what}: {reason}")


def free_ports(count: int) -> list[int]:
    """Free ports outside of the range from which the kernel gives ports to clients: nobody takes them before the server starts."""
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            port = random.randrange(15_000, 32_000)
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                if reserve(f"port-{port}"):
                    ports.append(port)
        return ports


class ApiServer:
    """`start()`, then `kubeconfig` (may do everything), `low_kubeconfig` (reads ConfigMaps), `expired_kubeconfig` (a wrong token)."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self._binaries = require_binaries()
        directory.mkdir(parents=True, exist_ok=True)
        self._pki = Pki(directory / "pki", "apiserver")
        self._etcd_port, self._peer_port, port = free_ports(3)
        self.url = f"https://127.0.0.1:{port}"
        self._port = port
        self.etcd: Daemon | None = None
        self.apiserver: Daemon | None = None
        self.ca_certificate = self._pki.ca_certificate
        self.kubeconfig = self._write_kubeconfig("admin", ADMIN_TOKEN)
        self.low_kubeconfig = self._write_kubeconfig("low", LOW_TOKEN)
        self.expired_kubeconfig = self._write_kubeconfig("expired", "token-that-nobody-knows")

    def _write_kubeconfig(self, name: str, token: str) -> str:
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "test", "cluster": {"server": self.url, "certificate-authority": self.ca_certificate}}
            ],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": "test", "user": name}}],
            "current-context": name,
        }
        path = self.directory / f"{name}.kubeconfig"
        path.write_text(json.dumps(content))
        return str(path)

    def start(self) -> None:
        self._start_etcd()
        self._start_apiserver()
        self._let_somebody_read()

    def _start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        self.etcd = Daemon(
            [
                str(self._binaries / "etcd"),
                f"--data-dir={self.directory / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
            self.directory / "etcd.log",
        )

    def _start_apiserver(self) -> None:
        serving = self._pki.issue("kube-apiserver", addresses=["127.0.0.1"])
        accounts = self._pki.issue("service-accounts")
        tokens = self.directory / "tokens.csv"
        tokens.write_text(f'{ADMIN_TOKEN},admin,1,"system:masters"\n{LOW_TOKEN},somebody,2\n')
        self.apiserver = Daemon(
            [
                str(self._binaries / "kube-apiserver"),
                f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
                f"--secure-port={self._port}",
                f"--tls-cert-file={serving.certificate}",
                f"--tls-private-key-file={serving.private_key}",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--allow-privileged",  # as kubeadm, kind and OpenShift do
                f"--service-account-issuer={self.url}",
                f"--service-account-key-file={accounts.certificate}",
                f"--service-account-signing-key-file={accounts.private_key}",
                f"--token-auth-file={tokens}",
                # As everywhere: what kubelets may read is decided by the pods of their node.
                "--authorization-mode=Node,RBAC",
                # As on OpenShift: who makes an object that blocks the deletion of its owner needs a right on the owner.
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
                # Nobody makes the tokens and accounts that it would wait for.
                "--disable-admission-plugins=ServiceAccount",
            ],
            self.directory / "apiserver.log",
        )
        until(lambda: not self._running() or self._ready(), "a ready API server", timeout=90)
        if not self._running():
            logs = [self.directory / f"{name}.log" for name in ("etcd", "apiserver")]
            pytest.fail("The API server did not start: " + "".join(log.read_text()[-1500:] for log in logs))

    def _running(self) -> bool:
        return all(daemon is not None and daemon.running for daemon in (self.etcd, self.apiserver))

    def _ready(self) -> bool:
        try:
            return self.request("GET", "/readyz") == b"ok"
        except OSError:
            return False

    def request(self, method: str, path: str, body: t.Any = None) -> bytes:
        """What the administrator gets from the API, without any of our code. The method APPLY is a PATCH that applies."""
        kinds = {"PATCH": "application/merge-patch+json", "APPLY": "application/apply-patch+yaml"}
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {ADMIN_TOKEN}",
                "Content-Type": kinds.get(method, "application/json"),
            },
            method="PATCH" if method == "APPLY" else method,
        )
        context = ssl.create_default_context(cafile=self.ca_certificate)
        with urllib.request.urlopen(request, timeout=within(20), context=context) as response:
            return t.cast(bytes, response.read())

    def _let_somebody_read(self) -> None:
        roles = "/apis/rbac.authorization.k8s.io/v1"
        group = "rbac.authorization.k8s.io"
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
        self.request("POST", f"{roles}/clusterroles", {"metadata": {"name": "readers"}, "rules": rules})
        binding = {
            "metadata": {"name": "somebody-reads"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "readers"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "somebody"}],
        }
        self.request("POST", f"{roles}/clusterrolebindings", binding)

    def new_namespace(self, name: str) -> str:
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def define(self) -> None:
        """Apply our custom resources, and wait until they are served: their paths come a moment later."""
        converge(Cluster({"kubeconfig": self.kubeconfig}), custom_resource_definitions(), {}, check_mode=False)

        def served() -> bool:
            with contextlib.suppress(OSError):
                for kind in ("ovnclusters", "ovnchassis"):
                    self.request("GET", f"/apis/{API_VERSION}/{kind}")
                return True
            return False

        until(served, "the API server to serve OVNClusters and OVNChassis")

    def freeze(self) -> None:
        """SIGSTOP: it still accepts connections and never answers."""
        assert self.apiserver is not None
        self.apiserver.signal(signal.SIGSTOP)
        # A thread that has a processor stops later than the signal is sent, and may answer a connection before.
        tasks = pathlib.Path(f"/proc/{self.apiserver.pid}/task")
        until(lambda: {one.read_text().rpartition(") ")[2][0] for one in tasks.glob("*/stat")} == {"T"}, "it to stop")

    def thaw(self) -> None:
        assert self.apiserver is not None
        self.apiserver.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Only the API server: its content stays."""
        if self.apiserver is not None:
            self.apiserver.kill()

    def restart(self) -> None:
        self._start_apiserver()

    def stop(self) -> None:
        for daemon in (self.apiserver, self.etcd):
            if daemon is not None:
                daemon.kill()


@contextlib.contextmanager
def running_server() -> t.Iterator[ApiServer]:
    with tempfile.TemporaryDirectory(prefix="c5c3-api-", ignore_cleanup_errors=True) as name:
        server = ApiServer(pathlib.Path(name))
        with contextlib.ExitStack() as stack:
            stack.callback(server.stop)
            server.start()
            yield server
