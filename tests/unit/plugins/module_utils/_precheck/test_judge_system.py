"""Findings of single machines."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from precheck_facts import central, hypervisor

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.distributions import distribution_data
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.judge_system import judge_clocks, judge_systems
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.measure import Limits, MeasuredHost


def causes(host: MeasuredHost) -> dict[str, str]:
    return {finding.code: finding.cause for finding in judge_systems([host])}


def test_a_good_machine() -> None:
    assert causes(central()) == causes(hypervisor()) == {}


def test_a_machine_that_was_not_measured() -> None:
    assert causes(dataclasses.replace(central(), facts={}, problem="no route")) == {}


@pytest.mark.parametrize(
    ("system", "known"),
    [
        pytest.param({"id": "debian", "version": "12"}, True, id="Debian 12"),
        pytest.param({"id": "debian", "version": "13"}, True, id="Debian 13"),
        pytest.param({"id": "ubuntu", "version": "24.04"}, True, id="Ubuntu"),
        pytest.param({"id": "ubuntu", "version": "22.04"}, True, id="the oldest Ubuntu"),
        pytest.param({"id": "ubuntu", "version": "20.04"}, False, id="Ubuntu with Python 3.8"),
        pytest.param({"id": "ubuntu", "version": ""}, True, id="Ubuntu that has no number yet"),
        pytest.param({"id": "debian", "version": "11"}, False, id="Debian 11"),
        pytest.param({"id": "rocky", "version": "9.4"}, False, id="Rocky Linux"),
        pytest.param({"id": "", "version": ""}, False, id="nobody knows"),
    ],
)
def test_operating_systems(system: dict[str, str], known: bool) -> None:
    assert ("operating_system" in causes(central(system=system))) is not known


def test_the_next_step_on_another_system_names_the_options() -> None:
    rocky: dict[str, t.Any] = {"system": {"id": "rocky", "name": "Rocky Linux 9"}}
    (finding,) = judge_systems([hypervisor(**rocky)])
    assert finding.next_step.endswith("or set ovn_hypervisor_distribution")
    whole = {**distribution_data("hypervisor", {}, {}, "db1"), "packages": ["ovn-host"]}
    del whole["problem"], whole["runtime_directory"]
    assert causes(hypervisor(**rocky, variables={"ovn_hypervisor_distribution": whole})) == {}
    assert causes(hypervisor(**rocky, own_units=["c5c3-ovn-controller.service"])) == {}


def file_system(**changes: t.Any) -> dict[str, t.Any]:
    usual = {"path": "/var/lib/ovn", "mount": "/", "type": "ext4", "free": 2 << 30, "size": 9 << 30, "read_only": False}
    return {**usual, **changes}


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        pytest.param({}, "", "", id="good"),
        pytest.param({"type": "overlay"}, "", "", id="a container's"),
        pytest.param(
            {"type": "tmpfs", "mount": "/var/lib/ovn"},
            "file_system",
            "tmpfs mounted at /var/lib/ovn is empty after a reboot",
            id="memory",
        ),
        pytest.param({"type": "nfs4"}, "file_system", "on another machine", id="a network's"),
        pytest.param({"read_only": True}, "file_system", "read-only", id="read-only"),
        pytest.param({"free": 1000 << 20}, "disk_space", "1000 MiB are free in /, of 1024 MiB", id="full"),
    ],
)
def test_file_systems(changes: dict[str, t.Any], code: str, words: str) -> None:
    found = causes(central(file_systems=[file_system(**changes)]))
    assert list(found) == ([code] if code else [])
    assert words in found.get(code, "")
    assert causes(central(file_systems=[file_system(**changes)], own_units=["c5c3-ovn-northbound.service"])) == {}


@pytest.mark.parametrize(
    ("records", "free", "expected"),
    [
        pytest.param("/etc/c5c3-ovn", 16 << 20, "", id="enough for records"),
        pytest.param("/etc/c5c3-ovn", 15 << 20, "15 MiB are free in /etc, of 16 MiB that records should", id="full"),
    ],
)
def test_records_need_little_space(records: str, free: int, expected: str) -> None:
    found = causes(central(file_systems=[file_system(), file_system(path=records, mount="/etc", free=free)]))
    assert list(found) == (["disk_space"] if expected else [])
    assert expected in found.get("disk_space", "")


def test_a_full_file_system_is_one_finding() -> None:
    paths = ("/var/lib/ovn", "/etc/c5c3-ovn", "/usr", "/var/cache/apt")
    hosts = [central(file_systems=[file_system(path=path, free=1 << 20) for path in reversed(paths)])]
    assert [(one.code, one.object) for one in judge_systems(hosts)] == [("disk_space", "db1 /var/lib/ovn")]


@pytest.mark.parametrize("path", ["/usr", "/var/cache/apt"])
def test_packages_need_space_where_they_are_not_installed(path: str) -> None:
    full = [file_system(path=path, mount=path, free=127 << 20)]
    for host in (hypervisor(file_systems=full), central(file_systems=full)):
        assert f"127 MiB are free in {path}, of 128 MiB that packages should find" in causes(host)["disk_space"]
    assert causes(hypervisor(file_systems=full, own_units=["c5c3-ovn-controller.service"])) == {}
    assert causes(hypervisor(file_systems=full, packages={"manager": ""})) == {}
    installed = dict.fromkeys(hypervisor().declared.packages, "23.03.1-1")
    assert causes(hypervisor(file_systems=full, packages={"installed": installed})) == {}
    assert causes(hypervisor(file_systems=[file_system(path=path, mount=path, read_only=True)])) == {}


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        pytest.param({"openvswitch": "loaded", "geneve": "loadable"}, "", id="there"),
        pytest.param(
            {"openvswitch": "loaded", "geneve": "missing"}, "kernel 6.1.0 has no module geneve", id="no tunnels"
        ),
        pytest.param({"openvswitch": "missing", "geneve": "missing"}, "no modules openvswitch, geneve", id="nothing"),
        pytest.param(
            {"openvswitch": "loaded", "geneve": "mismatched"},
            "kernel 6.1.0 cannot load module geneve, built for another kernel",
            id="of another kernel",
        ),
    ],
)
def test_modules(modules: dict[str, str], words: str) -> None:
    assert words in causes(hypervisor(kernel_modules=modules)).get(
        "kernel_module", "" if not words else "nothing found"
    )
    assert causes(hypervisor(kernel_modules=modules, own_units=["c5c3-ovn-controller.service"])) == {}


DATAPATH = {
    "type": "system",
    "conntrack_zones": False,
    "handlers": 2,
    "lost": None,
    "missed": None,
    "seconds": 1.0,
    "uplinks_down": [],
}


def test_datapath_of_an_open_vswitch_that_runs() -> None:
    found = causes(hypervisor(datapath=DATAPATH))
    assert list(found) == ["conntrack_zones_missing"]
    assert causes(hypervisor(datapath=DATAPATH, own_units=["c5c3-ovn-controller.service"])) == {}
    userspace = {"ovn_hypervisor_datapath_type": "netdev"}
    assert causes(hypervisor(datapath=DATAPATH, variables=userspace)) == {}


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
