"""The leader proxy in pods: one of each node, at one address."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput

if t.TYPE_CHECKING:
    from conftest import Manifests

Central = t.Callable[..., "Manifests"]
NAME = "prod-leader-proxy"
RAW: dict[str, t.Any] = {
    "leaderProxy": {"enabled": True, "nodeSelector": {"openstack": "control"}, "tolerations": [{"key": "control"}]},
    "neutronIntegration": {"sbConnection": {"allowedNamespaces": ["openstack"]}},
}


def variables(pod: dict[str, t.Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["containers"][0]["env"]}


def test_there_is_none_unless_it_is_switched_on(central: Central) -> None:
    without = central({"neutronIntegration": RAW["neutronIntegration"]})
    assert not [one for one in without if "leader-proxy" in one["metadata"]["name"]]
    added = central(RAW)[:]
    keys = [(one["kind"], one["metadata"]["name"]) for one in without]
    new = [key for one in added if (key := (one["kind"], one["metadata"]["name"])) not in keys]
    assert new == [(kind, NAME) for kind in ("NetworkPolicy", "ServiceAccount", "Service", "DaemonSet")]
    assert all(one["metadata"]["ownerReferences"] for one in added)


def test_a_client_is_led_to_the_proxy_of_its_own_node(central: Central) -> None:
    spec = central(RAW).named("Service", NAME)["spec"]
    assert (spec["type"], spec["internalTrafficPolicy"]) == ("ClusterIP", "Local")
    assert [(one["name"], one["port"], one["targetPort"]) for one in spec["ports"]] == [
        ("northbound", 6641, 6641),
        ("southbound", 16642, 16642),
    ]
    pods = central(RAW).named("DaemonSet", NAME)["spec"]["template"]["metadata"]["labels"]
    assert spec["selector"].items() <= pods.items()


def test_the_next_pod_takes_over_before_the_former_one_ends(central: Central) -> None:
    spec = central(RAW).named("DaemonSet", NAME)["spec"]
    assert spec["updateStrategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = spec["template"]["spec"]
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert 0 < pause < pod["terminationGracePeriodSeconds"]


def test_another_archive_replaces_the_pods_one_after_the_other(central: Central) -> None:
    """They do not follow the file, which kubelets replace on all nodes at about the same time."""
    first, same, other = (
        central(RAW, archive=archive).named("DaemonSet", NAME)["spec"]["template"] for archive in (b"1", b"1", b"2")
    )
    assert first == same
    assert first["spec"] == other["spec"]
    (key,) = first["metadata"]["annotations"]
    assert first["metadata"]["annotations"][key] != other["metadata"]["annotations"][key]
    assert variables(first["spec"])["OVN_KEEP_ARCHIVE"] == "true"


def test_the_pod(central: Central) -> None:
    pod = central(RAW).pod("DaemonSet", NAME)
    assert pod["nodeSelector"] == {"openstack": "control"}
    assert pod["tolerations"] == [{"key": "control"}]
    assert pod["automountServiceAccountToken"] is False
    assert "hostNetwork" not in pod
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    assert container["command"][-1] == "leader-proxy"
    assert container["startupProbe"]["exec"]["command"][-2:] == ["leader-proxy", "--alive"]
    assert "readinessProbe" not in container  # it holds connections while no member leads
    found = variables(pod)
    assert found["OVN_NORTHBOUND"].split(",")[0] == "ssl:prod-northbound-0.prod-northbound.net.svc.example.test:6641"
    assert found["OVN_SOUTHBOUND"].split(",")[2] == "ssl:prod-southbound-2.prod-southbound.net.svc.example.test:16642"
    assert (found["OVN_NORTHBOUND_LISTEN"], found["OVN_SOUTHBOUND_LISTEN"]) == ("tcp:[::]:6641", "tcp:[::]:16642")
    assert found["OVN_PRIVATE_KEY"] == "/tls/tls.key"
    assert found["OVN_ALIVE_FILE"].startswith("/run/ovn/")


def test_without_tls_there_are_no_files(central: Central) -> None:
    found = variables(central({**RAW, "tls": {"enabled": False}}).pod("DaemonSet", NAME))
    assert found["OVN_NORTHBOUND"].startswith("tcp:")
    assert "OVN_PRIVATE_KEY" not in found


def test_tainted_nodes_have_one_too(central: Central) -> None:
    """Neutron's pods run on control nodes, and reach no database without the proxy of their own."""
    proxy = {"enabled": True, "nodeSelector": {"openstack": "control"}}
    assert central({**RAW, "leaderProxy": proxy}).pod("DaemonSet", NAME)["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize("selector", [{}, {"nodeSelector": {}}])
def test_nodes_have_to_be_named(selector: dict[str, t.Any]) -> None:
    raw = {**RAW, "leaderProxy": {"enabled": True, **selector}}
    with pytest.raises(InvalidInput, match=r"nodeSelector names no node: .* all nodes have kubernetes\.io/os=linux"):
        parse_spec(raw, name="prod", namespace="net")
    parse_spec({**raw, "leaderProxy": {**raw["leaderProxy"], "enabled": False}}, name="prod", namespace="net")


def clients_of(policy: dict[str, t.Any]) -> dict[int, list[str] | None]:
    """Networks and namespaces that a policy lets in, by the first port; None for everybody."""
    found: dict[int, list[str] | None] = {}
    for rule in policy["spec"]["ingress"]:
        peers = [
            one["ipBlock"]["cidr"] if "ipBlock" in one else next(iter(one["namespaceSelector"]["matchLabels"].values()))
            for one in rule.get("from", ())
            if "podSelector" not in one
        ]
        if peers or not rule.get("from"):
            found[rule["ports"][0]["port"]] = peers or None
    return found


@pytest.mark.parametrize(
    ("connection", "northbound", "sources"),
    [
        ({"allowedNamespaces": ["openstack"]}, {}, {6641: None, 16642: ["openstack"]}),
        ({"allowedCidrs": ["192.0.2.0/24"]}, {}, {6641: None, 16642: ["192.0.2.0/24"]}),
        (
            {"allowedNamespaces": ["openstack"]},
            {"service": {"allowedCidrs": ["192.0.2.0/24"]}},
            {6641: ["192.0.2.0/24", "openstack"], 16642: ["openstack"]},
        ),
    ],
)
def test_who_is_let_in(
    central: Central, connection: dict[str, t.Any], northbound: dict[str, t.Any], sources: dict[int, list[str] | None]
) -> None:
    raw = {**RAW, "neutronIntegration": {"sbConnection": connection}, "northbound": northbound}
    assert clients_of(central(raw).named("NetworkPolicy", NAME)) == sources
    # So a member lets in the same clients: before the proxy is published, and when it is given up, they come to it.
    members = [clients_of(central(raw).named("NetworkPolicy", f"prod-{d}")) for d in ("northbound", "southbound")]
    assert {port: names for found in members for port, names in found.items() if port in sources} == sources
    for database, port in (("northbound", 6641), ("southbound", 16642)):
        rules = central(raw).named("NetworkPolicy", f"prod-{database}")["spec"]["ingress"]
        ours = [
            one["ports"]
            for one in rules
            for peer in one.get("from", ())
            if (peer.get("podSelector") or {}).get("matchLabels", {}).get("app.kubernetes.io/component")
            == "leader-proxy"
        ]
        assert ours == [[{"port": port, "protocol": "TCP"}]]


def test_clients_have_to_be_named() -> None:
    with pytest.raises(
        InvalidInput, match=r"spec\.leaderProxy\.enabled is true: .* Name the namespace of Neutron in spec\.neutron"
    ):
        parse_spec({"leaderProxy": {"enabled": True}}, name="prod", namespace="net")


def test_its_service_has_a_name_of_its_own() -> None:
    neutron = {"nbConnection": {"service": {"name": NAME}}}
    with pytest.raises(InvalidInput, match="which is the name of another Service"):
        parse_spec({"neutronIntegration": neutron}, name="prod", namespace="net")
