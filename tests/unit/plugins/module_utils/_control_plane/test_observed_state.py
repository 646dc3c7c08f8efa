"""What is there, and what goes when a control plane is taken away."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import observed_state as module
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.absent import objects_to_delete, remaining_data
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster

KINDS = {
    "OVNCluster": "ovn.c5c3.io/v1alpha1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "Service": "v1",
    "ConfigMap": "v1",
    "ServiceAccount": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "PersistentVolumeClaim": "v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
}


GIVEN = ("team",)  # labeled as a part of the control plane by whoever has made it


def live(*names: str, leaving: t.Collection[str] = (), replicas: int = 3) -> ObservedCluster:
    index = {}
    for name in names:
        kind, _blank, plain = name.partition(" ")
        owner = {} if plain in GIVEN else {"app.kubernetes.io/managed-by": "c5c3.ovn"}
        metadata: dict[str, t.Any] = {"name": plain, "namespace": "x", "labels": owner}
        if name in leaving:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        index[(KINDS[kind], kind, "x", plain)] = {"kind": kind, "metadata": metadata, "spec": {"replicas": replicas}}
    return ObservedCluster("ovn", "x", {}, None, index)


ALL = (
    "ConfigMap ovn-northbound-record",
    "ConfigMap ovn-scripts",
    "PersistentVolumeClaim data-ovn-northbound-0",
    "StatefulSet ovn-northbound",
    "Deployment ovn-northd",
    "OVNCluster ovn",
    "CustomResourceDefinition ovnclusters.ovn.c5c3.io",
    "ServiceAccount ovn-northbound",
    "ServiceAccount team",
    "ConfigMap team",
    "Role team",
    "RoleBinding team",
    "RoleBinding ovn-northd",
    "Deployment team",
    "Service ovn-nb",
)


def titles(found: t.Iterable[dict[str, t.Any]]) -> list[str]:
    return [f"{m['kind']} {m['metadata']['name']}" for m in found]


def test_users_of_the_databases_go_first_and_data_stays() -> None:
    assert titles(objects_to_delete(live(*ALL), delete_data=False)) == [
        "OVNCluster ovn",
        "Deployment ovn-northd",
        "StatefulSet ovn-northbound",
        "Service ovn-nb",
        "RoleBinding ovn-northd",
        "ServiceAccount ovn-northbound",
        "ConfigMap ovn-scripts",
    ]
    assert remaining_data(live(*ALL)) == [
        "ConfigMap ovn-northbound-record",
        "PersistentVolumeClaim data-ovn-northbound-0",
    ]


def test_an_ovncluster_of_another_client_goes_and_data_without_our_label_too() -> None:
    """Both are known by their names."""
    state = live("OVNCluster ovn", "ConfigMap ovn-northbound-record", "PersistentVolumeClaim data-ovn-northbound-0")
    for one in state.index.values():
        one["metadata"]["labels"] = {}
    assert len(objects_to_delete(state, delete_data=True)) == 3


def test_data_goes_last_and_definitions_never() -> None:
    found = titles(objects_to_delete(live(*ALL), delete_data=True))
    assert found[-2:] == ["PersistentVolumeClaim data-ovn-northbound-0", "ConfigMap ovn-northbound-record"]
    assert not any(title.startswith("CustomResourceDefinition") for title in found)


def test_claims_are_those_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that somebody made, for safety maybe, is none of ours, whatever else is taken away."""
    kind = ("v1", "PersistentVolumeClaim", "x")
    ours = {(*kind, f"data-ovn-{name}") for name in ("northbound-0", "southbound-10")}
    others = {
        (*kind, name)
        for name in (
            "data-ovn-northbound-0-before-upgrade",
            "data-ovn-northbound-clone",
            "data-ovn-northbound-",
            "data-ovn-other-northbound-0",
            "data-ovnx-northbound-0",
            "my-data-ovn-northbound-0",
        )
    }
    monkeypatch.setattr(module, "list_objects", lambda *_: {key: {} for key in ours | others})
    assert set(module._claims(t.cast(t.Any, None), "ovn", "x")) == ours


def test_what_is_on_its_way_out_is_neither_deleted_again_nor_kept() -> None:
    claim = "PersistentVolumeClaim data-ovn-northbound-0"
    there = live(claim, "Service ovn-nb", leaving=[claim, "Service ovn-nb"])
    assert objects_to_delete(there, delete_data=True) == []
    assert remaining_data(there) == []


def test_the_record_of_another_cluster_is_no_record_of_this_one() -> None:
    assert titles(objects_to_delete(live("ConfigMap blue-northbound-record"), delete_data=False)) == [
        "ConfigMap blue-northbound-record"
    ]


@pytest.mark.parametrize(
    ("names", "indexes"),
    [
        ((), set()),
        (("data-ovn-northbound-0",), {0}),
        (("data-ovn-northbound-2",), {2}),
        (("data-ovn-northbound-1", "data-ovn-northbound-10"), {1, 10}),
        (("data-ovn-southbound-4", "data-ovn-northbound-x", "other-ovn-northbound-7", "data-blue-northbound-3"), set()),
    ],
    ids=["none", "one", "a gap below it", "two digits", "claims of others"],
)
def test_claims_tell_which_members_may_have_data(names: tuple[str, ...], indexes: set[int]) -> None:
    assert live(*(f"PersistentVolumeClaim {name}" for name in names)).claims("northbound") == indexes


def test_replicas() -> None:
    assert live("StatefulSet ovn-northbound", replicas=5).replicas("northbound") == 5
    assert live("StatefulSet ovn-northbound").replicas("southbound") == 0


def test_a_changed_stateful_set_is_looked_at_again_until_its_controller_has_seen_it() -> None:
    """Its controller notices the change at the third look."""
    changed = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ovn-northbound", "namespace": "x", "generation": 2},
        "status": {"observedGeneration": 1},
    }
    cluster, there = FakeCluster(changed), live("StatefulSet ovn-northbound")
    cluster.before("get", lambda: None, times=2)
    cluster.before("get", lambda: cluster.put({**changed, "status": {"observedGeneration": 2}}))
    assert there.stateful_set(cluster, "northbound")
    assert cluster.calls == []
    there.invalidate("StatefulSet", "ovn-northbound")
    fresh = there.stateful_set(cluster, "northbound")
    assert fresh is not None
    assert fresh["status"]["observedGeneration"] == 2
    assert there.stateful_set(cluster, "northbound") is fresh
    assert len(cluster.calls) == 3
