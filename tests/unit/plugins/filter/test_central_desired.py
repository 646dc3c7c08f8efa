"""The desired state of a central host, from variables of an inventory."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.filter.central_desired import central_desired

HOSTVARS: dict[str, dict[str, t.Any]] = {
    "c1": {"ovn_address": "192.0.2.11", "ansible_host": "198.51.100.1"},
    "c2": {"ovn_address": "", "ansible_host": "[2001:db8::12]"},
    "c3": {"ovn_address": ""},
    "h1": {},
}
GIVEN = {"members": ["c1", "c2", "c3"]}


def test_addresses_of_the_members() -> None:
    assert central_desired(GIVEN, HOSTVARS, "c1")["raft_addresses"]["northbound"] == {
        "c1": "ssl:192.0.2.11:6643",
        "c2": "ssl:[2001:db8::12]:6643",
        "c3": "ssl:c3:6643",
    }


@pytest.mark.parametrize(
    ("plan", "timer"),
    [
        (None, 5000),
        ({}, 5000),
        ({"sizes": None}, 5000),
        ({"sizes": {"southbound": {"file_bytes": 400_000_000, "election_timer": None}}}, 60000),
    ],
)
def test_sizes_are_those_of_the_last_plan(plan: dict[str, t.Any] | None, timer: int) -> None:
    databases = central_desired(GIVEN, HOSTVARS, "c1", plan=plan)["databases"]
    assert databases["southbound"]["timers"]["election_timer"] == timer
    assert databases["northbound"]["timers"]["election_timer"] == 5000


@pytest.mark.parametrize(
    ("given", "host", "message"),
    [
        ({**GIVEN, "election_timer": "soon"}, "c1", 'ovn_central_election_timer is "soon"'),
        (GIVEN, "h1", "h1 is none of ovn_central_members"),
    ],
)
def test_what_is_wrong_fails_the_task(given: dict[str, t.Any], host: str, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        central_desired(given, HOSTVARS, host)
