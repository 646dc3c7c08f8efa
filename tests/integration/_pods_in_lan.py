"""Members and relays of a control plane in pods, each in a network of its own, with TLS: what a kubelet would run of the templates on a real API server."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import typing as t

from _apiserver import ApiServer
from _lan import Lan
from _launcher_lib import Member
from _pki import Pki, TlsPaths
from _pods_on_api import Kubelet
from conftest import Daemon, until

from ansible_collections.c5c3.ovn.plugins.module_utils._databases import PORTS, STEMS
from ansible_collections.c5c3.ovn.plugins.module_utils._launchers.relay import SCRIPT

Object = dict[str, t.Any]
HYPERVISOR = "hypervisor"


class KubeletInLan(Kubelet):
    """Its Secret has the files of `central`; `client-ca.crt` has those of `chassis` besides. `relays` are the processes by pod."""

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        sizes: t.Mapping[str, int],
        authorities: tuple[Pki, Pki],
        directory: pathlib.Path,
    ) -> None:
        names = [f"ovn-{database}-{index}" for database, size in sizes.items() for index in range(size)]
        self.lan = Lan(*names, HYPERVISOR)
        central, chassis = authorities
        self.pair = central.issue("plane")
        self.tls = directory / "tls"
        self.tls.mkdir()
        texts = [pathlib.Path(one.ca_certificate).read_text() for one in (central, chassis)]
        self.files = {
            "tls.key": pathlib.Path(self.pair.private_key).read_text(),
            "tls.crt": pathlib.Path(self.pair.certificate).read_text(),
            "ca.crt": texts[0],
            "client-ca.crt": "".join(texts),
        }
        for name, text in self.files.items():
            (self.tls / name).write_text(text)
        self.relays: dict[str, Daemon] = {}
        self.is_deaf = False  # relays that start now never become ready
        self.on_end: t.Callable[[str], None] = lambda pod: None  # a pod is about to end
        super().__init__(server, namespace, sizes)
        (self.root / "ovn-relay-launcher").write_text(SCRIPT)

    def _member(self, database: str, index: int, network: str) -> Member:
        member = super()._member(database, index, network)
        host = self.lan.ipv4(member.id)
        ports = PORTS["northbound" if database == "northbound" else "southbound"]
        launcher = self.root / f"launch-{member.id}"
        launcher.write_text(
            f'#!/bin/sh\nexec {" ".join(self.lan.enter(member.id))} {self.root}/ovn-raft-launcher "$@"\n'
        )
        launcher.chmod(0o755)
        member.launcher = [str(launcher)]
        member.address, member.endpoint = f"ssl:{host}:{ports.raft}", f"ssl:{host}:{ports.unrestricted}"
        member.env.update(OVN_LOCAL_ADDRESS=member.address, OVN_EXTRA_OPTIONS="")
        return member

    def translate(self, pod: str, text: str) -> str:
        """Return a text of a template as it is on this host."""
        for name in self.members:
            text = text.replace(
                f"{name}.{name.rpartition('-')[0]}.{self.namespace}.svc.cluster.local", self.lan.ipv4(name)
            )
        for path, place in (
            ("/run/ovn-relay", self.root / f"relay-{pod}"),
            ("/scripts/", f"{self.root}/"),
            ("/tls/", f"{self.tls}/"),
        ):
            text = text.replace(path, str(place))
        return text

    def environment(self, pod: str, container: Object) -> dict[str, str]:
        found = {one["name"]: one["value"] for one in container.get("env") or () if "value" in one}
        return {name: self.translate(pod, value) for name, value in found.items()}

    def run(self, pod: str) -> None:
        template = self.sets[pod.rpartition("-")[0]]["spec"]["template"]["spec"]
        given = self.environment(pod, template["containers"][0])
        member = self.members[pod]
        member.env.update({name: given[name] for name in ("OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE")})
        super().run(pod)
        if pod in self.relays and not self.is_deaf:
            self.report_ready(pod)

    def report_ready(self, pod: str) -> None:
        """Write into the status of the pod that its relay is ready, as soon as it is."""
        template = self.sets[pod.rpartition("-")[0]]["spec"]["template"]["spec"]
        threading.Thread(target=self._report_ready, args=(pod, template["initContainers"][0]), daemon=True).start()

    def start_sidecar(self, pod: str, container: Object) -> Object:
        (self.root / f"relay-{pod}").mkdir(exist_ok=True)
        environment = self.environment(pod, container)
        words = [self.translate(pod, word) for word in container["command"]]
        settings = [f"{name}={value}" for name, value in environment.items()]
        self.relays[pod] = Daemon([*self.lan.enter(pod), "env", *settings, *words], self.root / f"relay-{pod}.log")
        until(lambda: self.probe(pod, container, "startupProbe"), f"the relay of {pod}")
        return self._status(container, ready=False)

    def probe(self, pod: str, container: Object, probe: str) -> bool:
        words = [self.translate(pod, word) for word in container[probe]["exec"]["command"]]
        environment = os.environ | self.environment(pod, container)
        done = subprocess.run([*self.lan.enter(pod), *words], env=environment, capture_output=True, check=False)
        return done.returncode == 0

    @staticmethod
    def _status(container: Object, *, ready: bool) -> Object:
        known = {"name": container["name"], "restartCount": 0, "image": "", "imageID": ""}
        return {**known, "ready": ready, "started": True, "state": {"running": {}}}

    def _report_ready(self, pod: str, container: Object) -> None:
        relay = self.relays.get(pod)
        while relay is not None and self.relays.get(pod) is relay:
            if self.probe(pod, container, "readinessProbe"):
                status = {"initContainerStatuses": [self._status(container, ready=True)]}
                place = self._path("pods", f"{pod}/status")
                self.server.request("PATCH", place, {"status": status})
                return
            time.sleep(0.3)

    def ended(self, pod: str, *, gracefully: bool = True) -> None:
        self.on_end(pod)
        super().ended(pod, gracefully=gracefully)

    def stop_sidecars(self, pod: str) -> None:
        relay = self.relays.pop(pod, None)
        if relay is not None:
            relay.signal(signal.SIGTERM)
            relay.wait()

    def close(self) -> None:
        for pod in list(self.relays):
            self.stop_sidecars(pod)  # the launcher ends its server; killed, it would leave it behind
        super().close()
        self.lan.close()

    # Clients -----------------------------------------------------------------------------------------------------------
    def chassis_endpoints(self) -> str:
        hosts = [self.lan.ipv4(name) for name in self.members if "southbound" in name]
        return ",".join(f"ssl:{host}:{PORTS['southbound'].client}" for host in hosts)

    def ask(self, pair: TlsPaths, *command: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a client on a hypervisor, which trusts the central CA."""
        keys = ["-p", pair.private_key, "-c", pair.certificate, "-C", str(self.tls / "ca.crt")]
        words = [*self.lan.enter(HYPERVISOR), command[0], *keys, *command[1:]]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)

    def sbctl(self, pod: str, *arguments: str) -> str:
        """Run a client of the member's socket, in its pod."""
        member = self.members[pod]
        socket = member.run_dir / f"{STEMS['southbound']}.sock"
        words = ["ovn-sbctl", "--no-leader-only", f"--db=unix:{socket}", "--timeout=20", *arguments]
        return subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout

    def secret(self) -> Object:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in self.files.items()}
        return {"metadata": {"name": "ovn-tls"}, "type": "kubernetes.io/tls", "data": data}

    def model(self, pod: str, pair: TlsPaths) -> str:
        """Return what serves the port of chassis in a pod: clustered (a member) or relay; empty if nobody does."""
        where = [["name", "==", "OVN_Southbound"]]
        query = json.dumps(["_Server", {"op": "select", "table": "Database", "where": where, "columns": ["model"]}])
        answer = self.ask(pair, "ovsdb-client", "-t", "5", "query", f"ssl:{self.lan.ipv4(pod)}:6642", query)
        return str(json.loads(answer.stdout)[0]["rows"][0]["model"]) if answer.returncode == 0 else ""
