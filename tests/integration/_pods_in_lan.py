"""Members and relays of a control plane in pods, each in a network of its own, with TLS: what a kubelet would run of the templates on a real API server."""

from __future__ import annotations

import base64
import contextlib
import functools
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
from conftest import Daemon, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import PORTS, STEMS
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.relay_command import SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.rollout_progress import CONTAINER, RELAY

Object = dict[str, t.Any]
HYPERVISOR, NORTHD = "hypervisor", "northd"
# Something else than a relay that has the port of chassis.
OCCUPY = "import signal, socket\ns = socket.socket(socket.AF_INET6)\ns.bind(('::', 6642))\ns.listen()\nsignal.pause()\n"


class KubeletInLan(Kubelet):
    """Its Secret has the files of `central`; `client-ca.crt` has those of `chassis` besides. `relays` are the processes by pod.

    With `northd_starts` it also replaces the pod of northd, as the controller of Deployments does: the old one ends when the new one is ready.
    """

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        sizes: t.Mapping[str, int],
        authorities: tuple[Pki, Pki],
        directory: pathlib.Path,
    ) -> None:
        names = [f"ovn-{database}-{index}" for database, size in sizes.items() for index in range(size)]
        self.lan = Lan(*names, HYPERVISOR, NORTHD)
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
        self.occupies_port = False  # somebody else has the port of chassis in pods that start now
        self.occupants: dict[str, Daemon] = {}
        self.northd_starts = False
        self.northds: dict[str, Daemon] = {}  # by pod
        self.northd_template: Object | None = None  # that the last pod was made of
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
            ("/run/ovn/", f"{self.root / pod}/"),
            ("/listeners/", f"{self.root}/listeners-{pod}/"),
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

    def start_sidecar(self, pod: str, container: Object) -> Object:
        (self.root / f"relay-{pod}").mkdir(exist_ok=True)
        self.mount_listeners(pod)
        if self.occupies_port:
            words = [*self.lan.enter(pod), "python3", "-c", OCCUPY]
            self.occupants[pod] = Daemon(words, self.root / f"occupant-{pod}.log")
            until(lambda: self.lan.run(pod, "ss", "-Hltn", "sport", "=", ":6642"), "the port is taken")
        environment = self.environment(pod, container)
        words = [self.translate(pod, word) for word in container["command"]]
        settings = [f"{name}={value}" for name, value in environment.items()]
        self.relays[pod] = Daemon([*self.lan.enter(pod), "env", *settings, *words], self.root / f"relay-{pod}.log")
        until(lambda: self.probe(pod, container, "startupProbe"), f"the relay of {pod}")
        known = {"name": container["name"], "restartCount": 0, "image": "", "imageID": ""}
        return {**known, "ready": True, "started": True, "state": {"running": {}}}

    def probe(self, pod: str, container: Object, probe: str) -> bool:
        words = [self.translate(pod, word) for word in container[probe]["exec"]["command"]]
        environment = os.environ | self.environment(pod, container)
        host = NORTHD if pod in self.northds else pod
        done = subprocess.run([*self.lan.enter(host), *words], env=environment, capture_output=True, check=False)
        return done.returncode == 0

    def mount(self, pod: str) -> None:
        super().mount(pod)
        if pod in self.relays:
            self.mount_listeners(pod)

    def mount_listeners(self, pod: str) -> None:
        directory = self.root / f"listeners-{pod}"
        directory.mkdir(exist_ok=True)
        for key, value in self._data("ovn-relay").items():
            new = directory / f".{key}"
            new.write_text(value)
            new.rename(directory / key)

    def exec(self, pod: str, command: t.Sequence[str], timeout: float, container: str = CONTAINER) -> ExecResult:
        if container != RELAY:
            return super().exec(pod, command, timeout, container)
        template = self.sets[pod.rpartition("-")[0]]["spec"]["template"]["spec"]["initContainers"][0]
        words = [*self.lan.enter(pod), *(self.translate(pod, word) for word in command)]
        environment = os.environ | self.environment(pod, template)
        try:
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=timeout)
        except subprocess.TimeoutExpired as e:
            raise TimedOut(f"Pod {pod}: {e}") from e
        return ExecResult(done.returncode, done.stdout, done.stderr)

    # northd -------------------------------------------------------------------------------------------------------------
    def deployed(self, deployment: Object) -> None:
        template = deployment["spec"]["template"]
        if deployment["metadata"]["name"] == "ovn-northd" and template != self.northd_template:
            self.northd_template = template
            self.run_northd()

    def run_northd(self) -> None:
        """Make a pod of the template; with `northd_starts` northd runs there, and the pods of before end when it is ready."""
        template, olds = t.cast("Object", self.northd_template), list(self.northds)
        pod = f"ovn-northd-{time.monotonic_ns()}"
        (container,) = (one for one in template["spec"]["containers"] if one["name"] == "northd")
        shown = {"name": "northd", "image": "ovn", "command": container["command"]}
        manifest = {
            "metadata": {"name": pod, "labels": template["metadata"]["labels"]},
            "spec": {"containers": [shown]},
        }
        self.server.request("POST", self._path("pods"), manifest)
        if not self.northd_starts:
            return
        (self.root / pod).mkdir()
        words = [self.translate(pod, word) for word in container["command"]]
        self.northds[pod] = Daemon([*self.lan.enter(NORTHD), *words], self.root / f"{pod}.log")
        threading.Thread(target=self._replace_northd, args=(pod, container, olds), daemon=True).start()

    def _replace_northd(self, pod: str, container: Object, olds: list[str]) -> None:
        is_ready = functools.partial(self.probe, pod, container, "readinessProbe")
        until(lambda: pod not in self.northds or is_ready(), f"{pod} to be ready", 120)
        if pod not in self.northds:
            return
        ready = {"type": "Ready", "status": "True"}
        with contextlib.suppress(OSError):  # the test is over
            self.server.request("PATCH", self._path("pods", f"{pod}/status"), {"status": {"conditions": [ready]}})
        for old in olds:
            self.end_northd(old)

    def end_northd(self, pod: str) -> None:
        with contextlib.suppress(OSError):
            self.server.request("DELETE", self._path("pods", pod), {"gracePeriodSeconds": 0})
        process = self.northds.pop(pod, None)
        if process is not None:
            process.kill()

    def is_northd_active(self) -> bool:
        """Whether one of the northds has the lock, and both databases."""
        return any(self._northd_says(pod, "status") == "Status: active" for pod in list(self.northds))

    def _northd_says(self, pod: str, question: str) -> str:
        words = ["ovn-appctl", "-T", "5", "-t", str(self.root / pod / "ovn-northd.ctl"), question]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    # ---------------------------------------------------------------------------------------------------------------------
    def ended(self, pod: str, *, gracefully: bool = True) -> None:
        self.on_end(pod)
        super().ended(pod, gracefully=gracefully)

    def stop_sidecars(self, pod: str) -> None:
        relay = self.relays.pop(pod, None)
        if relay is not None:
            relay.signal(signal.SIGTERM)
            relay.wait()
        self.free_port(pod)

    def free_port(self, pod: str) -> None:
        occupant = self.occupants.pop(pod, None)
        if occupant is not None:
            occupant.kill()

    def close(self) -> None:
        for pod in list(self.northds):
            self.end_northd(pod)
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
        return subprocess.run(words, capture_output=True, text=True, timeout=within(timeout), check=False)

    def sbctl(self, pod: str, *arguments: str) -> str:
        """Run a client of the member's socket, in its pod."""
        member = self.members[pod]
        socket = member.run_dir / f"{STEMS['southbound']}.sock"
        words = ["ovn-sbctl", "--no-leader-only", f"--db=unix:{socket}", "--timeout=20", *arguments]
        return subprocess.run(words, capture_output=True, text=True, timeout=within(30), check=True).stdout

    def secret(self) -> Object:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in self.files.items()}
        return {"metadata": {"name": "ovn-tls"}, "type": "kubernetes.io/tls", "data": data}

    def model(self, pod: str, pair: TlsPaths) -> str:
        """Return what serves the port of chassis in a pod: clustered (a member) or relay; empty if nobody does."""
        where = [["name", "==", "OVN_Southbound"]]
        query = json.dumps(["_Server", {"op": "select", "table": "Database", "where": where, "columns": ["model"]}])
        answer = self.ask(pair, "ovsdb-client", "-t", "5", "query", f"ssl:{self.lan.ipv4(pod)}:6642", query)
        return str(json.loads(answer.stdout)[0]["rows"][0]["model"]) if answer.returncode == 0 else ""
