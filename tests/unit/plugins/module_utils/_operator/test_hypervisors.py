"""The endpoints that hypervisors get, or why they wait."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.hypervisors import endpoints_of
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.target import Waiting

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
