"""When a Lease still counts."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.lease import identity, seconds_left

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({}, 0),
        ({"holderIdentity": "", "renewTime": "2026-01-01T12:00:00.000000Z"}, 0),
        ({"holderIdentity": "run", "renewTime": "2026-01-01T11:59:00.123456Z", "leaseDurationSeconds": 600}, 540),
        ({"holderIdentity": "run", "renewTime": "2026-01-01T11:49:00Z", "leaseDurationSeconds": 600}, -60),
        ({"holderIdentity": "run", "renewTime": "2026-01-01T12:00:00Z"}, 90),
    ],
    ids=["never held", "given back", "held", "void", "the usual time if it names none"],
)
def test_seconds_left(spec: dict[str, t.Any], left: float) -> None:
    assert seconds_left(spec, NOW) == left


def test_a_run_is_named_by_time_and_process() -> None:
    assert identity(NOW).startswith("2026-01-01T12:00:00Z on ")
