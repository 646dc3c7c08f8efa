from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import (
    Node,
    annotated_settings,
    parse_node,
    select_nodes,
)

HYPERVISOR = types.MappingProxyType({"node-role.kubernetes.io/hypervisor": ""})


def node(name: str = "n1", labels: t.Mapping[str, str] = HYPERVISOR, **annotations: str) -> Node:
    keys = {f"ovn.c5c3.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return Node(name, f"uid-{name}", dict(labels), keys, ("192.0.2.1",), True)


@pytest.mark.parametrize(
    ("status", "addresses", "ready"),
    [
        pytest.param({}, (), False, id="a node that has not reported yet"),
        pytest.param(
            {
                "addresses": [
                    {"type": "Hostname", "address": "n1"},
                    {"type": "InternalIP", "address": "192.0.2.1"},
                    {"type": "ExternalIP", "address": "203.0.113.1"},
                    {"type": "InternalIP", "address": "2001:db8::1"},
                ],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
            ("192.0.2.1", "2001:db8::1"),
            True,
            id="internal addresses in their order",
        ),
        pytest.param(
            {
                "addresses": [{"type": "ExternalIP", "address": "203.0.113.1"}],
                "conditions": [{"type": "Ready", "status": "Unknown"}],
            },
            ("203.0.113.1",),
            False,
            id="an external address where there is no internal one, kubelet unresponsive",
        ),
    ],
)
def test_parse_node(status: dict[str, t.Any], addresses: tuple[str, ...], ready: bool) -> None:
    parsed = parse_node({"metadata": {"name": "n1", "uid": "u"}, "status": status})
    assert (parsed.addresses, parsed.ready) == (addresses, ready)


def test_select_nodes_by_both_selectors() -> None:
    spec = parse_spec(
        {"controller": {"nodeSelector": {"rack": "1"}}, "ovs": {"nodeSelector": {}}}, name="o", namespace="n"
    )
    nodes = [node("b", {"rack": "1"}), node("c", {}), node("a", {"rack": "1", "x": "y"})]
    assert [one.name for one in select_nodes(nodes, spec)] == ["a", "b"]


@pytest.mark.parametrize(
    ("spec", "nodes", "message"),
    [
        pytest.param({}, [node("a", {})], "None of the 1 nodes", id="no node has the label"),
        pytest.param({}, [], "None of the 0 nodes", id="no nodes at all"),
        pytest.param(
            {"controller": {"nodeSelector": {"a": "1"}}},
            [node("a", {"a": "1"})],
            "Node a is chosen by spec.controller.nodeSelector (a=1), but not by spec.ovs.nodeSelector",
            id="a controller without Open vSwitch",
        ),
    ],
)
def test_select_nodes_refuses(spec: dict[str, t.Any], nodes: list[Node], message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        select_nodes(nodes, parse_spec(spec, name="o", namespace="n"))
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("annotations", "settings"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"gateway": "true"}, {"gateway": True}, id="gateway"),
        pytest.param({"system_id": " c1 "}, {"system_id": "c1"}, id="system id"),
        pytest.param(
            {"encapsulation_ip": "192.0.2.5, 192.0.2.6"},
            {"encapsulation": {"ip": ["192.0.2.5", "192.0.2.6"]}},
            id="two addresses",
        ),
        pytest.param(
            {"bridge_mappings": "p1:br-a,p2:br-b:eth1+eth2,"},
            {
                "bridge_mappings": [
                    {"physical_network": "p1", "bridge": "br-a"},
                    {"physical_network": "p2", "bridge": "br-b", "ports": ["eth1", "eth2"]},
                ]
            },
            id="mappings with and without ports",
        ),
        pytest.param({"bridge_mappings": ""}, {"bridge_mappings": []}, id="no mappings on this node"),
        pytest.param(
            {"chassis_settings": '{"monitor_all": true, "gateway": false}', "gateway": "true"},
            {"monitor_all": True, "gateway": True},
            id="an annotation of its own says more than the JSON",
        ),
        pytest.param(
            {
                "chassis_settings": '{"encapsulation": {"type": ["vxlan"], "interface": "eth1"}}',
                "encapsulation_ip": "192.0.2.5",
            },
            {"encapsulation": {"type": ["vxlan"], "ip": ["192.0.2.5"]}},
            id="the address in place of the interface",
        ),
    ],
)
def test_annotated_settings(annotations: dict[str, str], settings: dict[str, t.Any]) -> None:
    assert annotated_settings(node(**annotations)) == settings


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"gateway": "yes"}, 'annotation ovn.c5c3.io/gateway is "yes"'),
        ({"chassis_settings": "{"}, "is no JSON"),
        ({"chassis_settings": "[]"}, "a JSON object is expected"),
        ({"chassis_settings": '{"colour": 1}'}, "'colour' is no setting of a node"),
        ({"bridge_mappings": "p1"}, '"p1" is not of the form'),
        ({"bridge_mappings": "p1:"}, '"p1:" is not of the form'),
        ({"bridge_mappings": "a:b:c:d"}, '"a:b:c:d" is not of the form'),
    ],
)
def test_unusable_annotations_name_node_and_key(annotations: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        annotated_settings(node("n7", **annotations))
    assert "Node n7: annotation ovn.c5c3.io/" in str(e.value)
    assert message in str(e.value)
