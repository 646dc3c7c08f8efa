from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from example_rights import (
    LIMITED_RIGHTS,
    limited_roles,
    machine_chassis_roles,
    node_certificate_role,
    preparation_role,
    roles,
    status_agent_role,
)

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import record_name
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.absent import _ORDER
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import KINDS
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.switch_to_own import (
    SIGNING_ACCESSES,
    without_granted,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import Access, allows
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import _NEVER_PRUNED
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.kinds import KNOWN_KINDS
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.status_rights import observer_rights, status_rights
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.creation import (
    control_plane_manifests,
    hypervisor_cluster_manifests,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import (
    RIGHTS,
    Right,
    needed_rights,
    node_certificate_rights,
    questions_of,
    status_agent_rights,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.ping import PingOptions

EXAMPLES = Path(__file__).resolve().parents[5] / "examples" / "rights"
SPEC = parse_spec({}, name="ovn", namespace="ovn-system")
PLACES: dict[Kind, str] = {"cluster": "ovn-control-plane", "hypervisors": "ovn-hypervisors"}
APPLIED: dict[Kind, list[dict[str, t.Any]]] = {
    "cluster": [*control_plane_manifests(SPEC), {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster"}],
    "hypervisors": [*hypervisor_cluster_manifests(SPEC), {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNChassis"}],
}


def verbs(kind: Kind) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for right in needed_rights(kind, {"always", "own resource", "own secret", "secret"}):
        found.setdefault((right.group, right.resource), set()).update(right.verbs)
    return found


def resource(api_version: str, kind: str) -> tuple[str, str]:
    return api_version.rpartition("/")[0], KNOWN_KINDS[api_version, kind].plural


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_what_is_applied_is_read_created_patched_and_deleted(kind: Kind) -> None:
    table = verbs(kind)
    for manifest in APPLIED[kind]:
        assert table[resource(manifest["apiVersion"], manifest["kind"])] >= {"list", "create", "patch", "delete"}


def test_what_is_pruned_or_deleted_may_be_listed_and_deleted() -> None:
    table = verbs("cluster")
    for api_version, kind in {*KINDS, *_ORDER}:
        needed = {"list"} if kind in _NEVER_PRUNED and (api_version, kind) not in _ORDER else {"list", "delete"}
        assert table[resource(api_version, kind)] >= needed


def test_nobody_grants_a_right_that_they_do_not_have() -> None:
    """The Roles of northd and the observer, which a run creates: Kubernetes refuses them otherwise."""
    table = verbs("cluster")
    granted = [rule for one in APPLIED["cluster"] if one["kind"] == "Role" for rule in one["rules"]]
    assert granted
    for rule in granted:
        for group in rule["apiGroups"]:
            for name in rule["resources"]:
                assert table[group, name] >= set(rule["verbs"])


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_both_definitions_are_named_as_far_as_they_are_used(kind: Kind) -> None:
    (written,) = needed_rights(kind, {"definitions"})
    every = {one["metadata"]["name"] for one in custom_resource_definitions()}
    assert set(written.names) == (every if kind == "cluster" else {"ovnchassis.ovn.c5c3.io"})


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_an_optional_right_says_what_is_lost_without_it(kind: Kind) -> None:
    assert [right for right in RIGHTS[kind] if (right.need == "optional") != bool(right.without)] == []


@pytest.mark.parametrize(
    ("right", "questions"),
    [
        pytest.param(
            Right("apps", "deployments", ("get", "list")),
            [Access("apps", "deployments", "get", "", "net"), Access("apps", "deployments", "list", "", "net")],
            id="in the namespace",
        ),
        pytest.param(
            Right("", "nodes", ("list",), cluster_wide=True), [Access("", "nodes", "list", "", "")], id="cluster-wide"
        ),
        pytest.param(
            Right("", "namespaces", ("get",)),
            [Access("", "namespaces", "get", "net", "net")],
            id="a namespace is an object in itself",
        ),
        pytest.param(
            Right("", "namespaces", ("create",), "namespace", cluster_wide=True),
            [Access("", "namespaces", "create", "", "")],
            id="a namespace that does not exist",
        ),
        pytest.param(
            Right("x", "things", ("get",), names=("a", "b"), cluster_wide=True),
            [Access("x", "things", "get", "a", ""), Access("x", "things", "get", "b", "")],
            id="each name",
        ),
    ],
)
def test_questions_of(right: Right, questions: list[Access]) -> None:
    assert questions_of(right, "net") == questions


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_the_roles_grant_the_whole_table(kind: Kind) -> None:
    cluster_role, role = roles(kind, "ovn", "net")
    preparation = preparation_role(kind, "ovn-preparation")
    for right in RIGHTS[kind]:
        granted = (cluster_role if right.cluster_wide else role)["rules"]
        rules = preparation["rules"] if right.need in ("namespace", "definitions") else granted
        assert [one for one in questions_of(right, "net") if not allows(rules, one)] == []


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_who_only_looks_changes_nothing(kind: Kind) -> None:
    """But for commands in pods, which Kubernetes counts as creations."""
    writing = {one.resource for one in LIMITED_RIGHTS["view", kind] if not {"get", "list"}.issuperset(one.verbs)}
    assert writing == ({"pods/exec"} if kind == "cluster" else set())


def test_names_in_the_roles_are_the_defaults() -> None:
    named = {name for rights in LIMITED_RIGHTS.values() for right in rights for name in right.names}
    records = {record_name(SPEC.name, database) for database in DATABASES}
    assert named == {SPEC.name, SPEC.tls_secret, PingOptions.name, *records}


def test_a_run_that_signs_for_nodes_may_do_what_it_grants_their_agents() -> None:
    manifests = hypervisor_cluster_manifests(
        parse_spec({"tls": {"nodeCertificates": "own"}}, name="ovn", namespace="x")
    )
    (granted,) = [one for one in manifests if one["kind"] == "ClusterRole"]
    rights = node_certificate_rights("x")
    table = {right.resource: right for right in rights}
    for rule in granted["rules"]:
        for name in rule["resources"]:
            assert set(table[name].verbs) >= set(rule["verbs"])
    assert table["signers"].names == ("ovn.c5c3.io/chassis",)
    assert table["clusterroles"].names == table["clusterrolebindings"].names == (granted["metadata"]["name"],)


def test_who_signs_has_the_rights_of_the_page() -> None:
    granted = node_certificate_role("x", "net")["rules"]
    assert without_granted([one for one in SIGNING_ACCESSES if not allows(granted, one)]) == []


def test_a_run_may_do_what_it_lets_agents_do() -> None:
    rights = status_agent_rights("x")
    table = {right.resource: right for right in rights}
    manifests = [*status_rights("ovn-controller", "x", "ovn", "controller"), *observer_rights("x", "ovn")]
    rules = [rule for one in manifests if one["kind"] == "ClusterRole" for rule in one["rules"]]
    for rule in rules:
        for name in rule["resources"]:
            assert set(table[name].verbs) >= set(rule["verbs"])
    names = {one["metadata"]["name"] for one in manifests}
    assert {name for right in rights for name in right.names} == names
    assert all(right.need == "optional" and right.without for right in rights)


def name_and_kind(role: dict[str, t.Any]) -> tuple[str, str]:
    return role["metadata"]["name"], role["kind"]


def test_examples_have_the_roles_of_the_table() -> None:
    """examples/rights has what `roles` returns. Where they differ, this prints what belongs there."""
    made = [
        *roles("cluster", "ovn-control-plane", "ovn-system"),
        *roles("hypervisors", "ovn-hypervisors", "ovn-system"),
        preparation_role("cluster", "ovn-control-plane-preparation"),
        preparation_role("hypervisors", "ovn-hypervisors-preparation"),
        status_agent_role("ovn-hypervisors-agents", "ovn-system"),
        node_certificate_role("ovn-hypervisors-certificates", "ovn-system"),
        *machine_chassis_roles("ovn-machines", "ovn-system"),
        *(
            role
            for purpose, kind in LIMITED_RIGHTS
            for role in limited_roles(purpose, kind, f"{PLACES[kind]}-{purpose}", "ovn-system")
        ),
    ]
    texts = [path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.yml")]
    shown = [one for content in texts for one in yaml.safe_load(content)["items"]]
    text = yaml.safe_dump(made, sort_keys=False, default_flow_style=None, width=150)
    assert sorted(shown, key=name_and_kind) == sorted(made, key=name_and_kind), f"examples/rights should have\n{text}"


def test_who_takes_the_resource_of_another_client_may_not_write_it() -> None:
    def verbs(*, own_resource: bool) -> dict[str, list[str]]:
        _everywhere, role = roles("cluster", "x", "net", own_resource=own_resource)
        return {rule["resources"][0]: rule["verbs"] for rule in role["rules"]}

    theirs, own = verbs(own_resource=False), verbs(own_resource=True)
    assert theirs.pop("ovnclusters") == ["get", "watch", "list"]
    assert own.pop("ovnclusters") == ["get", "watch", "list", "create", "patch", "delete"]
    assert theirs["ovnclusters/status"] == ["get", "patch"]
    assert theirs == own
