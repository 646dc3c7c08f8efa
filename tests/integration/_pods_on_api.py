"""What controllers and kubelets would do for a control plane, on a real API server: pods of StatefulSets as launchers on loopback."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

from _apiserver import ApiServer
from _launcher_lib import SCRIPT, Member, free_network

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import STEMS
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.examine_pod import LAUNCHER
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster, ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.rollout_progress import CONTAINER

Object = dict[str, t.Any]


class Controllers:
    """They look at each StatefulSet. Nobody runs pods."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.may_go = 1  # as many pods as each disruption budget allows

    def path(self, api: str, namespace: str, kind: str, name: str = "") -> str:
        return f"{api}/namespaces/{namespace}/{kind}/{name}".rstrip("/")

    def revision(self, stateful_set: Object) -> str:
        """Another one for another template of the pods."""
        template = json.dumps(stateful_set["spec"]["template"], sort_keys=True)
        return f"r{hashlib.sha256(template.encode()).hexdigest()[:8]}"

    def scaled(self, stateful_set: Object) -> None:
        metadata = stateful_set["metadata"]
        status = {
            "observedGeneration": metadata["generation"],
            "replicas": stateful_set["spec"]["replicas"],
            "updateRevision": self.revision(stateful_set),
        }
        place = self.path("/apis/apps/v1", metadata["namespace"], "statefulsets", f"{metadata['name']}/status")
        with contextlib.suppress(OSError):  # a test has frozen the server
            self.server.request("PATCH", place, {"status": status})

    def orphaned(self, namespace: str, name: str) -> None:
        """The garbage collector lets the pods of a StatefulSet go, then the StatefulSet itself."""
        place = self.path("/apis/apps/v1", namespace, "statefulsets", name)
        self.server.request("PATCH", place, {"metadata": {"finalizers": []}})

    def unprotected(self, namespace: str, name: str) -> None:
        """A claim that was deleted goes when no pod with a node uses it."""
        with contextlib.suppress(OSError):  # it is gone
            place = self.path("/api/v1", namespace, "persistentvolumeclaims", name)
            self.server.request("PATCH", place, {"metadata": {"finalizers": []}})

    def protected(self, namespace: str, name: str) -> None:
        """The controller of budgets counts pods: one more may go."""
        place = self.path("/apis/policy/v1", namespace, "poddisruptionbudgets", name)
        try:
            budget = json.loads(self.server.request("GET", place))
        except OSError:  # there is none
            return
        counted = {"currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3, "disruptionsAllowed": self.may_go}
        status = {"observedGeneration": budget["metadata"]["generation"], "disruptedPods": None, **counted}
        self.server.request("PATCH", f"{place}/status", {"status": status})

    def deployed(self, deployment: Object) -> None:
        """A Deployment was applied: its controller replaces its pods."""

    def requeued(self, namespace: str, name: str) -> None:
        """A StatefulSet was touched: its controller tries again to make pods."""

    def cluster(self, params: t.Mapping[str, t.Any]) -> Cluster:
        """Instead of the class."""
        return ClusterWithControllers(params, self)


class Kubelet(Controllers):
    """Members by the names of their pods. A pod runs from the moment in which its StatefulSet wants it."""

    def __init__(self, server: ApiServer, namespace: str, sizes: t.Mapping[str, int]) -> None:
        super().__init__(server)
        self.namespace = namespace
        self.sets: dict[str, Object] = {}
        self.has_image = True
        self.asks_for_commands = False  # whether the API server judges each command before it runs
        self.no_volumes: set[str] = set()  # storage classes that nobody provides
        # Not pytest's directory: the path of a unix socket has to stay below 108 bytes.
        self.root = Path(tempfile.mkdtemp(prefix="ovn-pods-"))
        (self.root / "ovn-raft-launcher").write_text(SCRIPT)
        (self.root / "ovn-raft-launcher").chmod(0o755)
        networks: set[str] = set()
        while len(networks) < len(sizes):
            networks.add(free_network())
        self.members = {
            f"ovn-{database}-{index}": self._member(database, index, network)
            for (database, size), network in zip(sizes.items(), networks)
            for index in range(size)
        }
        for member in self.members.values():
            others = (m for m in self.members.values() if m.env["OVN_DATABASE"] == member.env["OVN_DATABASE"])
            member.env["OVN_CLIENT_ENDPOINTS"] = ",".join(m.endpoint for m in others if m is not member)

    def _member(self, database: str, index: int, network: str) -> Member:
        member = Member(self.root / database[:1], network, index + 1)
        stem = STEMS[database]
        member.id, member.launcher = f"ovn-{database}-{index}", [str(self.root / "ovn-raft-launcher")]
        member.file = member.data / f"{stem}.db"
        member.sock, member.ctl, member.pid_file = (member.run_dir / f"{stem}.{end}" for end in ("sock", "ctl", "pid"))
        member.env.update(OVN_DATABASE=database, OVN_MEMBER=member.id, OVN_DB_FILE=str(member.file))
        return member

    def address(self, database: str, index: int, **_: t.Any) -> str:
        return self.members[f"ovn-{database}-{index}"].address

    def close(self) -> None:
        for member in self.members.values():
            member.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def _path(self, kind: str, name: str = "") -> str:
        return self.path("/api/v1", self.namespace, kind, name)

    def scaled(self, stateful_set: Object) -> None:
        super().scaled(stateful_set)
        name, replicas = stateful_set["metadata"]["name"], stateful_set["spec"]["replicas"]
        self.sets[name] = stateful_set
        for index in range(replicas):
            member = self.members.get(f"{name}-{index}")  # more than there are may be asked for
            if member is not None and member.process is None and not self._exists("pods", f"{name}-{index}"):
                self.run(f"{name}-{index}")

    def orphaned(self, namespace: str, name: str) -> None:
        super().orphaned(namespace, name)
        self.sets.pop(name, None)  # until there is another one, nobody makes pods and claims

    def has_pod(self, name: str) -> bool:
        return self._exists("pods", name)

    def _exists(self, kind: str, name: str) -> bool:
        try:
            self.server.request("GET", self._path(kind, name))
        except OSError:
            return False
        return True

    def claim(self, pod: str) -> None:
        """What the StatefulSet says of claims, with a volume at once if its class has any; one that is there stays as it is."""
        (template,) = self.sets[pod.rpartition("-")[0]]["spec"]["volumeClaimTemplates"]
        name = f"data-{pod}"
        try:
            manifest = {"metadata": {**template["metadata"], "name": name}, "spec": template["spec"]}
            self.server.request("POST", self._path("persistentvolumeclaims"), manifest)
        except OSError:  # it is there
            return
        if template["spec"].get("storageClassName") in self.no_volumes:
            return
        self.server.request(
            "PATCH", self._path("persistentvolumeclaims", f"{name}/status"), {"status": {"phase": "Bound"}}
        )

    def deleted(self, pod: str) -> None:
        """It ends, then there is another pod."""
        self.ended(pod)
        if pod.rpartition("-")[0] in self.sets:
            self.run(pod)

    def ended(self, pod: str, *, gracefully: bool = True) -> None:
        """Its database ends as the hook of the pod ends it, or as with the power of its node."""
        place = self._path("pods", pod)
        with contextlib.suppress(OSError):
            self.server.request("DELETE", place, {"gracePeriodSeconds": 0})
        if not gracefully:
            self.members[pod].kill()
        elif self.members[pod].process is not None:
            self.members[pod].terminate()
        self.stop_sidecars(pod)
        # Its emptyDir goes with it: what the launcher remembers, and its mounts.
        self.members[pod].record.with_name("record.witness").unlink(missing_ok=True)
        for file in self.members[pod].record.iterdir():
            file.unlink()

    def run(self, pod: str) -> None:
        stateful_set = self.sets[pod.rpartition("-")[0]]
        labels = stateful_set["spec"]["template"]["metadata"]["labels"]
        manifest = {
            "metadata": {
                "name": pod,
                "labels": {**labels, "controller-revision-hash": self.revision(stateful_set)},
            },
            "spec": {"containers": [{"name": "database", "image": "ovn"}]},
        }
        sidecars = stateful_set["spec"]["template"]["spec"].get("initContainers") or []
        if sidecars:
            started = [{"name": one["name"], "image": "ovn", "restartPolicy": "Always"} for one in sidecars]
            manifest["spec"]["initContainers"] = started
        self.claim(pod)
        self.server.request("POST", self._path("pods"), manifest)
        claim = json.loads(self.server.request("GET", self._path("persistentvolumeclaims", f"data-{pod}")))
        if (claim.get("status") or {}).get("phase") != "Bound":
            message = "pod has unbound immediate PersistentVolumeClaims"
            no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            no_node["lastTransitionTime"] = "2026-01-01T00:00:00Z"  # longer ago than any run waits
            self.server.request("PATCH", self._path("pods", f"{pod}/status"), {"status": {"conditions": [no_node]}})
            return
        state: Object = {"waiting": {"reason": "ImagePullBackOff", "message": "the registry is away"}}
        before: list[Object] = []
        if self.has_image:
            before = [self.start_sidecar(pod, one) for one in sidecars]
            self.mount(pod)
            self.members[pod].start(OVN_WAIT="1")
            state = {"running": {}}
        told = {
            "name": "database",
            "ready": self.has_image,
            "restartCount": 0,
            "image": "",
            "imageID": "",
            "state": state,
        }
        status: Object = {"phase": "Running" if self.has_image else "Pending", "containerStatuses": [told]}
        if before:
            status["initContainerStatuses"] = before
        self.server.request("PATCH", self._path("pods", f"{pod}/status"), {"status": status})

    def start_sidecar(self, pod: str, container: Object) -> Object:
        """Start it before the member, and return its status."""
        raise NotImplementedError(f"{pod} has the sidecar {container['name']}, which nobody runs here")

    def stop_sidecars(self, pod: str) -> None:
        """They end after the member."""

    def mount(self, pod: str) -> None:
        """The record, and the witness if there is one."""
        owner = pod.rpartition("-")[0]
        files = self._data(f"{owner}-record")
        with contextlib.suppress(OSError):
            files.update(self._data(f"{owner}-witness"))
        for key, value in files.items():
            new = self.members[pod].record / f".{key}"
            new.write_text(value)
            new.rename(self.members[pod].record / key)

    def _data(self, config_map: str) -> dict[str, str]:
        return json.loads(self.server.request("GET", self._path("configmaps", config_map))).get("data") or {}

    def exec(self, pod: str, command: t.Sequence[str], timeout: float, container: str = CONTAINER) -> ExecResult:
        assert container == CONTAINER, f"nobody runs {container} here"
        member = self.members[pod]
        if member.process is None:
            raise Refused(f"Pod {pod} has no container that runs", http_status=400)
        if member.process.poll() is not None:  # a container that ends is started again
            member.start(OVN_WAIT="1")
        words = [
            member.launcher[0] if word == LAUNCHER else word.replace("/run/ovn/", f"{member.run_dir}/")
            for word in command
        ]
        try:
            done = subprocess.run(
                words, env=os.environ | member.env, check=False, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired as e:
            raise TimedOut(f"Pod {pod}: {e}") from e
        return ExecResult(done.returncode, done.stdout, done.stderr)

    def cluster(self, params: t.Mapping[str, t.Any]) -> Cluster:
        return ClusterWithPods(params, self)


class ClusterWithControllers(Cluster):
    def __init__(self, params: t.Mapping[str, t.Any], controllers: Controllers) -> None:
        super().__init__(params)
        self.controllers = controllers

    def apply(self, manifest: Object, *, dry_run: bool = False, force: bool = False) -> Object:
        answer = super().apply(manifest, dry_run=dry_run, force=force)
        if manifest["kind"] == "StatefulSet" and not dry_run:
            self.controllers.scaled(answer)
        if manifest["kind"] == "Deployment" and not dry_run:
            self.controllers.deployed(answer)
        return answer

    def patch(
        self, api_version: str, kind: str, name: str, namespace: str | None, patch: Object, **options: t.Any
    ) -> Object:
        answer = super().patch(api_version, kind, name, namespace, patch, **options)
        if kind == "StatefulSet":
            self.controllers.requeued(namespace or "", name)
        return answer

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None, **options: t.Any) -> bool:
        there = super().delete(api_version, kind, name, namespace, **options)
        if there and kind == "StatefulSet" and options.get("propagation") == "Orphan":
            self.controllers.orphaned(namespace or "", name)
        if there and kind == "PersistentVolumeClaim":
            self.controllers.unprotected(namespace or "", name)
        return there


class ClusterWithPods(ClusterWithControllers):
    def __init__(self, params: t.Mapping[str, t.Any], kubelet: Kubelet) -> None:
        super().__init__(params, kubelet)
        self.kubelet = kubelet

    def patch(
        self, api_version: str, kind: str, name: str, namespace: str | None, patch: Object, **options: t.Any
    ) -> Object:
        answer = super().patch(api_version, kind, name, namespace, patch, **options)
        if kind == "Pod":
            self.kubelet.mount(name)
        return answer

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None, **options: t.Any) -> bool:
        there = super().delete(api_version, kind, name, namespace, **options)
        if there and kind == "Pod" and name in self.kubelet.members:
            self.kubelet.deleted(name)
        return there

    def evict(self, pod: str, namespace: str, uid: str) -> bool:
        self.kubelet.protected(namespace, pod.rpartition("-")[0])
        there = super().evict(pod, namespace, uid)
        if there and pod in self.kubelet.members:
            self.kubelet.deleted(pod)
        return there

    def exec(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: t.Sequence[str],
        *,
        stdin: str | None = None,
        timeout: float = 20,
    ) -> ExecResult:
        if self.kubelet.asks_for_commands:
            self._ask(namespace, pod, container, command)
        self.connection.count_request()
        return self.kubelet.exec(pod, command, timeout, container)

    def _ask(self, namespace: str, pod: str, container: str, command: t.Sequence[str]) -> None:
        """Raise if the user may not run commands in the pod. Otherwise the API server refuses this one, too, since the pod has no node."""
        try:
            super().exec(namespace, pod, container, command)
        except OvnError as e:
            if e.details.get("http_status") == 403:
                raise
