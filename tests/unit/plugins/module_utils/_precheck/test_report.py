"""Lines that people read."""

from __future__ import annotations

import typing as t

from precheck_facts import central, hypervisor

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.cluster_findings import Finding
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.report import judge, report


def clock(name: str, cause: str = "its clock is wrong") -> Finding:
    return Finding("clock_difference", name, cause, "Set it")


def ignoring(*codes: str) -> t.Callable[[Finding], bool]:
    return lambda finding: finding.code in codes


def test_nothing_found() -> None:
    assert report([], ignoring(), 5)["lines"] == ["Precheck ok: 5 hosts, nothing found"]


def test_a_line_has_code_object_cause_and_next_step() -> None:
    lines = report([clock("db1")], ignoring(), 1)["lines"]
    assert lines == [
        "Precheck: 1 host, 1 finding. Nothing was changed",
        "clock_difference db1: its clock is wrong. Set it.",
    ]


def test_hosts_that_have_the_same_share_a_line() -> None:
    lines = report([clock(f"c{n}") for n in range(8)] + [clock("d", "its clock is fast")], ignoring(), 9)["lines"]
    assert lines[1:] == [
        "clock_difference c0, c1, c2, c3, c4 and 3 more: its clock is wrong. Set it.",
        "clock_difference d: its clock is fast. Set it.",
    ]


def test_what_is_ignored_is_named() -> None:
    result = report([clock("db1"), Finding("disk_space", "db2", "full", "Free it")], ignoring("clock_difference"), 2)
    assert [one["object"] for one in result["findings"]] == ["db2"]
    assert [one["object"] for one in result["ignored"]] == ["db1"]
    assert result["lines"][-1] == "Ignored: clock_difference db1"
    assert report([clock("db1")], ignoring("clock_difference"), 2)["lines"][0] == "Precheck ok: 2 hosts, 1 ignored"


def test_what_is_ignored_is_named_once_for_each_host() -> None:
    findings = [clock("db1"), clock("db1", "its clock is fast"), clock("db2"), Finding("disk_space", "db2", "x", "y")]
    assert report(findings, ignoring("clock_difference", "disk_space"), 2)["lines"][1:] == [
        "Ignored: clock_difference db1, db2",
        "Ignored: disk_space db2",
    ]


def test_who_was_left_out() -> None:
    lines = report([], ignoring(), 3, ["compute1"], ["rack1 image ovn: no pod runs it"])["lines"]
    assert lines[0].startswith("Precheck ok: 2 hosts")
    assert lines[1:] == ["Not checked: compute1, unreachable", "Not tested: rack1 image ovn: no pod runs it"]


def test_findings_come_in_the_order_of_their_codes() -> None:
    wrong = {"clock": {"began": 0.0, "ended": 1.0}, "kernel_modules": {"openvswitch": "missing"}}
    hosts = [hypervisor(**wrong), central("db1", system={"id": "rocky"}), central("db2")]
    more = [Finding("host_unreachable", "rack1", "no API server", "Start it")]
    findings = judge([host.declared for host in hosts], hosts, more)
    assert [one.code for one in findings] == [
        "central_count",
        "duplicate_central_address",
        "host_unreachable",
        "operating_system",
        "clock_difference",
        "kernel_module",
    ]
