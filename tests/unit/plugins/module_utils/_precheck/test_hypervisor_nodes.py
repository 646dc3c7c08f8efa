from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.hypervisor_nodes import judge_hypervisors

Object = dict[str, t.Any]
LABEL = "node-role.kubernetes.io/hypervisor"


def node(name: str, ip: str = "", labels: t.Mapping[str, str] | None = None, **annotations: str) -> Object:
    keys = {f"ovn.c5c3.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    addresses = [{"type": "InternalIP", "address": ip}] if ip else []
    return {
        "metadata": {"name": name, "labels": {LABEL: ""} if labels is None else dict(labels), "annotations": keys},
        "status": {"addresses": addresses},
    }


def cluster(**raw: t.Any) -> ClusterSpec:
    return parse_spec(raw, name="ovn", namespace="net")


def test_two_nodes_with_addresses_are_nothing_found() -> None:
    assert judge_hypervisors(cluster(), [node("n1", "192.0.2.1"), node("n2", "192.0.2.2")]) == []
    assert judge_hypervisors(cluster(), None) == []


AGENT = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}


def test_a_metadata_agent_on_a_gateway() -> None:
    nodes = [node("n1", "192.0.2.1"), node("n2", "192.0.2.2", gateway="true")]
    (found,) = judge_hypervisors(cluster(metadataAgent=AGENT), nodes)
    assert (found.code, found.object) == ("metadata_agent_on_gateway", "Node n2")
    assert found.cause.startswith("It is a gateway by its own settings")
    assert found.next_step.startswith("Give it the labels of spec.gateway.nodeSelector")
    assert judge_hypervisors(cluster(), nodes) == []


def test_no_node_is_selected() -> None:
    (found,) = judge_hypervisors(cluster(), [node("n1", "192.0.2.1", {})])
    assert (found.code, found.object) == ("nodes_selected_none", "spec.controller.nodeSelector")
    assert found.cause.startswith(f"None of the 1 nodes of this cluster has the labels {LABEL}=")
    assert found.next_step.endswith(f"kubectl label node NAME {LABEL}=")


def test_a_node_that_only_one_selector_selects() -> None:
    spec = cluster(ovs={"nodeSelector": {"ovs": "yes"}})
    (found,) = judge_hypervisors(spec, [node("n1", "192.0.2.1")])
    assert (found.code, found.object) == ("node_without_open_vswitch", "Node n1")


def test_a_node_without_an_address() -> None:
    (found,) = judge_hypervisors(cluster(), [node("n1"), node("n2", "192.0.2.2")])
    assert (found.code, found.object) == ("node_address_missing", "Node n1")
    assert judge_hypervisors(cluster(), [node("n1", encapsulation_ip="198.51.100.1")]) == []


def test_an_address_that_only_the_node_knows_is_not_judged() -> None:
    assert judge_hypervisors(cluster(encapsulation={"interface": "eth1"}), [node("n1"), node("n2")]) == []


def test_the_same_tunnel_address_on_several_nodes() -> None:
    (found,) = judge_hypervisors(cluster(), [node(name, "192.0.2.1") for name in ("n3", "n1", "n2")])
    assert (found.code, found.object) == ("node_address_duplicate", "Nodes n1, n2, n3")
    assert "192.0.2.1" in found.cause


def test_the_same_system_id_on_two_nodes() -> None:
    nodes = [node("n1", "192.0.2.1", system_id="a"), node("n2", "192.0.2.2", system_id="a")]
    (found,) = judge_hypervisors(cluster(), nodes)
    assert (found.code, found.object) == ("node_system_id_duplicate", "Nodes n1, n2")


def test_a_wrong_annotation_says_what_is_wrong_once() -> None:
    (found,) = judge_hypervisors(cluster(), [node("n1", "192.0.2.1", gateway="yes")])
    assert (found.code, found.object) == ("node_settings_invalid", "Node n1")
    assert found.cause.startswith('annotation ovn.c5c3.io/gateway is "yes"')
    assert "Nothing was changed" not in found.cause


def test_what_another_client_set_in_the_chassis_counts() -> None:
    managed = {"manager": "operator", "fieldsV1": {"f:spec": {"f:encapsulation": {}}}}
    resource = {
        "metadata": {"name": "n1", "managedFields": [managed]},
        "spec": {"encapsulation": {"type": "geneve", "ip": "198.51.100.1"}},
    }
    nodes = [node("n1", "192.0.2.1"), node("n2", "192.0.2.1")]
    assert judge_hypervisors(cluster(), nodes, [resource]) == []


def test_all_findings_at_once() -> None:
    nodes = [node("n1", "192.0.2.1"), node("n2", "192.0.2.1"), node("n3"), node("n4", "192.0.2.4", gateway="yes")]
    codes = [one.code for one in judge_hypervisors(cluster(), nodes)]
    assert codes == ["node_address_missing", "node_settings_invalid", "node_address_duplicate"]
