"""Who reaches the members from outside, on a real API server: source ranges, policies, and no exposed port without TLS by accident."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _control_plane import ControlPlane, touched

plane = _control_plane.plane  # fixture

NETWORKS = ["192.0.2.0/24", "198.51.100.7/32"]


def exposed(kind: str = "LoadBalancer", **more: t.Any) -> dict[str, t.Any]:
    service = {"type": kind, **more}
    return {database: {"replicas": 1, "service": service} for database in ("northbound", "southbound")}


def service_of(plane: ControlPlane) -> t.Any:
    return plane.get("Service", "ovn-southbound-0")["spec"]


def sources_of(plane: ControlPlane, port: int = 6642) -> list[t.Any]:
    """From where the policy lets clients in, for each of its rules."""
    rules = plane.get("NetworkPolicy", "ovn-southbound")["spec"]["ingress"]
    return [rule.get("from") for rule in rules if [one["port"] for one in rule["ports"]] == [port]]


def test_allowed_networks_come_and_go(plane: ControlPlane) -> None:
    limited = exposed(allowedCidrs=NETWORKS, externalTrafficPolicy="Local")
    plane.begin(spec=limited)
    assert service_of(plane)["loadBalancerSourceRanges"] == NETWORKS
    assert service_of(plane)["externalTrafficPolicy"] == "Local"
    assert [{"ipBlock": {"cidr": network}} for network in NETWORKS] in sources_of(plane)
    assert None not in sources_of(plane), "everybody"
    assert touched(plane.late(spec=limited)) == {}

    other = exposed(allowedCidrs=NETWORKS[:1], externalTrafficPolicy="Local")
    assert touched(plane.late(spec=other))["Service ovn-southbound-0"] == "changed"
    assert service_of(plane)["loadBalancerSourceRanges"] == NETWORKS[:1]

    plane.late(spec=exposed())
    assert "loadBalancerSourceRanges" not in service_of(plane)
    assert service_of(plane)["externalTrafficPolicy"] == "Cluster"
    assert None in sources_of(plane)
    plane.late(spec=exposed("NodePort", allowedCidrs=NETWORKS, externalTrafficPolicy="Local"))
    assert "loadBalancerSourceRanges" not in service_of(plane)
    assert None not in sources_of(plane)
    plane.late(spec=exposed("ClusterIP", allowedCidrs=NETWORKS))
    assert "externalTrafficPolicy" not in service_of(plane)
    assert None not in sources_of(plane)


def test_the_port_for_neutron_has_networks_and_numbers_of_its_own(plane: ControlPlane) -> None:
    connection = {"allowedCidrs": NETWORKS[1:], "nodePorts": [30042]}
    spec = {
        **exposed(allowedCidrs=NETWORKS[:1], externalTrafficPolicy="Local"),
        "neutronIntegration": {"sbConnection": connection},
    }
    plane.begin(spec=spec)
    assert service_of(plane)["loadBalancerSourceRanges"] == NETWORKS
    assert [port["nodePort"] for port in service_of(plane)["ports"] if port["port"] == 16642] == [30042]
    assert [{"ipBlock": {"cidr": NETWORKS[0]}}] in sources_of(plane)
    assert [{"ipBlock": {"cidr": NETWORKS[1]}}] in sources_of(plane, 16642)
    assert touched(plane.late(spec=spec)) == {}


def test_families_of_services(plane: ControlPlane) -> None:
    """The API server of the tests has addresses of one family."""
    declared = {"network": {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4"]}}
    plane.begin(spec=declared)
    for name in ("ovn-southbound", "ovn-southbound-0", "ovn-sb"):
        spec = plane.get("Service", name)["spec"]
        assert (spec["ipFamilyPolicy"], spec["ipFamilies"]) == ("PreferDualStack", ["IPv4"])
    assert touched(plane.late(spec=declared)) == {}


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_no_port_is_exposed_without_tls_by_accident(plane: ControlPlane, kind: str) -> None:
    plain = {"tls": {"enabled": False}}
    refused = plane(spec={**exposed(kind), **plain}, may_fail=True)
    assert "spec.northbound.service.allowPlaintext: true" in refused["msg"]
    assert plane.ours() == {}
    plane.late(spec={**exposed(kind, allowPlaintext=True), **plain})
    assert service_of(plane)["type"] == kind
