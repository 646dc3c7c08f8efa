"""1000 nodes: what ovn_hypervisors asks of an API server, and what it costs: kube-apiserver and etcd alone.

Nobody runs pods there. For the rollouts that wait, this program says what kubelets and the controller of DaemonSets would, and writes the rows that
ovn-controllers would write into a real Southbound database.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import typing as t

from machines import Machines
from measure import Figure, NotHere

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
from _apiserver import ApiServer, folder_of_binaries
from _beside import beside
from _daemon_sets import NAMES as DAEMON_SETS
from _daemon_sets import DaemonSets
from _hypervisors import API, HYPERVISOR, READY, Hypervisors
from _image_pulls import ImagePulls
from conftest import RaftCluster, run

NODES = 1000
BATCH = 50  # nodes whose pods are replaced at the same time
NAMESPACE = "ovn-system"
NOTHING: t.Mapping[str, t.Any] = types.MappingProxyType({})
UPDATE = {"ovsImage": {"tag": "new"}, "ovnImage": {"tag": "newer"}}
ROUNDS = 3
MEMORY = 300.0  # MB
MORE = 30  # requests beside one for each object that changes: looking, the Lease and its renewals
_ROOT = pathlib.Path(__file__).resolve().parents[2]


class Cost(t.NamedTuple):
    """What one run of the module took."""

    seconds: float
    megabytes: float
    result: dict[str, t.Any]


def _name(number: int) -> str:
    return f"node-{number:04}"


def _address(number: int) -> str:
    return f"10.1.{number // 250}.{number % 250 + 1}"


def _make_nodes(server: ApiServer) -> None:
    # As many bytes as kubelets report: images, conditions, capacity.
    images = [{"names": [f"registry.example.com/image-{n}@sha256:{n:064}"], "sizeBytes": 10**8} for n in range(50)]
    for number in range(NODES):
        node = {
            "metadata": {"name": _name(number), "labels": HYPERVISOR},
            "status": {
                "addresses": [{"type": "InternalIP", "address": _address(number)}],
                "conditions": READY,
                "images": images,
            },
        }
        server.request("POST", "/api/v1/nodes", node)


def _run(server: ApiServer, collections: str, spec: t.Mapping[str, t.Any] = NOTHING, **given: t.Any) -> Cost:
    options = {
        "kubeconfig": server.kubeconfig,
        "spec": {"tls": {"enabled": False}, **spec},
        "southbound": ["tcp:127.0.0.1:1"],
        "wait": False,
        **given,
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


@contextlib.contextmanager
def _southbound(folder: pathlib.Path) -> t.Iterator[str]:
    """Yield the endpoint of a Southbound database with one member."""
    southbound = RaftCluster("southbound", folder / "southbound", None, "tcp")
    try:
        member = southbound.new_member()
        member.create()
        member.start()
        (endpoint,) = southbound.endpoints
        run("ovn-sbctl", f"--db={endpoint}", "init")
        yield endpoint
    finally:
        southbound.kill_all()


class _Nodes(ImagePulls):
    """Pods that are replaced in batches, and chassis that register when theirs are ready."""

    def __init__(self, server: ApiServer, endpoint: str) -> None:
        self.nodes = [_name(number) for number in range(NODES)]
        hypervisors = Hypervisors(server, NAMESPACE, _no_module)
        super().__init__(hypervisors, NODES)
        self.endpoint, self.daemon_sets = endpoint, DaemonSets(hypervisors, self.nodes)

    def roll_out(self, *names: str) -> None:
        """Batch by batch, as soon as both DaemonSets are there and have changed."""
        if len(names) < len(DAEMON_SETS):
            return
        time.sleep(2)  # as the controllers of Kubernetes take it: one changes after the other
        for start in range(0, NODES, BATCH):
            batch = self.nodes[start : start + BATCH]
            is_new = (DAEMON_SETS[0], batch[0]) not in self.daemon_sets.pods
            self.daemon_sets.replace(*batch)
            if is_new:
                self._register(start)
            self.daemon_sets.set_ready(*batch)

    def _register(self, start: int) -> None:
        now = f"nb_cfg_timestamp={int(time.time() * 1000)}"
        words: list[str] = []
        for number in range(start, start + BATCH):
            name = _name(number)
            words += ["--", "chassis-add", name, "geneve", _address(number)]
            words += ["--", f"--id=@p{number}", "create", "Chassis_Private", f"name={name}", now]
        run("ovn-sbctl", f"--db={self.endpoint}", "--timeout=60", *words[1:])


def _no_module(*_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
    raise NotImplementedError("the module runs as a program of its own here")


def _count_ready(server: ApiServer) -> int:
    items = json.loads(server.request("GET", API))["items"]
    conditions = [one for item in items for one in item["status"]["conditions"] if one["type"] == "Ready"]
    return sum(one["status"] == "True" for one in conditions)


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
            with _southbound(pathlib.Path(name)) as endpoint:
                nodes = _Nodes(server, endpoint)
                options = {"southbound": [endpoint], "wait": True, "wait_timeout": 120}
                with beside(lambda ended: nodes.play(ended, {})):
                    waited = _run(server, name, **options)
                    updated = _run(server, name, UPDATE, **options)
            ready = _count_ready(server)
        finally:
            server.stop()
    changed = [one for one in first.result["objects"] if one["action"] != "unchanged"]
    if any(cost.result["changed"] for cost in again):
        raise RuntimeError("a run over unchanged nodes changed something")
    if ready != NODES:
        raise RuntimeError(f"{ready} of {NODES} OVNChassis are ready after the update")
    what = f"ovn_hypervisors, {NODES} nodes"
    return [
        Figure(
            f"{what}, all new", [first.result["requests"]], f"objects + {MORE}", [len(changed) + MORE], 1, "requests"
        ),
        Figure(f"{what}, nothing to do", [c.result["requests"] for c in again], "limit", [5], 1, "requests"),
        Figure(f"{what}, all new", [first.seconds], "nothing to do", [c.seconds for c in again], None),
        Figure(f"{what}, peak memory", [c.megabytes for c in (first, *again)], "limit", [MEMORY], 1, "MB"),
        Figure(f"{what}, until all are ready, peak memory", [waited.megabytes], "limit", [MEMORY], 1, "MB"),
        Figure(f"{what}, new images on all, peak memory", [updated.megabytes], "limit", [MEMORY], 1, "MB"),
        Figure(f"{what}, until all are ready", [waited.result["requests"]], "nodes", [NODES], None, "requests"),
        Figure(f"{what}, new images on all", [updated.result["requests"]], "nodes", [NODES], None, "requests"),
    ]
