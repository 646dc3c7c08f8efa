"""The leader proxy of an OVNCluster on a real API server: who gets its address when, and when it goes."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _control_plane import WHOLE, ControlPlane, available, touched
from _pods_on_api import Kubelet

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures
NAME = "ovn-leader-proxy"
OBJECTS = {f"{kind} {NAME}" for kind in ("DaemonSet", "NetworkPolicy", "Service", "ServiceAccount")}
NEUTRON = {"neutronIntegration": {"sbConnection": {"allowedNamespaces": ["openstack"]}}}
NODES = {"nodeSelector": {"kubernetes.io/os": "linux"}}
PROXY: dict[str, t.Any] = {**WHOLE, **NEUTRON, "leaderProxy": {"enabled": True, **NODES}}
FIELDS = ("leader_proxy_northbound", "leader_proxy_southbound")


def running(plane: ControlPlane, nodes: int, of: int = 2) -> None:
    """As the controller of DaemonSets would tell."""
    generation = plane.get("DaemonSet", NAME)["metadata"]["generation"]
    status = {
        "observedGeneration": generation,
        "desiredNumberScheduled": of,
        "currentNumberScheduled": of,
        "numberMisscheduled": 0,
        "numberReady": nodes,
        "numberAvailable": nodes,
    }
    plane.patch("DaemonSet", f"{NAME}/status", {"status": status})


def left_by_hypervisors(plane: ControlPlane) -> set[str]:
    """Put objects of hypervisors in the same namespace there, as ovn_hypervisors applies them."""
    annotations = plane.get("ServiceAccount", "ovn-northd")["metadata"]["annotations"]
    for component in ("metadata-agent", "image-pull", "controller"):
        labels = {**_control_plane.hypervisors(), "app.kubernetes.io/component": component}
        metadata = {"name": f"of-{component}", "labels": labels, "annotations": annotations}
        plane.server.request("POST", plane.place("ConfigMap", "").rstrip("/"), {"metadata": metadata})
    return {f"ConfigMap of-{component}" for component in ("metadata-agent", "image-pull", "controller")}


def test_its_address_is_published_when_it_runs_and_gone_before_it_goes(plane: ControlPlane, kubelet: Kubelet) -> None:
    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(spec={**WHOLE, **NEUTRON}, **options)
    others = left_by_hypervisors(plane)

    # Before it runs: it is there, and nobody is told.
    predicted = plane(spec=PROXY, check=True, **options)
    made = plane(spec=PROXY, **options)
    assert {name for name, action in touched(predicted).items() if action == "created"} == OBJECTS
    assert {name for name, action in touched(made).items() if action == "created"} == OBJECTS
    assert [made["endpoints"][field] for field in FIELDS] == ["", ""]
    status = made["cluster"]["status"]["endpoints"]
    assert "leaderProxyNorthbound" not in status
    services = [plane.get("Service", f"ovn-northbound-{index}")["spec"]["clusterIP"] for index in range(3)]
    assert status["northboundClusterIPs"] == ",".join(f"tcp:{address}:6641" for address in services)
    assert status["southboundUnrestrictedClusterIPs"].endswith(":16642")

    # A run that waits says on how many nodes it runs.
    for name in ("ovn-northd", "ovn-observer"):
        available(plane, name)
    running(plane, 1)
    late = plane(spec=PROXY, wait_timeout=10)
    assert "1 of 2 pods are available" in str(late["warnings"])
    assert [late["endpoints"][field] for field in FIELDS] == ["", ""]

    # Nobody gets it before the status has it, for until then nothing keeps the proxy.
    running(plane, 2)
    info = plane.info()["endpoints"]
    assert [info[field] for field in FIELDS] == ["", ""]
    ran = plane(spec=PROXY, wait_timeout=60)
    address = plane.get("Service", NAME)["spec"]["clusterIP"]
    expected = [f"tcp:{address}:6641", f"tcp:{address}:16642"]
    assert [ran["endpoints"][field] for field in FIELDS] == expected
    status = ran["cluster"]["status"]["endpoints"]
    assert [status["leaderProxyNorthbound"], status["leaderProxySouthbound"]] == expected
    info = plane.info()["endpoints"]
    assert [info[field] for field in FIELDS] == expected
    assert info["northbound_cluster_ips"] == status["northboundClusterIPs"]
    assert not plane(spec=PROXY, wait_timeout=60)["changed"]

    # A node that is away changes nothing for the others.
    running(plane, 1)
    assert [plane(spec=PROXY, **options)["endpoints"][field] for field in FIELDS] == expected

    # Whoever has the address would lose both databases.
    before = plane.ours()
    for check in (True, False):
        refused = plane(spec={**WHOLE, **NEUTRON}, check=check, may_fail=True, **options)
        assert refused.failed
        assert f"its status publishes tcp:{address}:6641 and tcp:{address}:16642" in refused["msg"]
        assert "Set spec.leaderProxy.published to false" in refused["msg"]
        fewer = {"enabled": True, "nodeSelector": {**NODES["nodeSelector"], "role": "control"}}
        refused = plane(spec={**PROXY, "leaderProxy": fewer}, check=check, may_fail=True, **options)
        assert "takes the proxy away from nodes (nodeSelector asks for role=control)" in refused["msg"]
        fewer = {"enabled": True, **NODES, "tolerations": []}
        refused = plane(spec={**PROXY, "leaderProxy": fewer}, check=check, may_fail=True, **options)
        assert 'takes the proxy away from nodes (tolerations lack {"operator": "Exists"})' in refused["msg"]
    assert plane.ours() == before

    hidden = plane(spec={**PROXY, "leaderProxy": {"enabled": True, **NODES, "published": False}}, **options)
    assert touched(hidden) == {"OVNCluster ovn": "changed"}
    assert "leaderProxyNorthbound" not in hidden["cluster"]["status"]["endpoints"]
    info = plane.info()["endpoints"]
    assert [info[field] for field in FIELDS] == ["", ""]
    gone = plane(spec={**WHOLE, **NEUTRON}, **options)
    assert {name for name, action in touched(gone).items() if action == "deleted"} == OBJECTS
    assert others <= plane.ours().keys()
    assert not OBJECTS & plane.ours().keys()


def test_it_goes_with_its_control_plane(plane: ControlPlane, kubelet: Kubelet) -> None:
    plane(spec=PROXY, wait=False, wait_timeout=120)
    predicted = plane(check=True, spec=None, state="absent")
    assert {name for name, action in touched(predicted).items() if action == "deleted"} >= OBJECTS


def test_clients_and_nodes_have_to_be_named(plane: ControlPlane) -> None:
    """By us, and by the API server for whoever applies the resource."""
    refused = plane(spec={**WHOLE, "leaderProxy": {"enabled": True, **NODES}}, may_fail=True)
    assert "Name the namespace of Neutron in spec.neutronIntegration.sbConnection.allowedNamespaces" in refused["msg"]
    plane.late(spec=_control_plane.SPEC)
    for refused_by_server in (
        {"leaderProxy": {"enabled": True, **NODES}},
        {**NEUTRON, "leaderProxy": {"enabled": True}},
    ):
        with pytest.raises(OSError, match="422"):
            plane.patch("OVNCluster", "ovn", {"spec": refused_by_server}, manager="kubectl")
    plane.patch(
        "OVNCluster", "ovn", {"spec": {**NEUTRON, "leaderProxy": {"enabled": True, **NODES}}}, manager="kubectl"
    )
