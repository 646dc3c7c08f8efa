"""The processes of the operator on a real API server: one of them leads, another one goes on where it was killed, and both tell how they are."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import typing as t
import urllib.error
import urllib.request

import _control_plane
import pytest
from _apiserver import free_ports
from _control_plane import PLACES, WHOLE, ControlPlane
from _operated import Operated
from _waits import stays
from conftest import until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import lease_name

plane = _control_plane.plane  # a fixture

MODULE = "ansible_collections.c5c3.ovn.plugins.module_utils._operator.main"


class Process:
    """One process of the operator; `port` is that of its metrics."""

    def __init__(self, plane: ControlPlane, collection_path: str, log: pathlib.Path, *arguments: str) -> None:
        (self.port,) = free_ports(1)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("K8S_AUTH_", "KUBE"))}
        env |= {"KUBECONFIG": plane.server.kubeconfig, "PYTHONPATH": collection_path, "POD_NAMESPACE": plane.namespace}
        command = [
            sys.executable,
            "-m",
            MODULE,
            f"--namespace={plane.namespace}",
            f"--metrics-port={self.port}",
            *arguments,
        ]
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT)

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError:
            return 0, ""

    def leads(self) -> bool:
        return "c5c3_ovn_operator_leader 1.0" in self.get("/metrics")[1]

    def end(self, number: int = signal.SIGKILL) -> int:
        """By its newest thread: a kernel may choose any of them for a signal."""
        if self.process.poll() is None:
            os.kill(max(int(thread) for thread in os.listdir(f"/proc/{self.process.pid}/task")), number)
        return self.process.wait(timeout=within(35))


@pytest.fixture
def start(plane: ControlPlane, collection_path: str, tmp_path: pathlib.Path) -> t.Iterator[t.Callable[..., Process]]:
    running: list[Process] = []

    def one(*arguments: str) -> Process:
        running.append(Process(plane, collection_path, tmp_path / f"operator-{len(running)}.log", *arguments))
        return running[-1]

    yield one
    for process in running:
        process.end()


def test_one_process_leads_and_another_one_goes_on(plane: ControlPlane, start: t.Callable[..., Process]) -> None:
    plane.server.define()
    first = start()
    until(first.leads, f"the first process to lead: {first.log.read_text()}", 40)
    second = start()
    until(lambda: second.get("/healthz")[0] == 200, "the second process to answer", 30)
    assert not second.leads()
    assert first.get("/readyz")[0] == 200
    assert first.get("/")[0] == 404

    # Nobody runs pods here, so the rollout waits for them while its process is killed.
    Operated(plane, t.cast("t.Any", None)).apply(WHOLE)
    place = PLACES["OVNCluster"].format(plane.namespace)

    def condition() -> tuple[str, str]:
        found = json.loads(plane.server.request("GET", f"{place}/ovn"))
        one = next((c for c in (found.get("status") or {}).get("conditions") or () if c["type"] == "Reconciled"), {})
        return one.get("status", ""), one.get("reason", "")

    lease = f"{PLACES['Lease'].format(plane.namespace)}/{lease_name('ovn')}"

    def holder() -> str:
        with contextlib.suppress(OSError):
            return str(json.loads(plane.server.request("GET", lease))["spec"]["holderIdentity"])
        return ""

    until(lambda: condition() == ("False", "RollingOut"), "the condition", 30)
    until(lambda: f"process {first.process.pid} " in holder(), "the run to begin", 30)
    first.end(signal.SIGKILL)
    until(second.leads, f"the second process to lead: {second.log.read_text()}", 40)
    # The run that was killed is known to have ended, since it was on this host: its Lease is taken over.
    until(
        lambda: f"process {second.process.pid} " in holder(), f"the run to go on; its Lease is held by {holder()}", 40
    )
    assert condition()[0] == "False"

    assert second.end(signal.SIGTERM) == 0
    assert "Ended" in second.log.read_text()


def test_a_leader_that_cannot_renew_its_lease_ends_at_once(
    plane: ControlPlane, start: t.Callable[..., Process]
) -> None:
    """A short silence of the API server is none of that; after ten seconds another process may lead."""
    plane.server.define()
    process = start()
    until(process.leads, f"the process to lead: {process.log.read_text()}", 40)
    plane.server.freeze()
    try:
        stays(lambda: process.process.poll() is None, "the process runs", 3)
    finally:
        plane.server.thaw()
    stays(process.leads, "the process leads", 5)
    plane.server.freeze()
    try:
        assert process.process.wait(timeout=60) == 1
    finally:
        plane.server.thaw()
    assert "was lost" in process.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("--resync=1",), "--resync is less than 10 seconds"), (("--log-level=loud",), "invalid choice: 'loud'")],
)
def test_wrong_options_are_named(
    plane: ControlPlane, start: t.Callable[..., Process], arguments: tuple[str, ...], told: str
) -> None:
    process = start(*arguments)
    assert process.process.wait(timeout=30) == 2
    assert told in process.log.read_text()
