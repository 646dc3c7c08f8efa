"""The operator on a real API server, with database pods on loopback: one OVNCluster is applied, and nobody runs a playbook."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _control_plane import WHOLE, ControlPlane, available
from _operated import Operated, define
from _pods_on_api import Kubelet
from conftest import until

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


@pytest.fixture
def operated(plane: ControlPlane, kubelet: Kubelet) -> t.Iterator[Operated]:
    define(plane)
    one = Operated(plane, kubelet.cluster({"kubeconfig": plane.server.kubeconfig}))
    one.operator.start()
    yield one
    one.operator.stop(30)


def test_an_ovncluster_is_rolled_out_edited_and_deleted(operated: Operated, plane: ControlPlane) -> None:
    operated.apply(WHOLE)
    operated.deployments_available()
    condition = operated.await_condition("True", "AsDeclared", 120)
    assert condition["message"] == "The control plane is as declared."
    assert operated.condition("NorthboundReady")["status"] == operated.condition("SouthboundReady")["status"] == "True"
    assert plane.get("OVNCluster", "ovn")["metadata"]["finalizers"] == ["ovn.c5c3.io/operator"]
    assert any(reason == "Changed" and "StatefulSet" in message for reason, message in operated.events())

    # Nothing to do: nothing is written, and the runs that its own changes set off come to an end.
    until(lambda: operated.runs().get("unchanged"), "a run that finds nothing to do")
    versions, changed = plane.ours(), operated.runs()["changed"]
    before = operated.runs()["unchanged"]
    operated.wake()
    until(lambda: operated.runs()["unchanged"] > before, "one more run")
    assert plane.ours() == versions
    assert operated.runs()["changed"] == changed

    # An edit by its owner
    operated.apply({**WHOLE, "northd": {"replicas": 1}})
    until(lambda: plane.get("Deployment", "ovn-northd")["spec"]["replicas"] == 1, "the edit to arrive")
    available(plane, "ovn-northd")
    operated.await_condition("True", "AsDeclared")

    # Its end: no data
    claims = [f"data-ovn-{d}-{i}" for d, size in _control_plane.SIZES.items() for i in range(size)]
    plane.remove("OVNCluster", "ovn")
    for database in _control_plane.SIZES:
        until(lambda d=database: not operated.is_there("StatefulSet", f"ovn-{d}"), f"the StatefulSet of {database} to go")
    for database, size in _control_plane.SIZES.items():
        for index in range(size):
            plane.remove("Pod", f"ovn-{database}-{index}") if operated.is_there("Pod", f"ovn-{database}-{index}") else None
    until(lambda: not operated.is_there("OVNCluster", "ovn"), "the OVNCluster to go", 60)
    for claim in claims:
        assert operated.is_there("PersistentVolumeClaim", claim)
    for database in _control_plane.SIZES:
        assert operated.is_there("ConfigMap", f"ovn-{database}-record")
