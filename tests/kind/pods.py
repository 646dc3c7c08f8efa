"""Pods that tests start beside ours, and clients that write from within a pod."""

from __future__ import annotations

import json
import subprocess
import threading
import typing as t

from clusters import CENTRAL, Cluster, Object, wait_for

_LOOP = """
options='-p %(tls)s/tls.key -c %(tls)s/tls.crt -C %(tls)s/ca.crt'
number=0
while sleep 0.2; do
    number=$((number + 1)) row=writer-$number
    if error=$(%(write)s 2>&1); then echo "$row"; else echo "$error"; fi
done
"""


def named(found: Object) -> str:
    return str(found["metadata"]["name"])


def nodes(cluster: Cluster) -> list[Object]:
    return sorted(cluster.list("nodes"), key=named)


def manifest(version: str, kind: str, name: str, labels: dict[str, str] | None = None, **parts: t.Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels or {}}, **parts}


def apply(cluster: Cluster, *manifests: Object) -> None:
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))


def start(cluster: Cluster, name: str, labels: dict[str, str] | None = None, on: str | None = None) -> None:
    """A pod that does nothing. It may run beside the control plane, whose namespace admits restricted pods alone."""
    container: Object = {
        "name": "idle",
        "image": CENTRAL.pods("northd")[0]["spec"]["containers"][0]["image"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec: Object = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        **({"nodeName": on} if on else {}),
    }
    cluster.kubectl("create", "--filename=-", stdin=json.dumps(manifest("v1", "Pod", name, labels, spec=spec)))


class Writer(threading.Thread):
    """A client that adds one row after the other from within a pod: `write` is its command, which has the name `$row` and the `$options` of TLS."""

    def __init__(self, cluster: Cluster, pod: str, write: str, tls: str = "/tls") -> None:
        super().__init__(daemon=True)
        self.acknowledged, self.failures = list[str](), list[str]()
        shell = ("exec", pod, "--", "sh", "-c", _LOOP % {"tls": tls, "write": write})
        self._process = subprocess.Popen(cluster.command(*shell), stdout=subprocess.PIPE, text=True)
        self.start()

    def run(self) -> None:
        for line in self._process.stdout or ():
            (self.acknowledged if line.startswith("writer-") else self.failures).append(line.strip())

    def wait_for_rows(self, count: int = 10) -> None:
        enough = len(self.acknowledged) + count
        wait_for(f"{count} rows more", lambda: len(self.acknowledged) >= enough, 60)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self.join(10)
