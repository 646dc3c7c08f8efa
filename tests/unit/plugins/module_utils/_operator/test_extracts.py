"""What of an object wakes the operator."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.hypervisor_target import (
    identity,
    node_extract,
    request_extract,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.hypervisors import endpoints_of
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.operated_cluster import see
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.target import Waiting

NODE: dict[str, t.Any] = {
    "metadata": {"name": "a", "uid": "1", "labels": {"rack": "1"}, "annotations": {"ovn.c5c3.io/gateway": "true"}},
    "status": {
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "conditions": [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "1"},
            {"type": "DiskPressure", "status": "False"},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "value", "wakes"),
    [
        (("metadata", "labels"), {"rack": "2"}, True),
        (("metadata", "annotations"), {"ovn.c5c3.io/gateway": "false"}, True),
        (("metadata", "annotations"), {"ovn.c5c3.io/gateway": "true", "kubelet.example.com/seen": "now"}, False),
        (("metadata", "uid"), "2", True),
        (("metadata", "deletionTimestamp"), "now", True),
        (("status", "addresses"), [{"type": "InternalIP", "address": "192.0.2.2"}], True),
        (("status", "conditions"), [{"type": "Ready", "status": "False"}], True),
        (("status", "conditions"), [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2"}], False),
        (("status", "images"), ["many"], False),
    ],
)
def test_node(path: tuple[str, str], value: t.Any, wakes: bool) -> None:
    changed = copy.deepcopy(NODE)
    changed[path[0]][path[1]] = value
    assert (node_extract(changed) != node_extract(NODE)) is wakes


def test_a_status_wakes_nobody_and_an_edit_does() -> None:
    one = {"metadata": {"uid": "1", "generation": 1}, "status": {"replicas": 1}}
    assert identity({**one, "status": {"replicas": 2}}) == identity(one)
    assert identity({**one, "metadata": {"uid": "1", "generation": 2}}) != identity(one)
    assert identity({**one, "metadata": {"uid": "2", "generation": 1}}) != identity(one)


def test_a_request_that_was_dealt_with_differs() -> None:
    one = {"metadata": {"uid": "1"}, "status": {}}
    assert request_extract({**one, "status": {"certificate": "QQ=="}}) != request_extract(one)


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
SPEC = {"southbound": {"service": {"type": "NodePort"}}}


def test_its_own_condition_does_not_wake_it() -> None:
    changed = copy.deepcopy(CLUSTER)
    changed["status"]["conditions"][1]["status"] = "False"
    changed["status"]["northbound"] = {"members": ["a"]}
    assert see(changed) == see(CLUSTER)
    changed["status"]["conditions"][0]["status"] = "False"
    assert see(changed) != see(CLUSTER)


def test_endpoints_of_the_generation() -> None:
    spec = parse_spec(SPEC, name="ovn", namespace="net")
    assert endpoints_of(CLUSTER, spec) == (["ssl:a:2", "ssl:b:2"], ["ssl:a:1"])
    later = copy.deepcopy(CLUSTER)
    later["metadata"]["generation"] = 3
    with pytest.raises(Waiting, match="control plane of OVNCluster ovn is rolled out first"):
        endpoints_of(later, spec)
    without = copy.deepcopy(CLUSTER)
    without["status"]["endpoints"] = {}
    with pytest.raises(Waiting, match="no Southbound endpoints yet"):
        endpoints_of(without, spec)
    with pytest.raises(InvalidInput, match=r"southbound\.service\.type of OVNCluster ovn is ClusterIP"):
        endpoints_of(CLUSTER, parse_spec({}, name="ovn", namespace="net"))
