"""Which images hypervisors pull before their pods are replaced, and how."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

import pytest
from built_manifests import hypervisor_manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import (
    LACKS,
    guard_command,
    image_pull_manifest,
    images_to_pull,
    required_names,
)

Object = dict[str, t.Any]


def daemon_set(*images: str, program: str = "") -> Object:
    env = {"env": [{"name": "A", "value": "b"}, {"name": "OVN_METADATA_PROGRAM", "value": program}]} if program else {}
    return {"spec": {"template": {"spec": {"containers": [{"name": "x", "image": image, **env} for image in images]}}}}


def spec(ovs_tag: str, ovn_tag: str, policy: str = "IfNotPresent", **more: t.Any) -> t.Any:
    images = {"ovsImage": ovs_tag, "ovnImage": ovn_tag}
    given = {key: {"repository": "r", "tag": tag, "pullPolicy": policy} for key, tag in images.items()}
    return parse_spec({"tls": {"enabled": False}, **given, **more}, name="ovn", namespace="net")


def desired(*args: t.Any, **more: t.Any) -> list[Object]:
    manifests = hypervisor_manifests_of(spec(*args, **more), southbound=[], tls_secret=None)
    return [one for one in manifests if one["kind"] == "DaemonSet"]


AGENT = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}
OTHER = {**AGENT, "program": "neutron-ovn-agent"}
FIRST = daemon_set("r/neutron:1", program="neutron-ovn-metadata-agent")
OLDER = daemon_set("r/neutron:1")  # from before the program could be chosen
SECOND = daemon_set("r/neutron:1", program="neutron-ovn-agent")
BOTH = [daemon_set("r:1", "r:1"), daemon_set("r:2")]


@pytest.mark.parametrize(
    ("declared", "observed", "expected"),
    [
        pytest.param(desired("1", "2"), [], [], id="first rollout"),
        pytest.param(desired("1", "2"), BOTH, [], id="the same"),
        pytest.param(desired("2", "1"), BOTH, [], id="both are there already"),
        pytest.param(desired("3", "2"), BOTH, ["r:3"], id="Open vSwitch"),
        pytest.param(desired("3", "4"), BOTH, ["r:3", "r:4"], id="both"),
        pytest.param(desired("3", "3"), [daemon_set("r:1")], ["r:3"], id="one for both"),
        pytest.param(desired("3", "4", "Never"), [daemon_set("r:1")], [], id="never pulled"),
        pytest.param(desired("3", "2", ovs={"mode": "host"}), BOTH[1:], [], id="Open vSwitch of the host"),
        pytest.param(desired("3", "4", ovs={"mode": "host"}), BOTH[1:], ["r:4"], id="OVN beside that of the host"),
        pytest.param(desired("1", "2", metadataAgent=AGENT), BOTH, ["r/neutron:1"], id="the first metadata agent"),
        pytest.param(desired("1", "2", metadataAgent=AGENT), [*BOTH, FIRST], [], id="the same agent"),
        pytest.param(desired("1", "2", metadataAgent=AGENT), [*BOTH, OLDER], [], id="that of an older release"),
        pytest.param(
            desired("1", "2", metadataAgent=OTHER), [*BOTH, OLDER], ["r/neutron:1"], id="older, another program"
        ),
        pytest.param(desired("1", "2", metadataAgent=OTHER), [*BOTH, FIRST], ["r/neutron:1"], id="another program"),
        pytest.param(desired("1", "2", metadataAgent=OTHER), [*BOTH, SECOND], [], id="the same other program"),
    ],
)
def test_images_to_pull(declared: list[Object], observed: list[Object], expected: list[str]) -> None:
    assert images_to_pull(declared, observed) == dict.fromkeys(expected, "IfNotPresent")


def test_an_image_is_asked_for_what_its_own_containers_need() -> None:
    declared = spec("3", "4", metadataAgent=AGENT)
    manifest = image_pull_manifest(declared, {"r/neutron:1": "IfNotPresent"}, ["x"], name="ovn", namespace="net")
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    assert {"haproxy", "neutron-ovn-metadata-agent"} <= {*container["command"]}
    assert "neutron-ovn-agent" not in container["command"]
    assert "ovn-controller" not in container["command"]


def test_pods_that_pull_run_where_hypervisors_run_and_may_nothing() -> None:
    part = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    declared = spec("3", "4", controller=part, ovs=part, imagePullSecrets=[{"name": "registry"}])
    images = {"r:3": "IfNotPresent", "r:4": "Always"}
    manifest = image_pull_manifest(declared, images, ["x", "y"], name="ovn", namespace="net")
    pod = manifest["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["tolerations"]) == (part["nodeSelector"], part["tolerations"])
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert pod["serviceAccountName"] == "ovn-controller"
    # The default would be that of the daemons, which preempts everybody else.
    assert "priorityClassName" not in pod
    assert {one["image"]: one["imagePullPolicy"] for one in pod["containers"]} == images
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    # The API server takes one value for each.
    assert [one["matchFields"][0]["values"] for one in terms] == [["x"], ["y"]]
    labels = manifest["spec"]["template"]["metadata"]["labels"]
    assert manifest["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.fixture
def image(tmp_path: pathlib.Path) -> pathlib.Path:
    """A search path with a shell and two programs. `sleep` ends at once here."""
    for name in ("sh", "ovs-vsctl"):
        (tmp_path / name).symlink_to(shutil.which("sh") or "/bin/sh")
    (tmp_path / "sleep").write_text("#!/bin/sh\n")
    (tmp_path / "sleep").chmod(0o755)
    return tmp_path


def run(image: pathlib.Path, *names: str) -> tuple[int, str]:
    """Exit status, and what a kubelet would read as the termination message."""
    message = image / "message"
    command = [word.replace("/dev/termination-log", str(message)) for word in guard_command(names)]
    done = subprocess.run(command, env={**os.environ, "PATH": str(image)}, check=False, timeout=10)
    return done.returncode, message.read_text() if message.exists() else ""


def test_an_image_with_everything_runs_on(image: pathlib.Path) -> None:
    assert run(image, "sh", "sleep", "ovs-vsctl", str(image)) == (0, "")


def test_what_is_missing_is_said(image: pathlib.Path) -> None:
    found = run(image, "sh", "ovn-controller", "ovs-vsctl", "/usr/share/nothing.ovsschema")
    assert found == (LACKS, "ovn-controller /usr/share/nothing.ovsschema\n")


def test_nothing_is_asked_of_an_image_that_nobody_knows(image: pathlib.Path) -> None:
    assert run(image) == (0, "")


def test_what_is_needed_follows_the_specification() -> None:
    def names(image: str = "agent", **spec: object) -> set[str]:
        return set(required_names("hypervisors", image, parse_spec(dict(spec), name="ovn", namespace="net")))

    def of_agent(**spec: object) -> set[str]:
        return set(required_names("hypervisors", "metadata", parse_spec(dict(spec), name="ovn", namespace="net")))

    assert {"neutron-ovn-metadata-agent", "haproxy"} <= of_agent()
    assert "neutron-ovn-agent" not in of_agent()
    other = of_agent(metadataAgent={"program": "neutron-ovn-agent"})
    assert other ^ of_agent() == {"neutron-ovn-agent", "neutron-ovn-metadata-agent"}
    assert "neutron-ovn-agent" in other
    assert "iptables-restore" not in of_agent()
    assert "iptables-restore" in of_agent(ovs={"datapathType": "netdev"})
    assert "ovn-controller" in names("ovn")
    assert "python3>=3.9" in names()
    assert "openssl" not in names()
    assert "openssl" in names(tls={"nodeCertificates": "own"})
