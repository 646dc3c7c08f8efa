"""A StatefulSet gets more replicas, never fewer."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.objects import ClusterObjects
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused

Object = dict[str, t.Any]


def stateful_set(replicas: int) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ovn-northbound", "namespace": "x", "generation": 1},
        "spec": {"replicas": replicas, "volumeClaimTemplates": []},
        "status": {"observedGeneration": 1},
    }


@pytest.mark.parametrize(
    ("there", "refused"),
    [(None, False), (2, False), (3, False), (5, True)],
    ids=["gone", "fewer", "as many", "more, by another run"],
)
def test_scale(there: int | None, refused: bool) -> None:
    cluster = FakeCluster(*([] if there is None else [stateful_set(there)]))
    observed, replicas = ObservedCluster("ovn", "x", {}, None, {}), {"northbound": 2, "southbound": 1}
    run = types.SimpleNamespace(
        cluster=cluster,
        observed=observed,
        desired=types.SimpleNamespace(name="ovn", force_conflicts=False),
        replicas=replicas,
        done=[],
        _manifests=lambda counts: [stateful_set(counts["northbound"])],
    )
    if refused:
        with pytest.raises(Refused, match=r"has 5 replicas, this run would set 3.*Run again"):
            ClusterObjects._scale(t.cast(t.Any, run), "northbound", 3, None)
    else:
        ClusterObjects._scale(t.cast(t.Any, run), "northbound", 3, None)
    assert [call.body["spec"]["replicas"] for call in cluster.written] == ([] if refused else [3])
    assert replicas == {"northbound": 2 if refused else 3, "southbound": 1}
