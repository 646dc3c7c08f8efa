"""The objects of a control plane: a StatefulSet gets more replicas, never fewer."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Changed, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.objects import ClusterObjects
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import ObjectChange
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress

Object = dict[str, t.Any]


def stateful_set(replicas: int) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ovn-northbound", "namespace": "x", "generation": 1},
        "spec": {"replicas": replicas, "volumeClaimTemplates": [{"spec": {}}]},
        "status": {"observedGeneration": 1},
    }


class Manifests:
    """Remembers for whom the objects are built."""

    def __init__(self) -> None:
        self.owners: list[Object | None] = []

    def build(self, replicas: dict[str, int], owner: Object | None, _relay_probe: int | None) -> list[Object]:
        self.owners.append(owner)
        return [stateful_set(replicas["northbound"])]


def objects_of(
    cluster: FakeCluster, manifests: Manifests | None = None, resource: Object | None = None
) -> ClusterObjects:
    observed = ObservedCluster("ovn", "x", {}, resource, {})
    checked = types.SimpleNamespace(observed=observed, replicas={"northbound": 2, "southbound": 1})
    desired = types.SimpleNamespace(name="ovn", force_conflicts=False)
    made = (cluster, desired, manifests or Manifests(), checked, Progress())
    return ClusterObjects(*t.cast(t.Any, made), check_mode=False)


@pytest.mark.parametrize(
    ("there", "refused"),
    [(None, False), (2, False), (3, False), (5, True)],
    ids=["gone", "fewer", "as many", "more, by another run"],
)
def test_scale(there: int | None, refused: bool) -> None:
    cluster = FakeCluster(*([] if there is None else [stateful_set(there)]))
    objects = objects_of(cluster)
    if refused:
        with pytest.raises(Refused, match=r"has 5 replicas, this run would set 3.*Run again"):
            objects.scale("northbound", 3, None)
    else:
        objects.scale("northbound", 3, None)
    assert [call.body["spec"]["replicas"] for call in cluster.written] == ([] if refused else [3])
    assert objects.replicas == {"northbound": 2 if refused else 3, "southbound": 1}
    assert [change.kind for change in objects.progress.done] == ([] if refused else ["StatefulSet"])


def test_another_statefulset_than_the_observed_one_is_not_scaled() -> None:
    cluster = FakeCluster(stateful_set(2))
    objects = objects_of(cluster)
    with pytest.raises(Changed, match="another one than the one that was observed"):
        objects.scale("northbound", 3, {"metadata": {"uid": "of another one"}})
    assert cluster.written == []
    assert objects.replicas["northbound"] == 2


@pytest.mark.parametrize(
    ("metadata", "owns"), [({"uid": "u", "generation": 1}, True), ({}, False)], ids=["there", "only predicted"]
)
def test_what_does_not_exist_yet_owns_nothing(metadata: Object, owns: bool) -> None:
    manifests, resource = Manifests(), {"metadata": metadata}
    objects_of(FakeCluster(), manifests, resource).manifests()
    assert manifests.owners == [resource if owns else None]


def test_a_deployment_that_was_changed_has_to_be_read_again() -> None:
    objects = objects_of(FakeCluster())
    northd = {"kind": "Deployment"}
    objects.observed.index["apps/v1", "Deployment", "x", "ovn-northd"] = northd
    assert objects.deployment("ovn-northd") is northd
    objects.progress.done.append(ObjectChange("Deployment", "ovn-northd", "x", "changed", northd, northd))
    assert objects.deployment("ovn-northd") is None


def test_what_a_run_changes_by_what_it_finds_is_applied_early_only_if_it_is_missing() -> None:
    """Pods wait for the ConfigMap of relays; later it has the probe that fits the size of the files, which is no difference to what is declared."""
    objects = objects_of(FakeCluster())
    listeners = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ovn-relay", "namespace": "x"}}
    endpoints = {**listeners, "metadata": {"name": "ovn-config", "namespace": "x"}}
    assert objects.is_due(listeners)
    objects.observed.index["v1", "ConfigMap", "x", "ovn-relay"] = listeners
    assert not objects.is_due(listeners)
    assert not objects.is_due(endpoints)
    assert objects.is_due(stateful_set(1))
