"""Pods are touched so that new settings reach them sooner; an API server that does not answer is asked once."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_settings import DEFAULT
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.trigger_sync import trigger_config_sync
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import Done


class FakeCluster:
    def __init__(self, error: OvnError | None) -> None:
        self.error, self.touched = error, list[str]()

    def list(self, *_: t.Any, **__: t.Any) -> list[dict[str, t.Any]]:
        return [{"metadata": {"name": name}, "spec": {"nodeName": name}} for name in ("a", "b", "c")]

    def patch(self, _api: str, _kind: str, name: str, *_: t.Any) -> None:
        self.touched.append(name)
        if self.error:
            raise self.error


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
    cluster = FakeCluster(error)
    settings = Done("ConfigMap", "ovn-chassis", "x", "changed", {"data": {}}, {"data": {DEFAULT: "new"}})
    wanted = types.SimpleNamespace(name="ovn", namespace="x")
    trigger_config_sync(t.cast(t.Any, cluster), t.cast(t.Any, wanted), [], settings)
    assert cluster.touched == touched
