"""Pods without Kubernetes: each is a launcher on loopback, with the commands run in its environment. Only what the code asks of an API server."""

from __future__ import annotations

import os
import subprocess
import threading
import typing as t
import uuid

from _launcher_lib import Cluster, Member

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.examine_pod import LAUNCHER
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record, render_files


class FakePod:
    def __init__(self, member: Member, revision: str, waiting: str = "") -> None:
        self.member, self.revision = member, revision
        self.uid = str(uuid.uuid4())
        self.version = 1
        self.annotations: dict[str, str] = {}
        self.waiting = waiting
        if not waiting:
            member.start(OVN_WAIT="1")

    def manifest(self) -> dict[str, t.Any]:
        labels = {"controller-revision-hash": self.revision}
        state: dict[str, t.Any] = {"waiting": {"reason": self.waiting}} if self.waiting else {"running": {}}
        status = {"containerStatuses": [{"name": "database", "state": state}]}
        metadata = {
            "name": self.member.id,
            "namespace": "ns",
            "uid": self.uid,
            "labels": labels,
            "annotations": self.annotations,
        }
        metadata["resourceVersion"] = str(self.version)
        spec = {"containers": [{"name": "database"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


class FakeCluster:
    """One StatefulSet. A pod sees the record as it was at its start or at the last requeue of its pod."""

    def __init__(self, launchers: Cluster) -> None:
        self.members = {member.id: member for member in launchers.members}
        self.pods: dict[str, FakePod] = {}
        self.revision = "r1"
        self.waiting = ""  # what new pods wait for, and does not come
        self.files: dict[str, str] = {}
        self.deaf: set[str] = set()  # pods that no requeue brings a record
        self.calls: list[str] = []
        self.lock = threading.Lock()

    # What the tests do
    def record(self, record: Record) -> None:
        self.files = render_files(record, 1000)

    def run(self, *names: str) -> None:
        for name in names:
            self._mount(name)
            self.pods[name] = FakePod(self.members[name], self.revision, self.waiting)

    def _mount(self, name: str) -> None:
        for key, value in self.files.items():
            new = self.members[name].record / f".{key}"
            new.write_text(value)
            new.rename(self.members[name].record / key)

    # What the code does
    def list(self, api_version: str, kind: str, namespace: str | None = None, **_: t.Any) -> list[dict[str, t.Any]]:
        if kind == "Event":
            return []
        assert kind == "Pod"
        return [pod.manifest() for pod in self.pods.values()]

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, t.Any] | None:
        assert kind == "StatefulSet"
        return {"metadata": {"name": name}, "status": {"updateRevision": self.revision}}

    def patch(self, api_version: str, kind: str, name: str, namespace: str, patch: t.Any) -> dict[str, t.Any]:
        if name not in self.pods:
            raise Refused("not found", http_status=404)
        self.calls.append(f"patch {name}")
        self.pods[name].annotations.update(patch["metadata"]["annotations"])
        self.pods[name].version += 1
        if name not in self.deaf:
            self._mount(name)
        return self.pods[name].manifest()

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> bool:
        with self.lock:
            pod = self.pods.get(name)
            if pod is None:
                return False
            if uid not in (None, pod.uid) or resource_version not in (None, str(pod.version)):
                raise Conflict("another uid or version")
            self.calls.append(f"delete {name}")
            if not pod.waiting and pod.member.call("stop").returncode != 0:
                raise AssertionError(f"{name} did not stop")
            if pod.member.process is not None and pod.member.process.poll() is None:
                pod.member.terminate()
            self.run(name)
            return True

    def evict(self, pod: str, namespace: str, uid: str) -> bool:
        return self.delete("v1", "Pod", pod, namespace, uid=uid)

    def exec(
        self, namespace: str, pod: str, container: str, command: t.Sequence[str], *, timeout: float = 20
    ) -> ExecResult:
        if pod not in self.pods:
            raise Unreachable(f"Pod {pod} is not there.")
        member = self.members[pod]
        words = [member.launcher[0] if word == LAUNCHER else word for word in command]
        try:
            done = subprocess.run(
                words, env=os.environ | member.env, check=False, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired as e:
            raise TimedOut(f"Pod {pod}: {e}") from e
        return ExecResult(done.returncode, done.stdout, done.stderr)
