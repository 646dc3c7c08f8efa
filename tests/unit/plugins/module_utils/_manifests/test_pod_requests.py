"""What a pod asks its node for: what was written for one container counts once, and what the others need is a known little more."""

from __future__ import annotations

import collections
import typing as t

import pytest
from built_manifests import hypervisor_manifests_of, manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC, parse_spec

Object = dict[str, t.Any]
UNITS = {"Mi": 1, "Gi": 1024}


def pods(raw: Object) -> dict[str, Object]:
    """The pods of all workloads by name."""
    central = manifests_of(raw, name="ovn", namespace="net")
    hypervisors = hypervisor_manifests_of(parse_spec(raw, name="ovn", namespace="net"))
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in [*central, *hypervisors]
        if "template" in one.get("spec", {})
    }


def containers(pod: Object) -> list[Object]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def asked(pod: Object) -> tuple[int, int]:
    """The sum of all containers, in thousandths of a CPU and MiB. The only init containers go on beside the others, so they count as well."""
    assert all(one["restartPolicy"] == "Always" for one in pod.get("initContainers", []))
    total = collections.Counter[str]()
    for one in containers(pod):
        cpu, memory = (str(one["resources"]["requests"][key]) for key in ("cpu", "memory"))
        total["cpu"] += int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000
        total["memory"] += int(memory[:-2]) * UNITS[memory[-2:]]
    return total["cpu"], total["memory"]


GIVEN = {"resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}
AGENT: Object = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}

PROXY: Object = {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}}
CLIENTS: Object = {"sbConnection": {"allowedNamespaces": ["openstack"]}}
# What has to be given with a field for its workload to exist
WITH: dict[str, Object] = {"metadataAgent": AGENT, "leaderProxy": PROXY}
EVERYTHING: Object = {**WITH, "neutronIntegration": CLIENTS}

# For each workload: the field with the resources of its first daemon, what the pod asks for without it, and what its other containers have at that.
PODS: dict[str, tuple[str, tuple[int, int], tuple[int, int]]] = {
    "ovn-northbound": ("northbound", (50, 64), (0, 0)),
    "ovn-southbound": ("southbound", (70, 128), (20, 64)),  # the relay
    "ovn-northd": ("northd", (55, 96), (5, 32)),  # what labels the pod
    "ovn-observer": ("observer", (10, 48), (0, 0)),
    "ovn-leader-proxy": ("leaderProxy", (10, 48), (0, 0)),
    "ovs": ("ovs", (100, 128), (50, 64)),  # ovsdb-server
    "ovn-controller": ("controller", (55, 96), (5, 32)),  # the agent
    "ovn-metadata-agent": ("metadataAgent", (50, 512), (0, 0)),
}


def test_every_workload_is_in_the_table() -> None:
    assert pods(EVERYTHING).keys() == PODS.keys()
    assert pods({}).keys() == PODS.keys() - {"ovn-metadata-agent", "ovn-leader-proxy"}


@pytest.mark.parametrize(("workload", "default"), [(name, row[1]) for name, row in PODS.items()])
def test_what_a_pod_asks_for_by_default(workload: str, default: tuple[int, int]) -> None:
    assert asked(pods(EVERYTHING)[workload]) == default


@pytest.mark.parametrize(("workload", "field", "others"), [(name, row[0], row[2]) for name, row in PODS.items()])
def test_what_was_written_counts_once(workload: str, field: str, others: tuple[int, int]) -> None:
    given = {**EVERYTHING, field: {**WITH.get(field, {}), **GIVEN}}
    assert asked(pods(given)[workload]) == (2000 + others[0], 4096 + others[1])


@pytest.mark.parametrize(
    ("raw", "workload", "container"),
    [
        ({"ovs": {"ovsdbServer": GIVEN}}, "ovs", "ovsdb-server"),
        ({"ovs": GIVEN}, "ovs", "ovs-vswitchd"),
        ({"relay": GIVEN}, "ovn-southbound", "relay"),
        ({"southbound": GIVEN}, "ovn-southbound", "database"),
        ({"observer": GIVEN}, "ovn-observer", "observer"),
        ({"northd": GIVEN}, "ovn-northd", "northd"),
        ({"controller": GIVEN}, "ovn-controller", "ovn-controller"),
    ],
    ids=str,
)
def test_a_field_is_for_one_container(raw: Object, workload: str, container: str) -> None:
    having = [
        (name, one["name"])
        for name, pod in pods(raw).items()
        for one in containers(pod)
        if one["resources"]["requests"] == GIVEN["resources"]["requests"]
    ]
    assert having == [(workload, container)]


def test_every_field_with_resources_is_for_one_container() -> None:
    """A new one that counts for two containers fails here."""
    found = []

    def walk(schema: Object, path: tuple[str, ...]) -> None:
        for name, field in schema.get("properties", {}).items():
            if name == "resources":
                found.append(path)
            walk(field, (*path, name))

    walk(CLUSTER_SPEC, ())
    for path in found:
        raw: Object = dict(GIVEN)
        for key in reversed(path):
            raw = {key: {**WITH.get(key, {}), **raw}}
        having = [
            one["name"]
            for pod in pods({"neutronIntegration": CLIENTS, **raw}).values()
            for one in containers(pod)
            if one["resources"]["requests"] == GIVEN["resources"]["requests"]
        ]
        assert len(having) == 1, path
