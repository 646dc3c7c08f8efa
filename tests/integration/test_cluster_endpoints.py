"""ovn_cluster and ovn_cluster_info on a real API server: ports, and the addresses that clients get."""

from __future__ import annotations

import typing as t

import _control_plane
from _control_plane import (
    PLACES,
    SPEC,
    WHOLE,
    ControlPlane,
    touched,
)
from _pods_on_api import Kubelet

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


STATIC_PORT = 30011  # Kubernetes assigns those from 30086 up first


def test_a_port_that_somebody_changed(plane: ControlPlane) -> None:
    """The API server would merge both into one list, and find its own work invalid."""
    plane.begin()
    ports = plane.get("Service", "ovn-nb")["spec"]["ports"]
    plane.patch("Service", "ovn-nb", {"spec": {"ports": [{**ports[0], "port": 7000}]}}, manager="gitops")
    before = plane.ours()
    for check in (True, False):
        refused = plane(check=check, may_fail=True)
        for word in (f"Service {plane.namespace}/ovn-nb", '"gitops" set .spec.ports', "7000", "force_conflicts"):
            assert word in refused["msg"], refused["msg"]
    assert plane.ours() == before
    predicted = plane(check=True, force_conflicts=True)
    assert touched(predicted)["Service ovn-nb"] == "changed"
    assert plane.ours() == before
    assert touched(plane.late(force_conflicts=True)) == {"Service ovn-nb": "changed"}
    assert plane.get("Service", "ovn-nb")["spec"]["ports"] == ports
    assert touched(plane.late()) == {}
    # And a port of our own that the specification changes later is no conflict.
    other = {**SPEC, "neutronIntegration": {"nbConnection": {"service": {"port": 6741}}}}
    assert touched(plane.late(spec=other))["Service ovn-nb"] == "changed"
    assert [port["port"] for port in plane.get("Service", "ovn-nb")["spec"]["ports"]] == [6741]


def test_node_ports_that_somebody_changed(plane: ControlPlane) -> None:
    nodes = {**SPEC, "southbound": {"replicas": 1, "service": {"type": "NodePort", "allowPlaintext": True}}}
    for _attempt in range(5):
        plane.late(spec=nodes, wait_timeout=3)
    (port,) = plane.get("Service", "ovn-southbound-0")["spec"]["ports"]
    changed = {**port, "port": 7000}
    plane.patch("Service", "ovn-southbound-0", {"spec": {"ports": [changed]}}, manager="somebody")
    assert '"somebody" set .spec.ports' in plane(may_fail=True, spec=nodes)["msg"]
    assert touched(plane.late(spec=nodes, force_conflicts=True)) == {"Service ovn-southbound-0": "changed"}
    # Clients have the node port in their configuration.
    assert plane.get("Service", "ovn-southbound-0")["spec"]["ports"] == [port]
    # A node port that nobody declared may be anybody's; a declared one is a conflict in the API server's own words.
    declared = {
        **nodes,
        "southbound": {
            "replicas": 1,
            "service": {"type": "NodePort", "allowPlaintext": True, "nodePorts": [port["nodePort"]]},
        },
    }
    plane.late(spec=declared)
    taken = {**port, "nodePort": STATIC_PORT}
    plane.patch("Service", "ovn-southbound-0", {"spec": {"ports": [taken]}}, manager="somebody")
    conflict = plane(may_fail=True, spec=declared)["msg"]
    assert '"somebody" set ' in conflict
    assert "nodePort" in conflict
    assert touched(plane.late(spec=declared, force_conflicts=True))["Service ovn-southbound-0"] == "changed"
    assert plane.get("Service", "ovn-southbound-0")["spec"]["ports"] == [port]


def test_repaired_object_is_owned_by_the_run(plane: ControlPlane) -> None:
    """A repair and an apply are two owners of one field for the API server, though both are us."""

    def nodes(kind: str = "NodePort", **more: t.Any) -> dict[str, t.Any]:
        return {**SPEC, "southbound": {"replicas": 1, "service": {"type": kind, "allowPlaintext": True, **more}}}

    for _attempt in range(5):
        plane.late(spec=nodes(), wait_timeout=3)
    (port,) = plane.get("Service", "ovn-southbound-0")["spec"]["ports"]
    plane.patch("Service", "ovn-southbound-0", {"spec": {"ports": [{**port, "port": 7000}]}}, manager="somebody")
    plane.late(spec=nodes(), force_conflicts=True)
    other = STATIC_PORT + 1
    assert touched(plane.late(spec=nodes(nodePorts=[other])))["Service ovn-southbound-0"] == "changed"
    assert plane.get("Service", "ovn-southbound-0")["spec"]["ports"] == [{**port, "nodePort": other}]
    plane.late(spec=nodes("ClusterIP"))
    there = plane.get("Service", "ovn-southbound-0")["spec"]
    assert (there["type"], "nodePort" in there["ports"][0]) == ("ClusterIP", False)


def test_node_ports_do_not_change_places(plane: ControlPlane) -> None:
    """The API server's own refusal would come after Services were changed, and name nobody."""
    nodes = {**SPEC, "southbound": {"service": {"type": "NodePort", "allowPlaintext": True}}}
    for _attempt in range(5):
        plane.late(spec=nodes, wait_timeout=3)
    names = [f"ovn-southbound-{index}" for index in range(3)]
    first, second, third = (plane.get("Service", name)["spec"]["ports"][0]["nodePort"] for name in names)
    before = plane.ours()
    for check in (True, False):
        swapped = {
            **SPEC,
            "southbound": {
                "service": {"type": "NodePort", "allowPlaintext": True, "nodePorts": [second, first, third]}
            },
        }
        refused = plane(check=check, may_fail=True, spec=swapped)["msg"]
        assert f"{second} for {plane.namespace}/ovn-southbound-0 ({plane.namespace}/ovn-southbound-1 has it)" in refused
        assert "Nothing was changed" in refused
    assert plane.ours() == before


def test_info_without_a_control_plane(plane: ControlPlane) -> None:
    nothing = plane.info()
    assert nothing["exists"] is False
    places = ("northbound", "southbound", "southbound_unrestricted")
    services = (
        "service_northbound",
        "service_southbound",
        "northbound_cluster_ips",
        "southbound_unrestricted_cluster_ips",
    )
    services += ("leader_proxy_northbound", "leader_proxy_southbound")
    assert nothing["endpoints"] == dict.fromkeys(
        [*(f"{place}{suffix}" for place in places for suffix in ("", "_inside")), *services], ""
    )
    assert nothing["cluster"] == {}


def test_info_of_one_that_is_not_exposed(plane: ControlPlane) -> None:
    plane.late()
    found = plane.info()
    assert found["exists"] is True
    assert found["tls_secret"] == ""
    names = [f"ovn-northbound-{n}.ovn-northbound.{plane.namespace}.svc.cluster.local" for n in range(3)]
    assert found["endpoints"]["northbound"] == ",".join(f"tcp:{name}:6641" for name in names)
    for database, service, port in (("northbound", "ovn-nb", 6641), ("southbound", "ovn-sb", 6642)):
        ports = plane.get("Service", service)["spec"]["ports"]
        assert [one["port"] for one in ports] == [port]
        name = f"{service}.{plane.namespace}.svc.cluster.local"
        assert found["endpoints"][f"service_{database}"] == f"tcp:{name}:{port}"
    assert found["endpoints"]["northbound"] == found["endpoints"]["northbound_inside"]


def test_info_of_node_ports(plane: ControlPlane) -> None:
    spec = {"southbound": {"service": {"type": "NodePort"}}, "tls": {"certSecretRef": {"name": "tls"}}}
    plane.late(spec=spec)
    content = {"ca.crt": "Q0E=", "tls.crt": "eA==", "tls.key": "eA=="}
    plane.make("Secret", "tls", data=content)
    nodes = [f"info-{plane.namespace}-{n}" for n in range(3)]
    for number, name in enumerate(nodes):
        status = {
            "addresses": [{"type": "InternalIP", "address": f"192.0.2.{10 + number}"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        plane.server.request("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": status})
    try:
        found = plane.info()
    finally:
        for name in nodes:
            plane.server.request("DELETE", f"/api/v1/nodes/{name}")
    ports = [plane.get("Service", f"ovn-southbound-{n}")["spec"]["ports"][0]["nodePort"] for n in range(3)]
    assert found["endpoints"]["southbound"] == ",".join(f"ssl:192.0.2.{10 + n}:{ports[n]}" for n in range(3))
    assert found["endpoints"]["northbound"] == found["endpoints"]["northbound_inside"]
    assert found["tls_secret"] == "tls"
    assert found["ca_certificate"] == "CA"
    # Without nodes there is no way in from outside, and names that only pods know are no answer.
    endpoints = plane.info()["endpoints"]
    assert endpoints["southbound"] == ""
    assert endpoints["southbound_inside"]


def test_declared_names_are_published_in_place_of_addresses(plane: ControlPlane, kubelet: Kubelet) -> None:
    """In the status, in ovn-config and in what the module returns; a second run has nothing to do."""
    names = {
        "northbound": ["nb-0.example.com", "nb-1.example.com", "nb-2.example.com"],
        "southbound": ["sb.example.com"],
    }
    service = {"type": "NodePort", "allowPlaintext": True}
    exposed = {d: {**WHOLE[d], "service": {**service, "hostnames": names[d]}} for d in names}
    options: dict[str, t.Any] = {"spec": {**WHOLE, **exposed}, "wait": False, "wait_timeout": 120}
    ran = plane(**options)
    for database, key in (("northbound", "OvnNorth"), ("southbound", "OvnSouth")):
        services = [plane.get("Service", f"ovn-{database}-{index}") for index in range(len(names[database]))]
        ports = [one["spec"]["ports"][0]["nodePort"] for one in services]
        expected = ",".join(f"tcp:{name}:{port}" for name, port in zip(names[database], ports))
        assert ran["endpoints"][database] == expected
        assert ran["cluster"]["status"]["endpoints"][database] == expected
        assert plane.get("ConfigMap", "ovn-config")["data"][key] == expected
        assert plane.info()["endpoints"][database] == expected
    assert not plane(**options)["changed"]


def test_each_member_is_advertised_through_the_node_that_carries_it(plane: ControlPlane) -> None:
    """One node that loses its power costs one address of three. A member that has no node for a moment keeps its address."""
    plane.late(spec={**SPEC, "southbound": {"service": {"type": "NodePort", "allowPlaintext": True}}})
    nodes = [f"carries-{plane.namespace}-{n}" for n in range(4)]
    labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "southbound"}

    def tell(number: int, ready: str) -> None:
        status = {
            "addresses": [{"type": "InternalIP", "address": f"192.0.2.{10 + number}"}],
            "conditions": [{"type": "Ready", "status": ready}],
        }
        plane.server.request("PATCH", f"/api/v1/nodes/{nodes[number]}/status", {"status": status})

    def hosts() -> list[str]:
        return [one.split(":")[1] for one in plane.info()["endpoints"]["southbound"].split(",")]

    try:
        for number, name in enumerate(nodes):
            plane.server.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
            tell(number, "True")
        for index, number in enumerate((3, 1, 0)):
            containers = [{"name": "database", "image": "none"}]
            pod = f"ovn-southbound-{index}"
            plane.make("Pod", pod, labels=labels, spec={"nodeName": nodes[number], "containers": containers})
            address = f"192.0.2.{10 + number}"
            plane.patch("Pod", f"{pod}/status", {"status": {"hostIP": address, "hostIPs": [{"ip": address}]}})
        carried = ["192.0.2.13", "192.0.2.11", "192.0.2.10"]
        assert hosts() == carried
        tell(1, "Unknown")  # its power is off
        assert hosts() == carried
        known = {"northbound": "", "southbound": plane.info()["endpoints"]["southbound"]}
        plane.patch("OVNCluster", "ovn/status", {"status": {"endpoints": known}})
        plane.server.request(
            "DELETE", f"{PLACES['Pod'].format(plane.namespace)}/ovn-southbound-1", {"gracePeriodSeconds": 0}
        )
        assert hosts() == carried
        plane.make("Pod", "ovn-southbound-1", labels=labels, spec={"nodeName": nodes[2], "containers": containers})
        assert hosts() == ["192.0.2.13", "192.0.2.12", "192.0.2.10"]
    finally:
        for name in nodes:
            plane.server.request("DELETE", f"/api/v1/nodes/{name}")
