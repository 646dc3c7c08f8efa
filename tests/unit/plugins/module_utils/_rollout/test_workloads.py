"""When a Deployment counts as available."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.workloads import is_available


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, False),
        ({"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": 3}, False),
        ({"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 3}, False),
        ({"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 2}, False),
        ({"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 3}, True),
    ],
    ids=["nobody has looked", "seen before the change", "old pods serve", "one is missing", "all are there"],
)
def test_is_available(status: dict[str, t.Any], expected: bool) -> None:
    assert is_available({"metadata": {"generation": 2}, "spec": {"replicas": 3}, "status": status}) is expected
