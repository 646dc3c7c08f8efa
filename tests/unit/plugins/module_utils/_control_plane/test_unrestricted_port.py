"""Members that serve all clients on the port of chassis."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.unrestricted_port import (
    serves_chassis_port_alone,
    with_present_images,
)


def workload(**images: str) -> dict[str, t.Any]:
    containers = [{"name": name, "image": image, "command": ["new"]} for name, image in images.items()]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def stateful_set(*ports: int) -> dict[str, t.Any]:
    found = workload(database="ovn")
    found["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": port} for port in ports]
    return found


@pytest.mark.parametrize(
    ("there", "alone"), [(None, False), (stateful_set(6642, 6644), True), (stateful_set(16642, 6644), False)]
)
def test_who_has_no_port_without_a_role(there: dict[str, t.Any] | None, alone: bool) -> None:
    assert serves_chassis_port_alone(there) is alone


def test_only_images_stay_as_they_are() -> None:
    desired = workload(northd="ovn:2", status="ovn:2")
    found = with_present_images(desired, workload(northd="ovn:1"))
    containers = found["spec"]["template"]["spec"]["containers"]
    assert [one["image"] for one in containers] == ["ovn:1", "ovn:2"]
    assert all(one["command"] == ["new"] for one in containers)
    assert desired == workload(northd="ovn:2", status="ovn:2")
