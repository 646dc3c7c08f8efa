"""Lines that people read."""

from __future__ import annotations

import typing as t

import pytest
from precheck_facts import central, declare, hypervisor, measured

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Finding
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.report import judge, judge_addresses, report


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


MEMBER = {"own_units": ["c5c3-ovn-northbound.service"]}
CHASSIS = {"own_units": ["c5c3-ovn-controller.service"]}
OTHER = {"db9": {"ovn_address": "192.0.2.19"}}


def found(
    group: str, variables: t.Mapping[str, t.Any], more: t.Mapping[str, t.Any] | None = None, **facts: t.Any
) -> list[str]:
    """What is said of the host `one` in this group; `more` are central hosts that are not in the run, `OTHER` if they are not given."""
    groups = {"ovn_central": {**(OTHER if more is None else more)}, "ovn_hypervisors": {}}
    groups[group]["one"] = variables
    declared = declare(groups)
    findings = judge_addresses(list(declared.values()), [measured(declared["one"], **facts)])
    assert all(finding.code == "address_unusable" for finding in findings)
    return [finding.object for finding in findings]


@pytest.mark.parametrize(
    ("address", "more", "allow", "expected"),
    [
        pytest.param("192.0.2.1", OTHER, False, [], id="an address"),
        pytest.param("", OTHER, False, ["one one"], id="the name of the host, without an address"),
        pytest.param("one.example.com", OTHER, False, ["one one.example.com"], id="a name"),
        pytest.param("one.example.com", {}, False, ["one one.example.com"], id="a name, the only host"),
        pytest.param("one.example.com", OTHER, True, [], id="a name that is allowed"),
        pytest.param("127.0.1.1", OTHER, False, ["one 127.0.1.1"], id="loopback"),
        pytest.param("::1", OTHER, True, ["one ::1"], id="loopback of IPv6"),
        pytest.param("127.0.0.1", {}, False, [], id="loopback of the only host"),
        pytest.param("0.0.0.0", {}, False, ["one 0.0.0.0"], id="unspecified"),
    ],
)
def test_addresses_of_members(address: str, more: t.Mapping[str, t.Any], allow: bool, expected: list[str]) -> None:
    variables = {"ovn_address": address, "ovn_central_permit": ["names"] if allow else ""}
    assert found("ovn_central", variables, more) == expected
    assert found("ovn_central", variables, more, **MEMBER) == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("192.0.2.1", [], id="an address"),
        pytest.param("one.example.com", ["one one.example.com"], id="a name"),
        pytest.param(["192.0.2.1", "::1"], ["one ::1"], id="one of two"),
        pytest.param("224.0.0.1", ["one 224.0.0.1"], id="multicast"),
        pytest.param("[::]", ["one ::"], id="unspecified"),
    ],
)
def test_ends_of_tunnels(address: t.Any, expected: list[str]) -> None:
    variables = {"ovn_encapsulation_ip": address, "ovn_central_permit": "names"}
    assert found("ovn_hypervisors", variables) == expected
    assert found("ovn_hypervisors", variables, **CHASSIS) == []


def test_a_cluster_that_has_names_gets_members_with_names() -> None:
    peer = {"host": "db9", "address": "db9.example.com", "port": 6643, "error": ""}
    joins = {"peers": [{**peer, "state": "connected"}]}
    assert found("ovn_central", {"ovn_address": "one.example.com"}, **joins) == []
    assert found("ovn_central", {"ovn_address": "one.example.com"}, peers=[{**peer, "state": "refused"}]) != []
    named = {"ovn_address": "db1.example.com"}
    hosts = [central(variables=named), central("db2", **MEMBER)]
    assert judge_addresses([host.declared for host in hosts], hosts) == []


def test_an_unusable_address_is_one_finding() -> None:
    """Not one more because the host does not know the name."""
    unknown = {"address": "db1.example.com", "resolved": [], "local": False, "error": "Name or service not known"}
    host = central(variables={"ovn_address": "db1.example.com"}, local_addresses=[unknown])
    assert [one.code for one in judge([host.declared], [host])] == ["address_unusable"]
