"""1000 nodes: what ovn_hypervisors asks of an API server, and what it costs. Nobody runs pods there: kube-apiserver and etcd alone."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing as t

from machines import Machines
from measure import Figure, NotHere

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
from _apiserver import ApiServer, folder_of_binaries

NODES = 1000
ROUNDS = 3
MEMORY = 300.0  # MB
MORE = 30  # requests beside one for each object that changes: looking, the Lease and its renewals
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_LABELS = {"node-role.kubernetes.io/hypervisor": ""}


class Cost(t.NamedTuple):
    """What one run of the module took."""

    seconds: float
    megabytes: float
    result: dict[str, t.Any]


def _make_nodes(server: ApiServer) -> None:
    # As many bytes as kubelets report: images, conditions, capacity.
    images = [{"names": [f"registry.example.com/image-{n}@sha256:{n:064}"], "sizeBytes": 10**8} for n in range(50)]
    for number in range(NODES):
        address = f"10.1.{number // 250}.{number % 250 + 1}"
        node = {
            "metadata": {"name": f"node-{number:04}", "labels": _LABELS},
            "status": {
                "addresses": [{"type": "InternalIP", "address": address}],
                "conditions": [{"type": "Ready", "status": "True"}],
                "images": images,
            },
        }
        server.request("POST", "/api/v1/nodes", node)


def _run(server: ApiServer, collections: str) -> Cost:
    options = {
        "kubeconfig": server.kubeconfig,
        "spec": {"tls": {"enabled": False}},
        "southbound": ["tcp:127.0.0.1:1"],
        "wait": False,
        "_ansible_remote_tmp": tempfile.gettempdir(),
    }
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ansible_collections.c5c3.ovn.plugins.modules.ovn_hypervisors"],
            stdin=subprocess.PIPE,
            stdout=output,
            env={**os.environ, "PYTHONPATH": collections},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode())
        process.stdin.close()
        _pid, _status, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        seconds = time.monotonic() - started
        output.seek(0)
        result = json.load(output)
    if result.get("failed"):
        raise RuntimeError(result["msg"])
    return Cost(seconds, usage.ru_maxrss / 1024, result)


def thousand_nodes(_machines: Machines) -> list[Figure]:
    if folder_of_binaries() is None:
        raise NotHere("kube-apiserver and etcd missing: tests/testbed/node-image/build makes them")
    print(f"Hypervisors: {NODES} nodes of one cluster, {ROUNDS} rounds", flush=True)
    with tempfile.TemporaryDirectory(prefix="c5c3-bench-", ignore_cleanup_errors=True) as name:
        parent = pathlib.Path(name, "ansible_collections", "c5c3")
        parent.mkdir(parents=True)
        (parent / "ovn").symlink_to(_ROOT)
        server = ApiServer(pathlib.Path(name, "api"))
        try:
            server.start()
            _make_nodes(server)
            first = _run(server, name)
            again = [_run(server, name) for _round in range(ROUNDS)]
        finally:
            server.stop()
    changed = [one for one in first.result["objects"] if one["action"] != "unchanged"]
    if any(cost.result["changed"] for cost in again):
        raise RuntimeError("a run over unchanged nodes changed something")
    what = f"ovn_hypervisors, {NODES} nodes"
    return [
        Figure(
            f"{what}, all new", [first.result["requests"]], f"objects + {MORE}", [len(changed) + MORE], 1, "requests"
        ),
        Figure(f"{what}, nothing to do", [c.result["requests"] for c in again], "limit", [5], 1, "requests"),
        Figure(f"{what}, all new", [first.seconds], "nothing to do", [c.seconds for c in again], None),
        Figure(f"{what}, peak memory", [c.megabytes for c in (first, *again)], "limit", [MEMORY], 1, "MB"),
    ]
