"""Which images hypervisors pull before their pods are replaced, and how."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_pull import (
    image_pull_manifest,
    images_to_pull,
)

Object = dict[str, t.Any]


def daemon_set(*images: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "x", "image": image} for image in images]}}}}


def spec(ovs_tag: str, ovn_tag: str, policy: str = "IfNotPresent", **more: t.Any) -> t.Any:
    images = {"ovsImage": ovs_tag, "ovnImage": ovn_tag}
    given = {key: {"repository": "r", "tag": tag, "pullPolicy": policy} for key, tag in images.items()}
    return parse_spec({**given, **more}, name="ovn", namespace="net")


@pytest.mark.parametrize(
    ("wanted", "observed", "expected"),
    [
        pytest.param(spec("1", "2"), [], [], id="first rollout"),
        pytest.param(spec("1", "2"), [daemon_set("r:1", "r:1"), daemon_set("r:2")], [], id="the same"),
        pytest.param(spec("2", "1"), [daemon_set("r:1"), daemon_set("r:2")], [], id="both are there already"),
        pytest.param(spec("3", "2"), [daemon_set("r:1"), daemon_set("r:2")], ["r:3"], id="Open vSwitch"),
        pytest.param(spec("3", "4"), [daemon_set("r:1"), daemon_set("r:2")], ["r:3", "r:4"], id="both"),
        pytest.param(spec("3", "3"), [daemon_set("r:1")], ["r:3"], id="one for both"),
        pytest.param(spec("3", "4", "Never"), [daemon_set("r:1")], [], id="never pulled"),
    ],
)
def test_images_to_pull(wanted: t.Any, observed: list[Object], expected: list[str]) -> None:
    assert [image.reference for image in images_to_pull(wanted, observed)] == expected


def test_pods_that_pull_run_where_hypervisors_run_and_may_nothing() -> None:
    part = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    declared = spec("3", "4", controller=part, ovs=part, imagePullSecrets=[{"name": "registry"}])
    manifest = image_pull_manifest(declared, images_to_pull(declared, [daemon_set("r:1")]), name="ovn", namespace="net")
    pod = manifest["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["tolerations"]) == (part["nodeSelector"], part["tolerations"])
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert [one["command"][0] for one in (*pod["initContainers"], *pod["containers"])] == ["sh", "sleep"]
    assert (
        manifest["spec"]["selector"]["matchLabels"].items()
        <= manifest["spec"]["template"]["metadata"]["labels"].items()
    )
