from __future__ import annotations

import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import (
    CONTRACT,
    PYTHON,
    command_for,
    used_images,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.creation import (
    control_plane_manifests,
    hypervisor_cluster_manifests,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.observed_cluster import ObservedKubernetes
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.storage import (
    find_container,
    judge_image,
    judge_storage,
    lost_functions,
)

Object = dict[str, t.Any]


def storage_class(name: str, default: bool = False) -> Object:
    marks = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": marks}}


def volume(storage_class: str, phase: str = "Available") -> Object:
    return {"spec": {"storageClassName": storage_class}, "status": {"phase": phase}}


def claims(*databases: str) -> list[Object]:
    return [{"metadata": {"name": f"data-ovn-{database}-0"}} for database in databases]


BOTH = claims("northbound", "southbound")


@pytest.mark.parametrize(
    ("declared", "classes", "volumes", "there", "codes"),
    [
        pytest.param("fast", [storage_class("fast")], [], [], [], id="declared and there"),
        pytest.param("fast", [storage_class("slow")], [], [], ["storage_class_missing"], id="declared and missing"),
        pytest.param("fast", [], [volume("fast"), volume("fast")], [], [], id="volumes made by hand need no class"),
        pytest.param("fast", [], [volume("fast")], [], ["storage_class_missing"], id="too few volumes made by hand"),
        pytest.param(
            "fast", [], [volume("fast", "Bound")] * 2, [], ["storage_class_missing"], id="volumes that are taken"
        ),
        pytest.param(None, [storage_class("fast", default=True)], [], [], [], id="a default"),
        pytest.param(None, [storage_class("fast")], [], [], ["storage_class_default_missing"], id="no default"),
        pytest.param(None, [], [volume(""), volume("")], [], [], id="volumes without a class"),
        pytest.param("fast", [], [], BOTH, [], id="all claims exist"),
        pytest.param("fast", [], [], claims("northbound"), ["storage_class_missing"], id="one claim exists"),
        pytest.param("fast", None, [], [], [], id="classes cannot be read"),
        pytest.param("fast", [], None, [], [], id="volumes cannot be read"),
    ],
)
def test_judge_storage(
    declared: str | None,
    classes: list[Object] | None,
    volumes: list[Object] | None,
    there: list[Object],
    codes: list[str],
) -> None:
    storage = {"storageClass": declared} if declared else {}
    raw = {database: {"replicas": 1, "storage": storage} for database in ("northbound", "southbound")}
    observed = ObservedKubernetes(storage_classes=classes, volumes=volumes, claims=there)
    found = judge_storage(parse_spec(raw, name="ovn", namespace="net"), observed)
    assert [one.code for one in found] == codes


def test_the_claims_that_would_wait_and_the_classes_that_exist_are_named() -> None:
    raw = {"northbound": {"replicas": 1, "storage": {"storageClass": "fats"}}, "southbound": {"replicas": 1}}
    observed = ObservedKubernetes(storage_classes=[storage_class("fast", default=True)], volumes=[])
    (found,) = judge_storage(parse_spec(raw, name="ovn", namespace="net"), observed)
    assert found.object == "StorageClass fats"
    assert found.cause == (
        "It does not exist: data-ovn-northbound-0 would wait for a volume forever. The classes of this cluster are fast."
    )


PAGE = Path(__file__).resolve().parents[5] / "docs" / "kubernetes.md"
AGENT = {
    "enabled": True,
    "image": {"repository": "example.org/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}
SPEC = parse_spec({"metadataAgent": AGENT}, name="ovn", namespace="net")
WITH_AGENT_IMAGE = parse_spec(
    {"metadataAgent": AGENT, "agentImage": {"repository": "example.org/python", "tag": "3"}},
    name="ovn",
    namespace="net",
)
MANIFESTS: dict[Kind, list[dict[str, t.Any]]] = {
    "cluster": control_plane_manifests(WITH_AGENT_IMAGE),
    "hypervisors": hypervisor_cluster_manifests(WITH_AGENT_IMAGE),
}


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_the_table_has_every_container_and_its_first_program(kind: Kind) -> None:
    """Of each image; the observer is a second user of what the container status needs."""
    images = {reference: name for name, reference in used_images(kind, WITH_AGENT_IMAGE).items()}
    table = {(one.image, one.container): set[str]() for one in CONTRACT if one.kind == kind}
    for one in CONTRACT:
        if one.kind == kind:
            table[one.image, one.container] |= {program.partition(">=")[0] for program in one.programs}
    for manifest in MANIFESTS[kind]:
        template = (manifest.get("spec") or {}).get("template") or {"spec": {"containers": []}}
        for container in (*template["spec"].get("initContainers", ()), *template["spec"]["containers"]):
            name = "status" if container["name"] == "observer" else container["name"]
            programs = table[images[container["image"]], name] | table.get(
                (images[container["image"]], "northd"), set()
            )
            assert container["command"][0] in programs
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container:
                    assert container[probe]["exec"]["command"][0] in programs


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_the_check_prints_exactly_what_is_missing(kind: Kind) -> None:
    shell, *command = command_for(kind, "ovn")
    extra = ["no-such-program", "/no/such/file", "/etc/passwd", "cat"]
    done = subprocess.run([f"/bin/{shell}", *command[:3], *extra], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["no-such-program", "/no/such/file"]
    assert done.stderr == ""


def container(name: str, image: str, running: bool = True) -> dict[str, t.Any]:
    state = {"running": {}} if running else {"waiting": {}}
    return {
        "metadata": {"name": f"pod-{name}"},
        "spec": {"containers": [{"name": name, "image": image}]},
        "status": {"containerStatuses": [{"name": name, "state": state}]},
    }


def test_only_a_running_container_of_the_same_image_is_asked() -> None:
    pods = [container("a", "ovn:1"), container("b", "ovn:2", running=False), container("c", "ovn:2")]
    assert find_container(pods, "ovn:2") == ("pod-c", "c")
    assert find_container(pods, "ovn:3") is None


@pytest.mark.parametrize(
    ("kind", "image", "missing", "words", "lost"),
    [
        pytest.param("cluster", "ovn", [], "", 0, id="complete"),
        pytest.param(
            "cluster",
            "ovn",
            ["ovsdb-client"],
            "no ovsdb-client, which the container database, relay needs",
            0,
            id="required",
        ),
        pytest.param("cluster", "agent", [PYTHON], "", 2, id="the control plane works without Python"),
        pytest.param(
            "hypervisors",
            "agent",
            [PYTHON],
            "no python3>=3.9, which the container agent needs",
            0,
            id="the agent does not",
        ),
        pytest.param("hypervisors", "ovn", [PYTHON], "", 0, id="ovn-controller does"),
        pytest.param("hypervisors", "agent", ["openssl"], "", 1, id="requests are only for certificates of nodes"),
        pytest.param("hypervisors", "ovs", ["ip"], "", 1, id="addresses are only for an underlay bridge"),
        pytest.param("cluster", "ovn", ["sh"], "the container database, relay, northd needs", 0, id="used by several"),
    ],
)
def test_judge_image(kind: Kind, image: str, missing: list[str], words: str, lost: int) -> None:
    found = judge_image(kind, SPEC, image, missing, "p")
    assert [one.code for one in found] == (["image_incomplete"] if words else [])
    assert all(words in one.cause for one in found)
    assert len(lost_functions(kind, [image], missing)) == lost


def test_python_is_needed_in_the_image_of_the_agents_alone() -> None:
    """Where the specification names one; the other image is then asked for nothing of it."""
    (found,) = judge_image("cluster", WITH_AGENT_IMAGE, "agent", [PYTHON], "p")
    assert (found.object, found.cause) == (
        "Image example.org/python:3",
        "It has no python3>=3.9, which the container status needs (pod p runs it).",
    )
    assert "declare it as agentImage" in found.next_step
    assert judge_image("cluster", WITH_AGENT_IMAGE, "agent", ["sleep"], "p") == []
    for kind in MANIFESTS:
        assert PYTHON not in command_for(kind, "ovn")
        assert PYTHON in command_for(kind, "agent")


@pytest.mark.parametrize(
    ("version", "missing"), [("(3, 8, 18)", ["python3>=3.9"]), ("(3, 9, 0)", []), ("(3, 13, 1)", [])]
)
def test_an_older_python_is_none(tmp_path: Path, version: str, missing: list[str]) -> None:
    python = tmp_path / "python3"
    python.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.version_info = {version}; exec(sys.argv[1])' \"$2\"\n"
    )
    python.chmod(0o755)
    _shell, *command = command_for("cluster", "agent")
    for path, expected in ((str(tmp_path), missing), ("/nowhere", ["python3>=3.9"])):
        done = subprocess.run(
            ["/bin/sh", *command[:3], PYTHON], capture_output=True, text=True, check=True, env={"PATH": path}
        )
        assert (done.stdout.split(), done.stderr) == (expected, "")


def test_a_metadata_agent_needs_its_program_alone() -> None:
    assert judge_image("hypervisors", SPEC, "metadata", ["neutron-ovn-agent"], "p") == []
    assert lost_functions("hypervisors", ["metadata"], ["neutron-ovn-agent"]) == [
        "`metadataAgent.program` can only be neutron-ovn-metadata-agent"
    ]
    other = parse_spec({"metadataAgent": {**AGENT, "program": "neutron-ovn-agent"}}, name="ovn", namespace="net")
    assert judge_image("hypervisors", other, "metadata", ["neutron-ovn-metadata-agent"], "p") == []
    (found,) = judge_image("hypervisors", other, "metadata", ["neutron-ovn-agent"], "p")
    assert "no neutron-ovn-agent, which the container ovn-metadata-agent needs" in found.cause


def test_a_leader_proxy_needs_python() -> None:
    clients = {"sbConnection": {"allowedNamespaces": ["openstack"]}}
    proxy = {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}}
    spec = parse_spec({"leaderProxy": proxy, "neutronIntegration": clients}, name="ovn", namespace="net")
    (found,) = judge_image("cluster", spec, "agent", [PYTHON], "p")
    assert "no python3>=3.9, which the container leader-proxy needs" in found.cause


def test_an_underlay_bridge_needs_what_is_optional_without() -> None:
    own = parse_spec({"tls": {"nodeCertificates": "own"}}, name="ovn", namespace="net")
    (found,) = judge_image("hypervisors", own, "agent", ["openssl"], "p")
    assert "no openssl, which the container agent needs" in found.cause

    raw = {"ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-phy", "interface": "eth1"}}}
    (found,) = judge_image("hypervisors", parse_spec(raw, name="ovn", namespace="net"), "ovs", ["ip"], "p")
    assert "no ip, which the container ovs-vswitchd needs" in found.cause


def test_page_lists_the_contract() -> None:
    """Where they differ, this prints the items that belong there."""

    def code(names: t.Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    clusters = {"cluster": "control plane", "hypervisors": "hypervisors"}
    items = [
        f"- {clusters[one.kind]}, {one.image}, {one.container}: {code((*one.programs, *one.files))}"
        + (f"; without: {one.without}" if one.without else "")
        for one in CONTRACT
    ]
    section = PAGE.read_text(encoding="utf-8").partition("\n## What an image must contain\n")[2].partition("\n## ")[0]
    shown = [line for line in section.splitlines() if line.startswith("- ")]
    assert shown == items, "\n".join(items)
