"""Options become what is desired."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import (
    DesiredCluster,
    check_unchanged,
    desired_from_params,
    is_config,
    keep_claims,
    kept_fields_warning,
    refuse_deletion,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster

CID = "aaaaaaaa-1111-4111-8111-111111111111"
KIND = {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster"}


def desired(existing: dict[str, t.Any] | None = None, **options: t.Any) -> DesiredCluster:
    params = {
        "name": "ovn",
        "namespace": "ovn-system",
        "spec": None,
        "definition": None,
        "spec_from": "options",
        "resource_uid": None,
        "resource_generation": None,
        "images": None,
        "cluster_domain": "cluster.local",
        "pod_security": "restricted",
        "bootstrap": "auto",
        "northbound_cluster_id": None,
        "southbound_cluster_id": None,
        "restart": True,
        "allow_outage": False,
        "new_cluster": False,
        "accept_rollback": False,
        "accept_lost_disk": False,
        "break_lock": False,
        "force_conflicts": False,
        "wait": True,
        "lock_wait_timeout": None,
        "wait_timeout": 300.0,
        **options,
    }
    return desired_from_params(params, existing)


def test_a_specification_gets_name_and_namespace_of_the_options() -> None:
    found = desired(spec={"northbound": {"replicas": 1}}, name="blue", namespace="net")
    resource = found.resource()
    assert (resource["kind"], resource["metadata"]["name"], resource["metadata"]["namespace"]) == (
        "OVNCluster",
        "blue",
        "net",
    )
    assert resource["spec"] == {"northbound": {"replicas": 1}}  # as the user wrote it, without our defaults
    assert (found.spec.northbound.replicas, found.spec.southbound.replicas) == (1, 3)
    assert found.record_skeleton("southbound")["metadata"]["name"] == "blue-southbound-record"
    assert "ownerReferences" not in found.record_skeleton("southbound")["metadata"]


def test_a_definition_brings_its_own() -> None:
    metadata = {
        "name": "green",
        "namespace": "there",
        "labels": {"team": "net"},
        "annotations": {"note": "x"},
        "uid": "of another",
    }
    found = desired(definition={**KIND, "metadata": metadata, "spec": {}})
    assert (found.name, found.namespace) == ("green", "there")
    resource = found.resource()
    assert resource["metadata"]["labels"]["team"] == "net"
    assert resource["metadata"]["labels"]["app.kubernetes.io/instance"] == "green"
    assert resource["metadata"]["annotations"] == {"note": "x"}
    assert "uid" not in resource["metadata"]


def test_a_definition_without_a_name_takes_the_option() -> None:
    assert desired(definition={**KIND, "spec": {}}, name="blue").name == "blue"


def test_without_either_what_is_there_counts_and_stays_untouched() -> None:
    existing = {**KIND, "metadata": {"name": "ovn"}, "spec": {"southbound": {"replicas": 5}}}
    found = desired(existing, images={"ovn": {"tag": "1"}, "ovs": None})
    assert found.spec.southbound.replicas == 5
    assert found.raw["ovnImage"] == {"tag": "1"}
    assert "ovsImage" not in found.raw
    assert existing["spec"] == {"southbound": {"replicas": 5}}


def test_images_win_part_by_part() -> None:
    given = {"ovnImage": {"repository": "registry.example.com/ovn", "tag": "1"}}
    found = desired(spec=given, images={"ovn": {"tag": "2"}, "ovs": {"tag": "3"}})
    assert found.raw["ovnImage"] == {"repository": "registry.example.com/ovn", "tag": "2"}
    assert found.raw["ovsImage"] == {"tag": "3"}
    assert given["ovnImage"]["tag"] == "1"


def test_options_of_a_run() -> None:
    found = desired(
        spec={}, bootstrap="forbid", restart=False, northbound_cluster_id=f" {CID.upper()} ", southbound_cluster_id=""
    )
    assert not found.bootstrap
    assert not found.restart
    assert found.cluster_ids == {"northbound": CID, "southbound": None}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "OVNCluster ovn does not exist in namespace ovn-system"),
        ({"definition": {"apiVersion": "v1", "kind": "Pod"}}, "definition is a v1 Pod"),
        ({"definition": {"spec": {}}}, "not a ovn.c5c3.io/v1alpha1 OVNCluster"),
        ({"spec": {"unknown": 1}}, "spec.unknown is no field"),
        ({"spec": {"northbound": {"replicas": 2}}}, "spec.northbound.replicas"),
        ({"spec": {}, "wait_timeout": 0.0}, "wait_timeout is 0"),
        ({"spec": {}, "wait_timeout": -1.0}, "wait_timeout is -1"),
        ({"spec": {}, "southbound_cluster_id": "a0b7"}, 'southbound_cluster_id is "a0b7", which is no UUID'),
    ],
)
def test_invalid_options(options: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        desired(**options)


def test_only_a_missing_namespace_is_made() -> None:
    found = desired(spec={})

    def kinds(live: ObservedCluster) -> list[str]:
        return [manifest["kind"] for manifest in found.foundations(live)]

    assert kinds(ObservedCluster("ovn", "ovn-system", None, None, {}))[0] == "Namespace"
    assert "Namespace" not in kinds(ObservedCluster("ovn", "ovn-system", {"metadata": {}}, None, {}))


def test_definitions_that_this_user_may_not_see_are_left_alone() -> None:
    hidden = frozenset({"ovnclusters.ovn.c5c3.io"})
    names = [
        m["metadata"]["name"] for m in desired(spec={}).foundations(ObservedCluster("ovn", "x", {}, None, {}, hidden))
    ]
    assert "ovnclusters.ovn.c5c3.io" not in names
    assert "ovnchassis.ovn.c5c3.io" in names


def test_claim_templates_stay_as_they_are() -> None:
    def stateful_set(size: str, *nulls: str, **more: t.Any) -> dict[str, t.Any]:
        template = {
            "metadata": {"name": "data", **dict.fromkeys(nulls)},
            "spec": {"resources": {"requests": {"storage": size}}},
            **more,
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "ovn-northbound", "namespace": "x"},
            "spec": {"volumeClaimTemplates": [template]},
        }

    live = ObservedCluster(
        "ovn",
        "x",
        {},
        None,
        {
            ("apps/v1", "StatefulSet", "x", "ovn-northbound"): stateful_set(
                "1Gi", "creationTimestamp", status={"phase": "Pending"}
            )
        },
    )
    (kept,) = keep_claims([stateful_set("2Gi")], live)
    assert kept == stateful_set("1Gi")
    (new,) = keep_claims([stateful_set("2Gi")], ObservedCluster("ovn", "x", {}, None, {}))
    assert new == stateful_set("2Gi")


def test_the_configuration_for_others() -> None:
    assert is_config({"kind": "ConfigMap", "metadata": {"name": "ovn-config"}})
    assert not is_config({"kind": "ConfigMap", "metadata": {"name": "ovn-scripts"}})
    assert not is_config({"kind": "Secret", "metadata": {"name": "ovn-config"}})


RESOURCE = {**KIND, "metadata": {"name": "ovn"}, "spec": {"northbound": {"replicas": 1}}}


def test_the_resource_of_another_client_is_not_declared() -> None:
    found = desired(RESOURCE, spec_from="resource")
    assert not found.declared
    assert found.raw == RESOURCE["spec"]
    assert found.spec.northbound.replicas == 1


@pytest.mark.parametrize(
    ("existing", "options", "kind", "message"),
    [
        pytest.param(
            None, {}, Refused, r"OVNCluster ovn does not exist in namespace ovn-system, .* Apply it there first", id="none"
        ),
        pytest.param(RESOURCE, {"spec": {"northd": {}}}, InvalidInput, "spec cannot be given", id="a specification"),
        pytest.param(RESOURCE, {"spec": {}}, InvalidInput, "spec cannot be given", id="all defaults"),
        pytest.param(RESOURCE, {"definition": RESOURCE}, InvalidInput, "definition cannot be given", id="a definition"),
        pytest.param(RESOURCE, {"definition": {}}, InvalidInput, "definition cannot be given", id="an empty definition"),
        pytest.param(RESOURCE, {"resource_uid": "u0"}, Refused, r"its uid was u0, .* Run again\.", id="created again"),
        pytest.param(RESOURCE, {"resource_generation": 0}, Refused, r"its generation was 0, .* Run again\.", id="edited"),
        pytest.param(
            RESOURCE, {"images": {"ovn": {"tag": "1"}}}, InvalidInput, "images cannot be given", id="an image"
        ),
    ],
)  # fmt: skip
def test_nothing_counts_beside_the_resource(
    existing: dict[str, t.Any] | None, options: dict[str, t.Any], kind: type[OvnError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        desired(existing, spec_from="resource", **options)


def test_images_without_a_member_say_nothing() -> None:
    assert not desired(RESOURCE, spec_from="resource", images={"ovn": None, "ovs": {}}).declared


def test_a_resource_that_is_as_it_was_read_is_taken() -> None:
    read = {**RESOURCE, "metadata": {**RESOURCE["metadata"], "uid": "u1", "generation": 4}}
    assert not desired(read, spec_from="resource", resource_uid="u1", resource_generation=4).declared


@pytest.mark.parametrize(
    ("entry", "warns"),
    [
        pytest.param({"manager": "c5c3.ovn", "fieldsV1": {"f:spec": {"f:northd": {}}}}, True, id="of earlier runs"),
        pytest.param({"manager": "c5c3.ovn", "fieldsV1": {"f:status": {}}, "subresource": "status"}, False, id="status"),
        pytest.param({"manager": "flux", "fieldsV1": {"f:spec": {"f:northd": {}}}}, False, id="of the client"),
    ],
)  # fmt: skip
def test_fields_of_earlier_runs_are_pointed_out(entry: dict[str, t.Any], warns: bool) -> None:
    found = kept_fields_warning({"metadata": {"name": "ovn", "namespace": "ovn-system", "managedFields": [entry]}})
    assert ("OVNCluster ovn in namespace ovn-system has fields of the field manager c5c3.ovn" in found) is warns


def test_the_resource_of_another_client_is_not_deleted() -> None:
    refuse_deletion({"spec_from": "options"}, "ovn")
    with pytest.raises(Refused, match=r"OVNCluster ovn is not deleted: .* Delete it with that client"):
        refuse_deletion({"spec_from": "resource"}, "ovn")


READ = {"metadata": {"name": "ovn", "namespace": "net", "uid": "1", "generation": 2}}


@pytest.mark.parametrize(
    "now",
    [
        {"metadata": {**READ["metadata"], "generation": 3}},
        {"metadata": {**READ["metadata"], "uid": "2"}},
        {"metadata": {**READ["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        None,
    ],
    ids=["edited", "another one", "being deleted", "gone"],
)
def test_what_happened_while_the_lock_was_waited_for_ends_the_run(now: dict[str, t.Any] | None) -> None:
    check_unchanged(READ, {**READ, "status": {"conditions": []}})
    with pytest.raises(
        Refused, match="OVNCluster ovn in namespace net was changed or deleted while another run was waited for"
    ):
        check_unchanged(READ, now)


def test_a_resource_that_is_being_deleted_is_not_rolled_out() -> None:
    ending = {**KIND, "metadata": {**READ["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}
    with pytest.raises(Refused, match="is being deleted"):
        desired(ending, spec_from="resource")
