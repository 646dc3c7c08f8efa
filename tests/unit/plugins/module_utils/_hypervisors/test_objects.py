"""Pods are touched so that new settings reach them sooner; an API server that does not answer is asked once."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_settings import DEFAULT
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.objects import trigger_config_sync
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import ObjectChange

LABELS = {
    "app.kubernetes.io/managed-by": "c5c3.ovn",
    "app.kubernetes.io/instance": "ovn",
    "app.kubernetes.io/component": "controller",
}


def pod(name: str) -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": "x", "labels": LABELS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": name}}


@pytest.mark.parametrize(
    ("error", "touched"),
    [
        (None, ["a", "b", "c"]),
        (Refused("it has gone"), ["a", "b", "c"]),
        (TimedOut("frozen"), ["a"]),
        (Unreachable("away"), ["a"]),
    ],
    ids=["all is well", "a pod has gone", "no answer", "no API server"],
)
def test_touched_pods(error: OvnError | None, touched: list[str]) -> None:
    cluster = FakeCluster(*map(pod, "abc"))
    if error:
        cluster.always("patch", error)
    settings = ObjectChange("ConfigMap", "ovn-chassis", "x", "changed", {"data": {}}, {"data": {DEFAULT: "new"}})
    desired = types.SimpleNamespace(name="ovn", namespace="x")
    trigger_config_sync(cluster, t.cast(t.Any, desired), [], settings)
    assert [call.name for call in cluster.written] == touched
