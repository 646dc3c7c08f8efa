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


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ((2, 17, 9), {"fault_join": "2.17.10", "fault_leave": "3.3.5", "fault_pre_vote": "3.3.0"}),
        ((3, 1, 0), {"fault_join": "3.1.5", "fault_leave": "3.3.5", "fault_pre_vote": "3.3.0"}),
        ((3, 4, 0), {"fault_leave": "3.4.3"}),
        ((3, 5, 1), {}),
    ],
)
def test_the_next_release_with_the_fix_is_named(version: tuple[int, int, int], fixed: dict[str, str]) -> None:
    assert {fault.code: fault.fixed_in(version) for fault in faults(version)} == fixed
