from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import (
    Chassis,
    default_settings,
    plan_chassis,
    recorded_addresses,
    recorded_nodes,
    renames,
    settings_files,
)

SOUTHBOUND = ["ssl:192.0.2.11:6642"]
UNDERLAY = {"ovs": {"datapathType": "netdev", "underlay": {"bridge": "br-phy", "interface": "eth1"}}}


def spec_of(raw: dict[str, t.Any]) -> ClusterSpec:
    return parse_spec(raw, name="ovn", namespace="net")


def node(name: str, *addresses: str, labels: dict[str, str] | None = None, **annotations: str) -> Node:
    keys = {f"ovn.c5c3.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return Node(name, f"uid-{name}", labels or {}, keys, addresses or (f"192.0.2.{name[1:]}",), True)


def plan(
    *nodes: Node, raw: dict[str, t.Any] | None = None, declared: dict[str, dict[str, t.Any]] | None = None
) -> list[Chassis]:
    spec = spec_of(raw or {})
    return plan_chassis(nodes, spec, default_settings(spec, SOUTHBOUND), declared or {})


@pytest.mark.parametrize(
    ("raw", "encapsulation"),
    [
        pytest.param({}, {"type": ["geneve"]}, id="the address of the node"),
        pytest.param(
            {"encapsulation": {"interface": "eth2"}}, {"type": ["geneve"], "interface": "eth2"}, id="interface"
        ),
        pytest.param(
            {"encapsulation": {"type": "vxlan", "cidr": "198.51.100.0/24"}},
            {"type": ["vxlan"], "cidr": "198.51.100.0/24"},
            id="network",
        ),
        pytest.param(UNDERLAY, {"type": ["geneve"], "interface": "br-phy"}, id="the bridge of the underlay"),
        pytest.param(
            {**UNDERLAY, "encapsulation": {"interface": "eth1"}},
            {"type": ["geneve"], "interface": "br-phy"},
            id="the bridge has the addresses of its interface",
        ),
        pytest.param(
            {**UNDERLAY, "encapsulation": {"interface": "eth7"}},
            {"type": ["geneve"], "interface": "eth7"},
            id="another interface beside the underlay",
        ),
    ],
)
def test_where_tunnels_end_by_default(raw: dict[str, t.Any], encapsulation: dict[str, t.Any]) -> None:
    assert default_settings(spec_of(raw), SOUTHBOUND)["encapsulation"] == encapsulation


@pytest.mark.parametrize(
    ("raw", "one", "ips"),
    [
        pytest.param({}, node("n1", "192.0.2.1", "2001:db8::1"), ("192.0.2.1",), id="the first address of the node"),
        pytest.param({}, node("n1", encapsulation_ip="198.51.100.9"), ("198.51.100.9",), id="annotation"),
        pytest.param(
            {"encapsulation": {"cidr": "198.51.100.0/24"}},
            node("n1", "192.0.2.1", "198.51.100.1"),
            None,
            id="only the node knows which of the others it takes",
        ),
        pytest.param(
            {"encapsulation": {"cidr": "198.51.100.0/24"}},
            node("n1", "198.51.100.1", "198.51.100.2"),
            ("198.51.100.1",),
            id="the node's first address is in the network",
        ),
        pytest.param(
            {"encapsulation": {"cidr": "198.51.100.0/24"}},
            node("n1"),
            None,
            id="only the node knows which is in the network",
        ),
        pytest.param(
            {"encapsulation": {"interface": "eth2"}}, node("n1"), None, id="only the node knows the interface"
        ),
    ],
)
def test_addresses_as_far_as_they_are_known(raw: dict[str, t.Any], one: Node, ips: tuple[str, ...] | None) -> None:
    assert plan(one, raw=raw)[0].ips == ips


def test_only_what_differs_is_a_nodes_own() -> None:
    raw = {"bridgeMappings": [{"physicalNetwork": "p", "bridge": "br-ex"}], "gateway": {"nodeSelector": {"gw": "1"}}}
    chassis = plan(
        node("n1", bridge_mappings="p:br-ex", gateway="false"),
        node("n2", labels={"gw": "1"}),
        node("n3", labels={"gw": "1"}, gateway="false"),
        node("n4"),
        raw=raw,
        declared={"n4": {"hostname": "four.example.com", "gateway": True}},
    )
    assert [one.own for one in chassis] == [
        {},
        {"gateway": True},
        {},
        {"hostname": "four.example.com", "gateway": True},
    ]
    assert chassis[3].hostname == "four.example.com"


def test_an_annotation_says_more_than_the_resource() -> None:
    (one,) = plan(node("n1", system_id="mine"), declared={"n1": {"system_id": "theirs"}})
    assert one.system_id == "mine"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        pytest.param(
            [node("n1"), node("n2", "192.0.2.1")],
            ["Nodes n1 and n2 have the same tunnel address 192.0.2.1"],
            id="address",
        ),
        pytest.param(
            [node("n1", "2001:db8::1"), node("n2", encapsulation_ip="2001:DB8:0:0::1")],
            ["Nodes n1 and n2 have the same tunnel address 2001:db8::1"],
            id="address in another spelling",
        ),
        pytest.param(
            [node("n1", system_id="x"), node("n2", system_id="x")],
            ['Nodes n1 and n2 have the same system id "x"'],
            id="system id",
        ),
        pytest.param(
            [node("n1", system_id="n2"), node("n2")], ['the same system id "n2"'], id="the name of another node"
        ),
        pytest.param(
            [node("n1", gateway="?"), node("n2", encapsulation_ip="nonsense")],
            ["Node n1: annotation ovn.c5c3.io/gateway", 'Node n2: encapsulation.ip: "nonsense"'],
            id="all problems at once",
        ),
        pytest.param([node("n1")._replace(addresses=())], ["Node n1 has no internal address yet"], id="no address"),
    ],
)
def test_problems(nodes: list[Node], message: list[str]) -> None:
    with pytest.raises(InvalidInput) as e:
        plan(*nodes)
    for word in message:
        assert word in str(e.value)
    assert "Nothing was changed." in str(e.value)


def test_many_problems_are_cut() -> None:
    with pytest.raises(InvalidInput) as e:
        plan(*(node(f"n{number}", gateway="?") for number in range(1, 31)))
    assert "(and 20 more problems)" in str(e.value)
    assert len(e.value.details["problems"]) == 30


def test_files_hold_what_differs_and_the_record() -> None:
    spec = spec_of({})
    default = default_settings(spec, SOUTHBOUND)
    files = settings_files(default, plan(node("n1"), node("n2", gateway="true")), {"n9": "gone"})
    assert sorted(files) == ["_addresses", "_default", "_nodes", "n2"]
    assert json.loads(files["_default"])["remote"] == SOUTHBOUND
    assert json.loads(files["_nodes"]) == {"n1": "n1", "n2": "n2", "n9": "gone"}
    assert recorded_nodes({"data": files}) == {"n1": "n1", "n2": "n2", "n9": "gone"}


@pytest.mark.parametrize(("interval", "expected"), [(None, None), (60, '{"interval": 60}'), (0, '{"interval": 0}')])
def test_agents_are_told_whether_they_write_the_status(interval: int | None, expected: str | None) -> None:
    default = default_settings(spec_of({}), SOUTHBOUND)
    files = settings_files(default, plan(node("n1")), {}, heartbeat_interval=interval)
    assert files.get("_heartbeat") == expected


def test_the_owner_is_with_every_node() -> None:
    own = json.dumps({"cms_options": ["theirs"]})
    chassis = plan(node("n1", chassis_settings=own), node("n2", gateway="true"))
    files = settings_files(default_settings(spec_of({}), SOUTHBOUND), chassis, {}, owner="abc")
    assert json.loads(files["_default"])["cms_options"] == ["c5c3-ovn-owner=abc"]
    assert json.loads(files["n1"])["cms_options"] == ["theirs", "c5c3-ovn-owner=abc"]
    assert "cms_options" not in json.loads(files["n2"])


def test_addresses_are_recorded_as_long_as_the_node_is() -> None:
    chassis = plan(node("n1"), node("n2"))
    chassis[1] = chassis[1]._replace(ips=None)
    old = {"n1": ["10.0.0.1"], "n2": ["10.0.0.2"], "n3": ["10.0.0.3"], "n4": ["10.0.0.4"]}
    files = settings_files(default_settings(spec_of({}), SOUTHBOUND), chassis, {"n3": "n3"}, addresses=old)
    expected = {"n1": ["192.0.2.1"], "n2": ["10.0.0.2"], "n3": ["10.0.0.3"]}
    assert recorded_addresses({"data": files}) == expected
    assert recorded_addresses({"data": {"_addresses": '{"n1": "x"}'}}) == {}


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"n1": 1}'])
def test_a_damaged_record_is_none(text: str | None) -> None:
    assert recorded_nodes(None if text is None else {"data": {"_nodes": text}}) == {}


def test_too_many_own_settings_are_refused() -> None:
    many = [
        node(
            f"n{number}",
            f"10.0.{number // 250}.{number % 250}",
            chassis_settings=json.dumps({"external_ids": {"x": "y" * 2000}}),
        )
        for number in range(600)
    ]
    with pytest.raises(InvalidInput, match="more than the ConfigMap ovn-chassis holds"):
        settings_files(default_settings(spec_of({}), SOUTHBOUND), plan(*many), {})


def test_a_bridge_name_that_is_too_long_is_found_before_anything_is_written() -> None:
    default = default_settings(spec_of({}), SOUTHBOUND)
    default["bridge_mappings"] = [{"physical_network": "p", "bridge": "a-name-that-is-too-long"}]
    with pytest.raises(InvalidInput, match="at most 15"):
        settings_files(default, plan(node("n1")), {})


def test_renames() -> None:
    chassis = plan(node("n1", system_id="new"), node("n2"), node("n3"))
    (problem,) = renames(chassis, {"n1": "old", "n2": "n2"})
    assert 'Node n1 is the chassis "old" and cannot become "new"' in problem
