"""Versions of Open vSwitch with known faults."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.version import faults


@pytest.mark.parametrize(
    ("version", "count"),
    [
        ((2, 17, 9), 3),
        ((3, 1, 0), 3),
        ((3, 1, 5), 2),
        ((3, 2, 9), 2),
        ((3, 3, 0), 2),
        ((3, 3, 4), 1),
        ((3, 3, 5), 0),
        ((3, 4, 2), 1),
        ((3, 5, 0), 1),
        ((3, 5, 1), 0),
        ((3, 6, 0), 0),
        ((4, 0, 0), 0),
    ],
)
def test_version_floors(version: tuple[int, int, int], count: int) -> None:
    assert len(faults(version)) == count
