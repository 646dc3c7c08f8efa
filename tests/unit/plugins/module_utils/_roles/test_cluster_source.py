"""What an OVNCluster of another client says, and which variables of the inventory must not say something else."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.declared import declared_hosts
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central import (
    CentralClusterOptions,
    cluster_problem,
    desired_cluster,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.cluster_source import (
    FACT,
    encapsulation_types_of,
    find_source,
    machine_mappings,
    name_options,
    source_problem,
    specification_of_resource,
    with_resource,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.firewall import desired_firewall
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor_cluster import (
    HypervisorClusterOptions,
    desired_hypervisors,
)

Object = dict[str, t.Any]

KUBERNETES: Object = {"ovn_backend": "kubernetes"}
SPEC: Object = {
    "northbound": {"replicas": 3, "electionTimer": 5000, "storage": {"size": "5Gi"}, "service": {"type": "NodePort"}},
    "southbound": {"replicas": 3, "electionTimer": 5000, "storage": {"size": "10Gi"}, "service": {"type": "NodePort"}},
    "northd": {"threads": 1},
    "relay": {"rbac": True},
    "ovs": {"mode": "managed", "datapathType": "system"},
    "tls": {"enabled": True, "nodeCertificates": "own", "certSecretRef": {"name": "mine"}},
    "encapsulation": {"type": "vxlan"},
    "bridgeMappings": [
        {"physicalNetwork": "b", "bridge": "br-b", "ports": []},
        {"physicalNetwork": "a", "bridge": "br-a", "ports": ["eth1"]},
    ],
}
MAPPINGS = [
    {"physical_network": "a", "bridge": "br-a", "ports": ["eth1"]},
    {"physical_network": "b", "bridge": "br-b"},
]
GROUPS = {"ovn_central": ["plane"], "ovn_hypervisors": ["rack", "m1", "m2", "m3", "m4"]}
READ = {"name": "ovn", "namespace": "ovn-system", "spec": SPEC}


def inventory(**hosts: Object) -> dict[str, Object]:
    return {"plane": {**KUBERNETES}, "rack": {**KUBERNETES}, **{f"m{n}": {} for n in range(1, 5)}, **hosts}


def answer(**spec: t.Any) -> Object:
    return {"exists": True, "cluster": {"spec": {**SPEC, **spec}}}


@pytest.mark.parametrize(
    ("plane", "groups", "given", "reads", "problem"),
    [
        pytest.param({}, GROUPS, "inventory", False, "", id="the inventory is the default"),
        pytest.param({"ovn_cluster_from": "resource"}, GROUPS, "inventory", True, "", id="the host counts"),
        pytest.param({}, GROUPS, "resource", True, "", id="a variable of the play"),
        pytest.param({"ovn_cluster_from": "resource", "ovn_verify_cluster_resource": READ}, GROUPS, "", False, "", id="read before"),
        pytest.param({"ovn_cluster_from": "flux"}, GROUPS, "", False, "Set it to inventory or resource", id="another word"),
        pytest.param({}, {"ovn_hypervisors": ["rack"]}, "resource", False, "no host of ovn_central says", id="elsewhere"),
        pytest.param(
            {"ovn_backend": "host", "ovn_cluster_from": "resource"}, GROUPS, "", False, "plane is a machine", id="machines"
        ),
    ],
)  # fmt: skip
def test_where_the_source_is(
    plane: Object, groups: dict[str, list[str]], given: str, reads: bool, problem: str
) -> None:
    found = find_source(inventory(plane={**KUBERNETES, **plane}), groups, given)
    assert found["reads"] is reads
    assert problem in found["problem"]
    assert bool(problem) is bool(found["problem"])


def test_an_inventory_that_says_nothing_else_is_no_problem() -> None:
    same = {
        "plane": {
            **KUBERNETES,
            "ovn_central_election_timer": "5000",
            "ovn_southbound_rbac": "yes",
            "ovn_tls_secret": "mine",
            "ovn_cluster_spec": {},
            "ovn_image": {},
        },
        "rack": {**KUBERNETES, "ovn_node_certificates": "own", "ovn_hypervisor_openvswitch": "managed"},
        "m1": {"ovn_hypervisor_bridge_mappings": MAPPINGS, "ovn_hypervisor_encapsulation_type": ["vxlan"]},
    }
    assert source_problem(inventory(**same), GROUPS, "plane", answer()) == ""


@pytest.mark.parametrize(
    ("host", "variables", "text"),
    [
        ("plane", {"ovn_cluster_spec": {"northd": {}}}, "ovn_cluster_spec (the whole spec) on plane"),
        ("plane", {"ovn_image": {"tag": "1"}}, "ovn_image (ovnImage) on plane"),
        ("plane", {"ovs_image": {"tag": "1"}}, "ovs_image (ovsImage) on plane"),
        ("plane", {"ovn_central_election_timer": 1}, "ovn_central_election_timer (southbound.electionTimer) on plane"),
        ("plane", {"ovn_central_inactivity_probe": 5}, "ovn_central_inactivity_probe (northbound.inactivityProbe)"),
        ("plane", {"ovn_central_northd_threads": 4}, "ovn_central_northd_threads (northd.threads) on plane"),
        ("plane", {"ovn_southbound_rbac": False}, "ovn_southbound_rbac (relay.rbac) on plane"),
        ("plane", {"ovn_tls_secret": "x"}, "ovn_tls_secret (tls.certSecretRef.name) on plane"),
        ("rack", {"ovn_cluster_spec": {"ovs": {}}}, "ovn_cluster_spec (the whole spec) on rack"),
        ("rack", {"ovn_image": {"tag": "1"}}, "ovn_image (ovnImage) on rack"),
        ("rack", {"ovn_hypervisor_openvswitch": "existing"}, "ovn_hypervisor_openvswitch (ovs.mode) on rack"),
        ("rack", {"ovn_hypervisor_datapath_type": "netdev"}, "ovn_hypervisor_datapath_type (ovs.datapathType) on rack"),
        ("rack", {"ovn_node_certificates": "shared"}, "ovn_node_certificates (tls.nodeCertificates) on rack"),
        ("rack", {"ovn_hypervisor_bridge_mappings": []}, "ovn_hypervisor_bridge_mappings (bridgeMappings) on rack"),
        ("m1", {"ovn_hypervisor_bridge_mappings": MAPPINGS[:1]}, "ovn_hypervisor_bridge_mappings (bridgeMappings) on m1"),
        ("m1", {"ovn_hypervisor_encapsulation_type": "geneve"}, "ovn_hypervisor_encapsulation_type (encapsulation.type)"),
        ("m1", {"ovn_tls": "no"}, "ovn_tls (tls.enabled) on m1"),
        ("m1", {"ovn_cluster_from": "inventory"}, "ovn_cluster_from (it is one for all hosts) on m1"),
    ],
)  # fmt: skip
def test_a_variable_that_says_something_else_is_named_with_its_field(host: str, variables: Object, text: str) -> None:
    hosts = inventory()
    hosts[host].update(variables)
    problem = source_problem(hosts, GROUPS, "plane", answer())
    assert text in problem
    assert "so OVNCluster ovn-system/ovn of plane alone says" in problem


def test_what_can_never_be_equal_has_to_be_removed() -> None:
    hosts = inventory(
        plane={**KUBERNETES, "ovn_image": {"tag": "1"}}, m1={"ovn_hypervisor_encapsulation_type": "geneve"}
    )
    problem = source_problem(hosts, GROUPS, "plane", answer())
    assert "ovn_image (ovnImage) on plane. Remove them. " in problem
    assert "(encapsulation.type) on m1. Remove them or give them the value of the resource." in problem


def test_the_hosts_of_one_variable_are_counted() -> None:
    hosts = inventory(**{f"m{number}": {"ovn_hypervisor_encapsulation_type": "geneve"} for number in range(1, 5)})
    assert "(encapsulation.type) on m1, m2, m3 and 1 more." in source_problem(hosts, GROUPS, "plane", answer())


def test_the_default_of_tls_counts() -> None:
    hosts = inventory()
    plain = answer(tls={"enabled": False})
    assert "ovn_tls (tls.enabled) on plane, rack, m1 and 3 more" in source_problem(hosts, GROUPS, "plane", plain)
    for variables in hosts.values():
        variables["ovn_tls"] = False
    assert source_problem(hosts, GROUPS, "plane", plain) == ""


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param({"msg": "It is away."}, "of plane cannot be read, and ovn_cluster_from is resource: It is away.", id="away"),
        pytest.param({"exists": False}, "does not exist, and ovn_cluster_from is resource. Apply it there", id="missing"),
        pytest.param(answer(tls={"enabled": True}), "has no tls.southboundClientCaKey: client-ca.crt", id="CAs of chassis"),
        pytest.param(answer(tls={"enabled": True, "southboundClientCaKey": "client-ca.crt"}), "", id="with their key"),
        pytest.param(answer(tls={"enabled": True, "southboundClientCaConfigMapRef": {"name": "x"}}), "", id="in a ConfigMap"),
    ],
)  # fmt: skip
def test_what_a_run_cannot_go_by(found: Object, text: str) -> None:
    problem = source_problem(inventory(), GROUPS, "plane", found)
    assert text in problem
    assert bool(text) is bool(problem)


def test_the_control_plane_has_the_specification_of_the_resource_alone() -> None:
    variables = {"ovn_backend": "kubernetes", "ovn_cluster_from": "resource", FACT: READ}
    options = CentralClusterOptions(spec=SPEC)
    groups = {"ovn_central": ["plane"]}
    assert desired_cluster(options, "plane", variables, {"plane": variables}, groups).spec == SPEC
    assert "relay.rbac is true" in cluster_problem(options, ["plane"], "plane", shared_certificates=True)


def test_a_cluster_of_hypervisors_has_it_too() -> None:
    given: Object = {field.name: None for field in dataclasses.fields(HypervisorClusterOptions)}
    options = HypervisorClusterOptions(**{**given, "tls_secret": "x"})
    found = desired_hypervisors(options, {"ovn_verify_cluster_resource": READ})
    assert found == (SPEC, "mine", True)


def test_a_machine_takes_bridge_mappings_and_the_encapsulation() -> None:
    assert machine_mappings(SPEC) == [
        {"physical_network": "b", "bridge": "br-b", "ports": []},
        {"physical_network": "a", "bridge": "br-a", "ports": ["eth1"]},
    ]
    assert machine_mappings({}) == []  # those that were taken out are taken from the machine
    assert encapsulation_types_of({"ovn_verify_cluster_resource": READ}) == ["vxlan"]
    assert encapsulation_types_of(
        {"ovn_verify_cluster_resource": READ, "ovn_hypervisor_encapsulation_type": "geneve"}
    ) == ["geneve"]
    assert encapsulation_types_of({}) == ["geneve"]


def test_a_machine_that_the_run_does_not_reach_has_the_encapsulation_too() -> None:
    hosts = inventory(plane={**KUBERNETES, "ovn_verify_cluster_resource": READ})
    assert encapsulation_types_of(with_resource(hosts["m1"], hosts, GROUPS)) == ["vxlan"]
    assert declared_hosts(hosts, GROUPS, ["m1"])["m1"].encapsulation_types == ("vxlan",)
    assert encapsulation_types_of(with_resource({}, inventory(), GROUPS)) == ["geneve"]
    assert encapsulation_types_of(with_resource({}, {}, {})) == ["geneve"]


def test_a_firewall_lets_in_the_encapsulation_of_the_resource() -> None:
    machine = {
        "ovn_firewall": "managed",
        "ovn_address": "192.0.2.31",
        "ovn_hypervisor_tunnel_networks": ["192.0.2.0/24"],
    }
    hosts = inventory(plane={**KUBERNETES, "ovn_verify_cluster_resource": READ}, m1=machine)
    groups = {**GROUPS, "ovn_hypervisors": ["m1"]}
    ports = desired_firewall(hosts, groups, "m1", {}, role="ovn_hypervisor")["options"]["ports"]
    assert [one["port"] for one in ports] == [4789]


def test_a_resource_that_was_not_read_is_no_inventory() -> None:
    assert specification_of_resource("inventory", None) is None
    with pytest.raises(InvalidInput, match=r"was not read in this run\. Include the entry point inventory"):
        specification_of_resource("resource", {})


BOTH = "spec.northbound.electionTimer is 50. Use 100 to 600000. spec.southbound.electionTimer is 50. Use 100 to 600000."


@pytest.mark.parametrize(
    ("message", "variables", "expected"),
    [
        (BOTH, {"ovn_central_election_timer": 50}, "ovn_central_election_timer is 50. Use 100 to 600000."),
        (BOTH, {"ovn_central_election_timer": ""}, BOTH),
        (BOTH, {"ovn_central_election_timer": 50, FACT: READ}, BOTH),
        (
            BOTH,
            {"ovn_central_election_timer": 90, "ovn_cluster_spec": {"northbound": {"electionTimer": 50}}},
            BOTH.replace("spec.southbound.electionTimer", "ovn_central_election_timer"),
        ),
        ("spec.ovnImage.tag is 5.", {"ovn_image": {"tag": 5}}, "ovn_image.tag is 5."),
        ("spec.ovnImages is 5.", {"ovn_image": {"tag": 5}}, "spec.ovnImages is 5."),
    ],
)
def test_messages_name_the_option_that_has_set_a_field(message: str, variables: Object, expected: str) -> None:
    found = name_options(OvnError(message, requests=1, exception=message), variables)
    assert str(found) == expected
    assert found.details == {"requests": 1, **({"exception": message} if message == expected else {})}
