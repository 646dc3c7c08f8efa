"""The two kind clusters: how long OVN took on them when they were new, and what a run over an unchanged control plane takes.

Needs what `make kind` leaves. Nothing is changed there.
"""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

from machines import Machines
from measure import Figure, NotHere
from playbook import LOGS, ROOT, answers, play

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.kinds import KNOWN_KINDS

KIND = ROOT / ".kind"
KUBECONFIG = KIND / "control-plane.kubeconfig"
NAMESPACE, NAME = "ovn-system", "ovn"
ROUNDS = 5
LOOPS = 2
SECONDS = 1.5
OURS, THEIRS = "ovn_cluster", "kubernetes.core.k8s"
_BY_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


def _cluster() -> Cluster:
    if not KUBECONFIG.exists():
        raise NotHere(f"there is no {KUBECONFIG.relative_to(ROOT)}: run `make kind` first")
    try:
        cluster = Cluster({"kubeconfig": str(KUBECONFIG)})
        found = cluster.get("ovn.c5c3.io/v1alpha1", "OVNCluster", NAME, NAMESPACE)
    except OvnError as e:
        raise NotHere(f"the kind cluster of the control plane does not answer ({e}): run `make kind` first") from e
    if found is None:
        raise NotHere(f"there is no OVNCluster {NAME} in namespace {NAMESPACE}: run `make kind` first")
    return cluster


def _play(name: str, task: dict[str, t.Any], inventory: Path, times: int = 1) -> list[float]:
    run = play(name, [{"hosts": "localhost", "gather_facts": False, "tasks": [task] * times}], inventory)
    if run.changed:
        raise RuntimeError(
            f"something was not as declared, so this was no run over an unchanged control plane; see {name}.log"
        )
    return run.times(task["name"])


def _definition(cluster: Cluster, found: dict[str, str]) -> dict[str, t.Any]:
    """One of the objects as a file of a user would say it: without what only the API server writes."""
    api_version = next(version for version, kind in KNOWN_KINDS if kind == found["kind"])
    item = cluster.get(api_version, found["kind"], found["name"], found["namespace"] or None)
    if item is None:
        raise RuntimeError(f"{found['kind']} {found['name']} has gone since the last run")
    metadata = {key: value for key, value in item["metadata"].items() if key not in _BY_THE_SERVER}
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


def unchanged_control_plane(_machines: Machines) -> list[Figure]:
    cluster = _cluster()
    inventory = LOGS / "control-plane-inventory.json"
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory.write_text(json.dumps({"all": {"hosts": {"localhost": variables}}}))
    ours = {
        "name": OURS,
        "c5c3.ovn.ovn_cluster": {"kubeconfig": str(KUBECONFIG), "name": NAME, "namespace": NAMESPACE},
    }
    _play("control-plane-first", ours, inventory)  # fills the caches of both sides
    (result,) = answers("control-plane-first", OURS)
    objects = result["objects"]
    definitions = LOGS / "control-plane-objects.json"  # not in the play: scripts have braces that look like templates
    definitions.write_text(json.dumps([_definition(cluster, one) for one in objects]))
    theirs = {
        "name": THEIRS,
        "kubernetes.core.k8s": {"kubeconfig": str(KUBECONFIG), "definition": "{{ item }}"},
        "loop": f"{{{{ lookup('ansible.builtin.file', '{definitions}') | from_json }}}}",
        "loop_control": {"label": "{{ item.kind }} {{ item.metadata.name }}"},
        "no_log": True,  # or each object is printed, which takes longer than it should
        "check_mode": True,  # a measurement changes nothing, whatever it thinks of it
    }
    print(f"Control plane in Kubernetes: {len(objects)} objects, {ROUNDS} rounds, {LOOPS} of them in turns", flush=True)
    first: list[float] = []
    again: list[float] = []
    loops: list[float] = []
    requests: list[float] = []
    for number in range(1, ROUNDS + 1):
        # Ansible packs a module when a play calls it for the first time, ours as well as that of the loop.
        one, other = _play(f"control-plane-{number}", ours, inventory, times=2)
        first.append(one)
        again.append(other)
        requests += [answer["requests"] for answer in answers(f"control-plane-{number}", OURS)]
        if number <= LOOPS:
            loops += _play(f"control-plane-loop-{number}", theirs, inventory)
    what = f"ovn_cluster, {len(objects)} objects, nothing to do"
    return [
        Figure(what, first, "loop of kubernetes.core.k8s", loops, 10, faster=True),
        Figure(f"{what}, packed already", again, "limit", [SECONDS], 1),
        Figure(what, requests, "objects", [len(objects)], 1, "requests"),
    ]


def kind_to_ping(_machines: Machines) -> list[Figure]:
    """What `make kind` noted when it made them."""
    _cluster()
    if not (KIND / "to-ping").exists():
        raise NotHere("OVN came onto these clusters in more than one run: `make kind-down`, then `make kind`")
    taken = float((KIND / "to-ping").read_text())
    created = [float(path.read_text()) for path in sorted(KIND.glob("*.created"))]
    return [Figure("from empty kind clusters to the ping", [taken], "kind create cluster", created, 4)]
