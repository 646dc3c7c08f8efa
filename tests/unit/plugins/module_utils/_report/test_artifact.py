"""The report as an artifact: whole if it is small, without what grows with the installation if it is not."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._report.artifact import LIMIT, report_artifact


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
    assert report_artifact(report()) == {"ovn_report": report(), "ovn_report_left_out": []}


def test_the_report_itself_stays_as_it_is() -> None:
    given = report(900)
    assert report_artifact(given)["ovn_report_left_out"] == ["chassis.details"]
    assert given == report(900)


@pytest.mark.parametrize(
    ("large", "left_out"),
    [
        pytest.param(report(900), ["chassis.details"], id="900 chassis"),
        pytest.param(report(3000), ["chassis.details", "certificates.chassis", "lines"], id="3000 chassis"),
        pytest.param(
            report(2, 1000),
            ["chassis.details", "certificates.chassis", "lines", "northbound.members", "chassis.alive", "findings"],
            id="1000 findings",
        ),
    ],
)
def test_what_grows_is_left_out_until_the_rest_fits(large: dict[str, t.Any], left_out: list[str]) -> None:
    artifact = report_artifact(large)
    assert artifact["ovn_report_left_out"] == left_out
    assert len(json.dumps(artifact["ovn_report"])) <= LIMIT
    assert artifact["ovn_report"]["healthy"] is False


def test_a_report_that_knows_nothing() -> None:
    empty = {"healthy": None, "chassis": None, "certificates": None, "lines": ["Nothing was verified."] * 9}
    assert report_artifact(empty, 50) == {
        "ovn_report": {"healthy": None, "chassis": None, "certificates": None},
        "ovn_report_left_out": ["lines"],
    }
