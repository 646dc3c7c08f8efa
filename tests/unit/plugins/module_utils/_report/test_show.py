"""The report as an artifact: whole if it is small, with the first items of what grows if it is not."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._report.show import LIMIT, report_artifact


def report(chassis: int = 2, findings: int = 1) -> dict[str, t.Any]:
    names = [f"chassis-{number:06}" for number in range(chassis)]
    return {
        "format_version": 1,
        "healthy": False,
        "findings": [{"code": "late", "message": "It did not answer." * 9}] * findings,
        "lines": [f"  {name} alive" for name in names],
        "northbound": {"verdict": "healthy", "members": [{"member": "central1"}]},
        "chassis": {"alive": names, "late": [], "details": [{"name": name, "hostname": name} for name in names]},
        "certificates": {"days_left": 9, "chassis": dict.fromkeys(names, 9)},
    }


def test_a_small_report_is_whole() -> None:
    assert report_artifact(report()) == {"ovn_report": report(), "ovn_report_left_out": {}}


def test_the_report_itself_stays_as_it_is() -> None:
    given = report(900)
    assert report_artifact(given)["ovn_report_left_out"] == {"chassis.details": 880}
    assert given == report(900)


@pytest.mark.parametrize(
    ("large", "left_out"),
    [
        pytest.param(report(900), {"chassis.details": 880}, id="900 chassis"),
        pytest.param(
            report(3000), {"chassis.details": 2980, "certificates.chassis": 2980, "lines": 2980}, id="3000 chassis"
        ),
        pytest.param(report(2, 1000), {"findings": 980}, id="1000 findings"),
    ],
)
def test_what_grows_keeps_its_first_items(large: dict[str, t.Any], left_out: dict[str, int]) -> None:
    artifact = report_artifact(large)
    assert artifact["ovn_report_left_out"] == left_out
    assert len(json.dumps(artifact["ovn_report"])) <= LIMIT
    assert artifact["ovn_report"]["healthy"] is False
    for key in left_out:
        *sections, last = key.split(".")
        kept, whole = artifact["ovn_report"], large
        for section in sections:
            kept, whole = kept[section], whole[section]
        assert list(kept[last]) == list(whole[last])[:20]


def test_long_items_are_left_out() -> None:
    artifact = report_artifact({"healthy": False, "findings": [{"message": "x" * 9000}] * 15})
    assert artifact == {
        "ovn_report": {"healthy": False, "findings": []},
        "ovn_report_left_out": {"findings": 15},
    }


def test_what_nobody_expected_to_grow_leaves_the_verdict() -> None:
    artifact = report_artifact({"healthy": True, "format_version": 1, "text": "x" * LIMIT, "other": {"a": 1, "b": 2}})
    assert artifact == {
        "ovn_report": {"healthy": True, "format_version": 1},
        "ovn_report_left_out": {"text": 1, "other": 2},
    }


def test_a_report_that_knows_nothing() -> None:
    empty = {"healthy": None, "chassis": None, "certificates": None, "lines": ["Nothing was verified."] * 9}
    assert report_artifact(empty, 80) == {
        "ovn_report": {"healthy": None, "chassis": None, "certificates": None, "lines": []},
        "ovn_report_left_out": {"lines": 9},
    }
