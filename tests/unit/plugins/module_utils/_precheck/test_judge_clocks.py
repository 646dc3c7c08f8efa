"""Findings of clocks."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from precheck_facts import central

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.judge_clocks import judge_clocks
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measured import Limits, MeasuredHost


def found(*hosts: MeasuredHost) -> list[tuple[str, str]]:
    findings = judge_clocks(hosts)
    assert {one.code for one in findings} <= {"clock_difference"}
    return [(one.object, one.cause.partition(";")[0]) for one in findings]


def ahead(seconds: float, name: str = "db1", **changes: t.Any) -> MeasuredHost:
    """A host whose clock is that many seconds ahead, measured within no time."""
    host = central(name, clock={"began": 100.0 + seconds, "ended": 100.0 + seconds}, **changes)
    return dataclasses.replace(host, sent=100.0, received=100.0)


@pytest.mark.parametrize(
    ("began", "ended", "words"),
    [
        # Sent at 100, received at 103: the host measured for a second somewhere in between.
        pytest.param(101.0, 102.0, "", id="the same time"),
        pytest.param(94.9 + 1, 95.9 + 1, "", id="behind by no more than the way may explain"),
        pytest.param(107.0, 108.0, "", id="ahead by the limit at least"),
        pytest.param(107.6, 108.6, "6 s or more ahead of", id="ahead"),
        pytest.param(90.0, 91.0, "10 s or more behind", id="behind"),
        pytest.param(3700.0, 3701.0, "3598 s or more ahead of", id="an hour"),
    ],
)
def test_a_clock_against_the_control_node(began: float, ended: float, words: str) -> None:
    expected = [("db1", f"its clock is {words} the control node's")] if words else []
    assert found(central(clock={"began": began, "ended": ended})) == expected


def test_the_clock_of_a_member_counts_too() -> None:
    assert [name for name, _cause in found(ahead(60, own_units=["c5c3-ovn-northbound.service"]))] == ["db1"]


def test_a_host_that_was_not_measured_has_no_clock() -> None:
    assert found(dataclasses.replace(ahead(60), facts={}, problem="no route")) == []


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param((4, 0, -1), [], id="within the limit"),
        pytest.param(
            (4, 0, -5),
            [("db1, db3", "the clock of the first is 9 s or more ahead of the other")],
            id="each near the control node, and far from each other",
        ),
        pytest.param(
            (60, 61, 62),
            [("control node", "its clock is 60 s or more behind those of all 3 hosts, which agree")],
            id="the control node is behind",
        ),
        pytest.param(
            (-60, -61),
            [("control node", "its clock is 60 s or more ahead of those of all 2 hosts, which agree")],
            id="the control node is ahead",
        ),
        pytest.param(
            (60, 90),
            [
                ("db1", "its clock is 60 s or more ahead of the control node's"),
                ("db2", "its clock is 90 s or more ahead of the control node's"),
            ],
            id="all are off, and differ",
        ),
        pytest.param(
            (60, 0), [("db1", "its clock is 60 s or more ahead of the control node's")], id="one that agrees with it"
        ),
    ],
)
def test_clocks_of_several_hosts(seconds: tuple[float, ...], expected: list[tuple[str, str]]) -> None:
    assert found(*(ahead(one, f"db{number}") for number, one in enumerate(seconds, 1))) == expected


def test_the_limit_is_that_of_the_host() -> None:
    lenient = Limits(clock_seconds=20)
    assert found(ahead(10, limits=lenient)) == []
    assert found(ahead(10, limits=lenient), ahead(-5, "db2")) == []
    assert [name for name, _cause in found(ahead(10, limits=lenient), ahead(10, "db2"))] == ["db2"]
