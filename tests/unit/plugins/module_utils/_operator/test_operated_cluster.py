"""What of an OVNCluster wakes the operator."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.operated_cluster import (
    observe_resource,
    reported_generation,
)

CLUSTER: dict[str, t.Any] = {
    "metadata": {"name": "ovn", "namespace": "net", "uid": "1", "generation": 2},
    "status": {
        "conditions": [
            {"type": "UpToDate", "status": "True", "observedGeneration": 2},
            {"type": "Reconciled", "status": "True"},
        ],
        "endpoints": {"southbound": "ssl:a:2,ssl:b:2", "northbound": "ssl:a:1"},
        "northbound": {"members": []},
    },
}


def test_its_own_condition_does_not_wake_it() -> None:
    changed = copy.deepcopy(CLUSTER)
    changed["status"]["conditions"][1]["status"] = "False"
    changed["status"]["northbound"] = {"members": ["a"]}
    assert observe_resource(changed) == observe_resource(CLUSTER)
    changed["status"]["conditions"][0]["status"] = "False"
    assert observe_resource(changed) != observe_resource(CLUSTER)


def test_after_a_restart_a_generation_is_not_told_anew() -> None:
    assert reported_generation(CLUSTER) == 0
    told = copy.deepcopy(CLUSTER)
    told["status"]["conditions"][1]["observedGeneration"] = 2
    assert reported_generation(told) == 2
    assert reported_generation({"metadata": {}}) == 0
