"""Pods under faults: a real API server, real servers under the launcher, and the module `ovn_cluster` as the run.

What controllers and kubelets do is played by the integration tests' own. Paths of the network are not cut here: that is the same on hosts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from _apiserver import ApiServer
from _control_plane import SPEC, ControlPlane, control_plane, running_pods
from _launcher_lib import Member
from faults import LOSES_DATA, Fault, Ongoing

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError

WEIGHTS = {
    "kill the server": 4,
    "pause the server": 3,
    "delete the pod": 3,
    "power off the node": 3,
    "lose the disk": 3,
    "put an old copy back": 3,
}
# The pod goes without a goodbye and comes back later, on the same claim or on another one.
_TAKES_THE_POD = ("power off the node", *LOSES_DATA)
_RUN_SECONDS = 60
# A module that runs in this process cannot be killed: one that is cut off has so many seconds for each of its acts.
_ACT_SECONDS = 1


class Pod:
    """`faults.Server`."""

    def __init__(self, name: str, member: Member) -> None:
        self.id, self.member = name, member
        self.socket, self.endpoint = f"unix:{member.sock}", member.endpoint

    def signal_server(self, number: int) -> None:
        pid = self.member.server_pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


class Pods:
    """`faults.Theatre` on Kubernetes."""

    weights = WEIGHTS

    def __init__(self, timer: int) -> None:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=20)
        self._stack = contextlib.ExitStack()
        self._root = Path(tempfile.mkdtemp(prefix="ovn-chaos-"))
        api = ApiServer(self._root / "api")
        self._stack.callback(api.stop)
        api.start()
        monkeypatch = self._stack.enter_context(pytest.MonkeyPatch.context())
        self.plane: ControlPlane = control_plane(api, api.new_namespace("chaos"), monkeypatch, self._root)
        self.kubelet = self._stack.enter_context(running_pods(self.plane))
        self.spec = {**SPEC, "northbound": {"replicas": 3, "electionTimer": timer}, "southbound": {"replicas": 1}}
        self.servers = [Pod(name, member) for name, member in self.kubelet.members.items() if "-northbound-" in name]

    def close(self, keep: Path | None) -> None:
        for pod in self.servers:
            pod.signal_server(signal.SIGCONT)
        if keep is not None:
            ignored = shutil.ignore_patterns("*.sock", "*.ctl")
            shutil.copytree(self.kubelet.root, keep / "pods", ignore=ignored)
        self._stack.close()
        shutil.rmtree(self._root, ignore_errors=True)

    def run(self, dies_before: int | None) -> list[str]:
        seconds = _RUN_SECONDS if dies_before is None else _ACT_SECONDS * dies_before
        ran = self.plane(spec=self.spec, wait=False, wait_timeout=seconds, may_fail=True)
        if ran.failed and dies_before is None:
            raise OvnError(ran["msg"])
        return [step for step in ran.get("steps") or [] if "southbound" not in step]

    def problem(self) -> str:
        away = [pod.id for pod in self.servers if not pod.member.connected()]
        if away:
            return f"not connected: {', '.join(away)}"
        ran = self.plane(check=True, spec=self.spec, wait=False, wait_timeout=_RUN_SECONDS, may_fail=True)
        return str(ran["msg"]) if ran.failed else "; ".join(ran["steps"])

    def has_leader(self) -> bool:
        return self._leader() is not None

    def keep_copies(self) -> None:
        for pod in self.servers:
            shutil.copyfile(pod.member.file, pod.member.dir / "old-copy")

    def begin(self, fault: Fault) -> Ongoing:
        pod = self._pod(fault)
        if fault.kind == "kill the server":
            pod.signal_server(signal.SIGKILL)
        elif fault.kind == "pause the server":
            pod.signal_server(signal.SIGSTOP)
        elif fault.kind == "delete the pod":
            pod.signal_server(signal.SIGCONT)  # one that is paused would not end
            self.kubelet.deleted(pod.id)
        elif fault.kind in _TAKES_THE_POD:
            self.kubelet.ended(pod.id, gracefully=False)
            self._lose(pod, fault.kind)
        return Ongoing(fault, pod.id)

    def end(self, ongoing: Ongoing) -> None:
        self._bring_back(next(pod for pod in self.servers if pod.id == ongoing.member))

    def heal(self) -> None:
        for pod in self.servers:
            self._bring_back(pod)

    def _bring_back(self, pod: Pod) -> None:
        """What kubelet and the controller do when the node is there again."""
        pod.signal_server(signal.SIGCONT)
        if pod.member.process is None:
            if not self.kubelet.has_pod(pod.id):
                self.kubelet.run(pod.id)
        elif pod.member.process.poll() is not None:
            pod.member.start(OVN_WAIT="1")

    def _lose(self, pod: Pod, kind: str) -> None:
        member, copy = pod.member, pod.member.dir / "old-copy"
        if kind == "lose the disk":
            shutil.rmtree(member.data)
            member.data.mkdir()
            self.plane.remove("PersistentVolumeClaim", f"data-{pod.id}")
            self.kubelet.unprotected(self.plane.namespace, f"data-{pod.id}")
        elif kind == "put an old copy back" and copy.exists():
            shutil.copyfile(copy, member.file)

    def _leader(self) -> Pod | None:
        return next((pod for pod in self.servers if pod.member.leads()), None)

    def _pod(self, fault: Fault) -> Pod:
        if fault.target != "leader":
            return self.servers[fault.target]
        return self._leader() or self.servers[fault.other]
