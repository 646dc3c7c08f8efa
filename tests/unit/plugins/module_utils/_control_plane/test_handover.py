"""How Southbound members hand the port of chassis over to relays."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.handover import (
    has_moved,
    is_restart_due,
    keep_current_images,
    open_unrestricted_port,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_converge import MemberState
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_settings import (
    DesiredSettings,
    ObservedSettings,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import with_hash

Object = dict[str, t.Any]
CHASSIS, UNRESTRICTED = "pssl:6642:[::]", "pssl:16642:[::]"
SETTINGS = DesiredSettings(connections={UNRESTRICTED: {"role": "", "inactivity_probe": 30000}})


def workload(**images: str) -> Object:
    containers = [{"name": name, "image": image, "command": ["new"]} for name, image in images.items()]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def pod(*, relay: bool = True, revision: str = "new") -> Object:
    containers = {"initContainers": [{"name": "relay"}]} if relay else {}
    return {"metadata": {"labels": {"controller-revision-hash": revision}}, "spec": {**containers}}


MANIFEST = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": {"image": "ovn"}}


def stateful_set(image: str = "ovn") -> Object:
    return {**with_hash({**MANIFEST, "spec": {"image": image}}), "status": {"updateRevision": "new"}}


@pytest.mark.parametrize(
    ("there", "pods", "due"),
    [
        pytest.param(None, {}, False, id="a new control plane"),
        pytest.param(stateful_set("old"), {}, False, id="all pods are away"),
        pytest.param(stateful_set(), {"a": pod()}, False, id="nothing to do"),
        pytest.param(stateful_set("old"), {"a": pod()}, True, id="another template"),
        pytest.param(None, {"a": pod()}, True, id="a killed run has deleted the StatefulSet"),
        pytest.param(stateful_set(), {"a": pod(), "b": pod(revision="old")}, True, id="a killed run has applied it"),
        pytest.param(stateful_set(), {"a": pod(relay=False)}, True, id="a pod of before with the new template"),
    ],
)
def test_when_a_restart_is_due(there: Object | None, pods: dict[str, Object], due: bool) -> None:
    assert is_restart_due(MANIFEST, there, pods) is due


def northd(port: int, *, ready: bool = True, ends: bool = False) -> Object:
    endpoints = ",".join(f"ssl:ovn-southbound-{index}:{port}" for index in range(3))
    command = ["ovn-northd", "--ovnnb-db=ssl:n:6641", f"--ovnsb-db={endpoints}"]
    return {
        "metadata": {"name": "northd", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if ends else {})},
        "spec": {"containers": [{"name": "northd", "command": command}, {"name": "status"}]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


@pytest.mark.parametrize(
    ("pods", "moved"),
    [
        pytest.param([], True, id="there is none"),
        pytest.param([northd(6642)], False, id="of before"),
        pytest.param([northd(6642), northd(16642, ready=False)], False, id="the new one is not ready"),
        pytest.param([northd(6642), northd(16642)], True, id="the new one stands by"),
        pytest.param([northd(6642), northd(16642, ends=True)], False, id="the new one ends"),
        pytest.param([northd(6642, ends=True), northd(16642)], True, id="the old one ends"),
        pytest.param([northd(6642, ready=False), northd(16642, ready=False)], True, id="none works anyway"),
    ],
)
def test_whether_northd_would_be_cut_off(pods: list[Object], moved: bool) -> None:
    assert has_moved(pods) is moved


class Leader:
    """A member; what it is told is kept. `roles` are those of its next observations, the last one for ever."""

    def __init__(self, rows: dict[str, Object], *roles: str, fault: Exception | None = None) -> None:
        self.rows, self.roles, self.fault, self.written = rows, list(roles) or ["leader"], fault, list[t.Any]()

    def examine(self) -> MemberState:
        role = self.roles.pop(0) if len(self.roles) > 1 else self.roles[0]
        return MemberState(t.cast("t.Any", role), reason="no pod leads")

    def read(self) -> ObservedSettings:
        return ObservedSettings("u", {target: {"_uuid": "v", **row} for target, row in self.rows.items()})

    def write(self, operations: t.Sequence[t.Any]) -> None:
        if self.fault is not None:
            raise self.fault
        self.written.append(operations)
        self.rows = {**self.rows, UNRESTRICTED: {"role": "", "inactivity_probe": 30000}}

    def change_timer(self, milliseconds: int) -> None:
        raise AssertionError(milliseconds)


def opened(member: Leader, seconds: float = 5) -> list[str] | None:
    return open_unrestricted_port(member, SETTINGS, Deadline(seconds))


@pytest.mark.parametrize(
    ("rows", "done"),
    [
        pytest.param({CHASSIS: {"role": ""}}, [f"southbound: add connection {UNRESTRICTED}"], id="none of relays"),
        pytest.param({UNRESTRICTED: {"role": "", "inactivity_probe": 60000}}, [], id="timers of a large database"),
    ],
)
def test_the_row_is_there_afterwards(rows: dict[str, Object], done: list[str]) -> None:
    member = Leader(rows)
    assert opened(member) == done
    assert bool(member.written) is bool(done)
    assert UNRESTRICTED in member.rows


def test_a_row_that_shuts_relays_out_is_corrected() -> None:
    member = Leader({UNRESTRICTED: {"role": "ovn-controller", "inactivity_probe": 30000}})
    assert opened(member) == [f"southbound: change connection {UNRESTRICTED}: role 'ovn-controller' to ''"]


def test_without_a_leader_nothing_is_written_and_nothing_refused() -> None:
    assert opened(Leader({}, "none")) is None


def test_an_election_is_waited_for() -> None:
    assert opened(Leader({}, "none", "none", "leader")) == [f"southbound: add connection {UNRESTRICTED}"]


@pytest.mark.parametrize("fault", [Unreachable("the pod is gone"), TimedOut("no answer")])
def test_a_leader_that_cannot_write_is_an_error(fault: Exception) -> None:
    with pytest.raises((Refused, TimedOut), match=str(fault)):
        opened(Leader({}, fault=fault), 0.3)


def test_only_images_stay_as_they_are() -> None:
    desired = workload(northd="ovn:2", status="ovn:2")
    found = keep_current_images(desired, workload(northd="ovn:1"))
    containers = found["spec"]["template"]["spec"]["containers"]
    assert [one["image"] for one in containers] == ["ovn:1", "ovn:2"]
    assert all(one["command"] == ["new"] for one in containers)
    assert desired == workload(northd="ovn:2", status="ovn:2")
