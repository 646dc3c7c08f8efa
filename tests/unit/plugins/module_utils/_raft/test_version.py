"""Versions of Open vSwitch with known faults."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.version import faults


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        (
            (2, 17, 9),
            {
                "fault_join": "2.17.10",
                "fault_leave": "3.3.5",
                "fault_pre_vote": "3.3.8",
                "fault_wrong_peer": "3.3.8",
                "fault_transfer": "2.17.10",
            },
        ),
        (
            (3, 1, 0),
            {
                "fault_join": "3.1.5",
                "fault_leave": "3.3.5",
                "fault_pre_vote": "3.3.8",
                "fault_wrong_peer": "3.3.8",
                "fault_transfer": "3.1.5",
            },
        ),
        ((3, 1, 5), {"fault_leave": "3.3.5", "fault_pre_vote": "3.3.8", "fault_wrong_peer": "3.3.8"}),
        (
            (3, 3, 0),
            {
                "fault_join": "3.3.1",
                "fault_leave": "3.3.5",
                "fault_pre_vote": "3.3.8",
                "fault_wrong_peer": "3.3.8",
                "fault_transfer": "3.3.1",
                "fault_single_member": "3.3.1",
            },
        ),
        ((3, 3, 1), {"fault_leave": "3.3.5", "fault_pre_vote": "3.3.8", "fault_wrong_peer": "3.3.8"}),
        ((3, 3, 7), {"fault_pre_vote": "3.3.8", "fault_wrong_peer": "3.3.8"}),
        ((3, 3, 8), {}),
        ((3, 4, 0), {"fault_leave": "3.4.3", "fault_pre_vote": "3.4.5", "fault_wrong_peer": "3.4.5"}),
        ((3, 4, 4), {"fault_pre_vote": "3.4.5", "fault_wrong_peer": "3.4.5"}),
        ((3, 4, 5), {}),
        ((3, 5, 2), {"fault_pre_vote": "3.5.3", "fault_wrong_peer": "3.5.3"}),
        ((3, 5, 3), {}),
        ((3, 6, 1), {"fault_pre_vote": "3.6.2", "fault_wrong_peer": "3.6.2"}),
        ((3, 6, 2), {}),
        ((3, 7, 0), {}),
        ((4, 0, 0), {}),
    ],
)
def test_the_next_release_with_the_fix_is_named(version: tuple[int, int, int], fixed: dict[str, str]) -> None:
    assert {fault.code: fault.fixed_in(version) for fault in faults(version)} == fixed
