"""Nodes whose desired state lets no packet out to a provider network."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.provider_networks import network_warnings
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import default_settings, plan_chassis

Object = dict[str, t.Any]
GATEWAYS: Object = {"gateway": {"nodeSelector": {"gateway": "yes"}}}
PORT = {"bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}]}
NO_PORT = {"bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex"}]}
UNDERLAY = {"ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-ex", "interface": "eth1"}}}
COMPUTE: tuple[str, Object, Object] = ("compute", {}, {})
BY_LABEL: tuple[str, Object, Object] = ("gw1", {"gateway": "yes"}, {})
BY_ANNOTATION: tuple[str, Object, Object] = ("gw2", {}, {"gateway": "true"})
UNMAPPED = "Gateways without a bridge mapping: nodes "
WITHOUT_PORT = "Bridges without a declared port on nodes "


@pytest.mark.parametrize(
    ("spec", "nodes", "expected"),
    [
        pytest.param({}, [COMPUTE], [], id="neither gateway nor mapping"),
        pytest.param({**GATEWAYS, **PORT}, [COMPUTE, BY_LABEL, BY_ANNOTATION], [], id="a port for all"),
        pytest.param(
            GATEWAYS, [COMPUTE, BY_LABEL, BY_ANNOTATION], [f"{UNMAPPED}gw1, gw2 (spec.gateway"], id="no mapping"
        ),
        pytest.param(
            GATEWAYS, [("gw1", {"gateway": "yes"}, {"gateway": "false"})], [], id="no gateway by its annotation"
        ),
        pytest.param(
            PORT,
            [("gw1", {}, {"gateway": "true", "bridge-mappings": ""})],
            [f"{UNMAPPED}gw1 "],
            id="an empty annotation",
        ),
        pytest.param(
            GATEWAYS, [("gw1", {"gateway": "yes"}, {"bridge-mappings": "physnet1:br-ex:eth1"})], [], id="an annotation"
        ),
        pytest.param(
            NO_PORT,
            [COMPUTE, BY_ANNOTATION],
            [
                f"{WITHOUT_PORT}compute, gw2: br-ex (physnet1). Unless somebody else adds one there (a bond, DPDK), what is sent"
            ],
            id="no port, no matter which node",
        ),
        pytest.param(
            PORT,
            [COMPUTE, ("other", {}, {"bridge-mappings": "physnet1:br-ex:eth1,physnet2:br-vlan"})],
            [f"{WITHOUT_PORT}other: br-vlan (physnet2)."],
            id="one mapping of one node",
        ),
        pytest.param(
            NO_PORT,
            [("a", {}, {"chassis-settings": '{"bridges": [{"name": "br-ex", "ports": ["eth1"]}]}'})],
            [],
            id="a port of a declared bridge",
        ),
        pytest.param({**NO_PORT, **UNDERLAY}, [COMPUTE], [], id="the bridge of the underlay"),
        pytest.param({**NO_PORT, "ovs": {"mode": "host"}}, [COMPUTE], [], id="bridges of another owner"),
        pytest.param(
            {**GATEWAYS, "ovs": {"mode": "host"}},
            [BY_LABEL],
            [f"{UNMAPPED}gw1 "],
            id="no mapping in an Open vSwitch of others",
        ),
    ],
)
def test_nodes_that_reach_no_provider_network(
    spec: Object, nodes: list[tuple[str, Object, Object]], expected: list[str]
) -> None:
    parsed = parse_spec(spec, name="ovn", namespace="net")
    default = default_settings(parsed, ["ssl:192.0.2.99:6642"])
    found = [
        Node(
            *(name, f"uid-{name}", {"node-role.kubernetes.io/hypervisor": "", **labels}),
            {f"ovn.c5c3.io/{key}": value for key, value in annotations.items()},
            (f"192.0.2.{number}",),
            ready=True,
        )
        for number, (name, labels, annotations) in enumerate(nodes, 1)
    ]
    warnings = network_warnings(parsed, default, plan_chassis(found, parsed, default, {}))
    assert len(warnings) == len(expected)
    for warning, text in zip(warnings, expected):
        assert warning.startswith(text)


def test_many_nodes_are_counted() -> None:
    parsed = parse_spec(NO_PORT, name="ovn", namespace="net")
    default = default_settings(parsed, ["ssl:192.0.2.99:6642"])
    found = [Node(f"n{number}", "", {}, {}, (f"192.0.2.{number}",), ready=True) for number in range(1, 41)]
    (warning,) = network_warnings(parsed, default, plan_chassis(found, parsed, default, {}))
    assert "n10 and 30 more: br-ex (physnet1)." in warning
    assert warning.endswith(
        "The chassis agent knows what is on the bridge: see its log (kubectl logs PODNAME -c agent)."
    )
