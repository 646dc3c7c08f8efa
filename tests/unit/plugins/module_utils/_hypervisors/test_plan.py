"""The plan for the chassis of a hypervisor cluster: with what the Nodes, the last run and the Southbound database say."""

from __future__ import annotations

import json
import types
import typing as t
from unittest import mock

import pytest
from southbound_registry import registry

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import chassis_labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.desired import DesiredHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import ObservedHypervisors
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.plan import (
    HypervisorPlan,
    nodes_to_remove,
    plan_hypervisors,
    with_confirmed_names,
    with_registry,
)

SPEC = {"controller": {"nodeSelector": {"ovn": "x"}}, "ovs": {"nodeSelector": {"ovn": "x"}}}


def node(name: str, ip: str = "", *, chosen: bool = True) -> Node:
    address = ip or f"192.0.2.{name[1:]}"
    return Node(name, f"uid-{name}", {"ovn": "x"} if chosen else {}, {}, (address,), True)


def resource(name: str, namespace: str = "net", system_id: str = "") -> dict[str, t.Any]:
    return {
        "metadata": {"name": name, "labels": chassis_labels("ovn", namespace)},
        "spec": {"systemId": system_id} if system_id else {},
    }


def observed(
    *nodes: Node, recorded: dict[str, str] | None = None, resources: t.Sequence[dict[str, t.Any]] = ()
) -> ObservedHypervisors:
    index: dict[t.Any, t.Any] = {}
    if recorded is not None:
        index["v1", "ConfigMap", "net", "ovn-chassis"] = {"data": {"_nodes": json.dumps(recorded)}}
    for one in custom_resource_definitions():
        metadata = {**one["metadata"], "uid": "u"}
        index["apiextensions.k8s.io/v1", "CustomResourceDefinition", "", metadata["name"]] = {"metadata": metadata}
    found = {one["metadata"]["name"]: one for one in resources}
    return ObservedHypervisors("ovn", "net", index, list(nodes), found, None, foreign_config=False)


def plan(state: ObservedHypervisors, *, changed: bool = False, **more: t.Any) -> HypervisorPlan:
    spec = parse_spec({**SPEC, **more}, name="ovn", namespace="net")
    desired = types.SimpleNamespace(name="ovn", namespace="net", spec=spec, southbound=["ssl:192.0.2.9:6642"])
    return plan_hypervisors(t.cast(DesiredHypervisors, desired), state, changed=changed)


@pytest.mark.parametrize(
    ("state", "names", "known", "to_remove"),
    [
        pytest.param(observed(node("n2"), node("n1")), ["n1", "n2"], set(), {}, id="a first run"),
        pytest.param(observed(node("n1"), recorded={"n1": "n1"}), ["n1"], {"n1"}, {}, id="a second run"),
        pytest.param(
            observed(node("n1"), node("n2", chosen=False), recorded={"n2": "two"}),
            ["n1"],
            {"n2"},
            {"n2": "two"},
            id="a node that lost its label",
        ),
        pytest.param(
            observed(node("n1"), resources=[resource("n3", system_id="three")]),
            ["n1"],
            {"n3"},
            {"n3": "three"},
            id="an OVNChassis whose Node is gone",
        ),
        pytest.param(
            observed(node("n1"), resources=[resource("n3", "other")]), ["n1"], set(), {}, id="another namespace's"
        ),
    ],
)
def test_who_is_and_who_goes(
    state: ObservedHypervisors, names: list[str], known: set[str], to_remove: dict[str, str]
) -> None:
    made = plan(state)
    assert [one.node.name for one in made.chassis] == names
    assert (made.known, made.to_remove, made.registry) == (known, to_remove, None)
    assert made.observed is state


def test_addresses_that_only_the_node_knows() -> None:
    made = plan(observed(node("n1")), encapsulation={"interface": "eth1"})
    assert ([one.system_id for one in made.self_addressed], made.addressed) == (["n1"], [])
    made = plan(observed(node("n1")))
    assert ([one.system_id for one in made.addressed], made.self_addressed) == (["n1"], [])


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize(
    ("state", "message"),
    [
        (observed(node("n1"), recorded={"n1": "old"}), 'cannot become "n1" while it runs'),
        (observed(node("n1"), resources=[resource("n1", "other")]), "is a hypervisor of OVNCluster ovn in namespace"),
    ],
    ids=["another system id", "a node of others"],
)
def test_a_refusal_says_whether_anything_was_changed(state: ObservedHypervisors, message: str, changed: bool) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        plan(state, changed=changed)
    assert str(refused.value).endswith("Nothing was changed.") is not changed


def test_the_registry_adds_what_nobody_recorded() -> None:
    made = plan(observed(node("n1"), recorded={"n1": "n1", "n2": "two"}))
    mark = made.observed.owner
    rows = registry(
        ("n1", "192.0.2.1", mark), ("two", "192.0.2.2", mark), ("lost", "192.0.2.3", mark), ("x", "192.0.2.4", "")
    )
    known = with_registry(made, rows, changed=False)
    assert known.to_remove == {"n2": "two", "host-lost": "lost"}
    assert known.registry is rows
    assert with_registry(made, None, changed=False) == made


def test_a_clash_is_refused() -> None:
    made = plan(observed(node("n1"), node("n2")))
    rows = registry(("n1", "198.51.100.1", ""), ("other", "192.0.2.2", ""))
    with pytest.raises(InvalidInput, match="already has a chassis") as refused:
        with_registry(made, rows, changed=False)
    assert len(refused.value.details["problems"]) == 2
    assert str(refused.value).endswith("Nothing was changed.")


def test_a_dozen_problems_are_not_all_printed() -> None:
    recorded = {f"n{number}": "old" for number in range(1, 13)}
    with pytest.raises(InvalidInput, match=r"\(and 2 more problems\)") as refused:
        plan(observed(*(node(name) for name in recorded), recorded=recorded))
    assert len(refused.value.details["problems"]) == 12


def test_what_remains_is_not_removed() -> None:
    state = observed(resources=[resource("n1"), resource("n2", system_id="two")])
    assert nodes_to_remove(state, {"n3": "three"}, {"n1"}) == {"n2": "two", "n3": "three"}


def test_ours_is_removed_before_the_open_vswitch_of_the_nodes_is_used() -> None:
    state = observed(node("n1"))
    host = {"ovs": {**SPEC["ovs"], "mode": "host"}}
    assert plan(state, **host).default["preserve_foreign"]
    assert "preserve_foreign" not in plan(state).default
    state.index["apps/v1", "DaemonSet", "net", "ovs"] = {"metadata": {"name": "ovs"}}
    with pytest.raises(InvalidInput, match="DaemonSet ovs in namespace net runs an Open vSwitch of ours"):
        plan(state, **host)


def test_who_may_have_a_certificate_is_known_from_the_last_run_and_from_other_clients() -> None:
    declared = resource("n2", system_id="two")
    manager = {"manager": "kubectl", "fieldsV1": {"f:spec": {"f:systemId": {}}}}
    declared["metadata"]["managedFields"] = [manager]
    state = observed(node("n1"), node("n2"), node("n3"), recorded={"n1": "n1"}, resources=[declared])
    rows = registry(("n3", "192.0.2.3", ""))
    found = with_confirmed_names(with_registry(plan(state), rows, changed=False), ["n1"]).certified
    assert found is not None
    assert found.names == {"n2": "two"}
    assert sorted(found.problems) == ["n1", "n3"]
    state.index["v1", "ConfigMap", "net", "ovn-chassis"]["data"]["_confirmed"] = '{"n3": "n3"}'
    assert with_confirmed_names(plan(state), []).certified == (
        {"n3": "n3"},
        dict.fromkeys(("n1", "n2"), mock.ANY),
    )


def test_a_name_that_no_certificate_can_have_is_refused() -> None:
    long = Node("n" * 65, "u", {"ovn": "x"}, {}, ("192.0.2.1",), True)
    assert plan(observed(long)).chassis
    with pytest.raises(InvalidInput, match=r"cannot be the name in a certificate.* Nothing was changed\.$"):
        plan(observed(long), tls={"nodeCertificates": "own"})


def test_an_account_of_pods_that_exist_is_not_changed() -> None:
    state = observed(node("n1"))
    template = {"spec": {"serviceAccountName": "ovn-controller"}}
    state.index["apps/v1", "DaemonSet", "net", "ovn-controller"] = {"spec": {"template": template}}
    agents: dict[str, t.Any] = {**SPEC["controller"], "serviceAccountName": "agents"}
    with pytest.raises(
        InvalidInput, match=r"DaemonSet net/ovn-controller has .* asks for agents: .*Nothing was changed\.$"
    ):
        plan(state, controller=agents)
    template["spec"]["serviceAccountName"] = "agents"
    plan(state, controller=agents)
