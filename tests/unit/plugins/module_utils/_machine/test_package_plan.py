"""Which packages a run installs, upgrades, holds and unholds, and what it refuses."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.package_plan import (
    Package,
    Policy,
    desired_versions,
    mixed_versions,
    plan_packages,
    unsatisfied,
)

OLD, NEW = "23.03.1-1", "25.03.0-1"
POLICY = Policy("h1")
SOURCES: dict[str, t.Any] = {"candidate": NEW, "obtainable": {OLD: {"common": OLD}, NEW: {"common": NEW}}}
COMMON: dict[str, t.Any] = {"candidate": NEW, "obtainable": {OLD: {}, NEW: {}}}


def machine(version: str, *, held: bool = False) -> dict[str, Package]:
    """`host` and `central` of one source with `common`, installed in one version unless it is empty."""
    needs = {"common": version} if version else {}
    member = Package(version, held, needs, **SOURCES)
    return {"host": member, "central": member, "common": Package(version, held, **COMMON)}


@pytest.mark.parametrize(
    ("names", "versions", "expected"),
    [
        (["ovn-host", "ovn-central = 1.0-1"], {}, {"ovn-host": "", "ovn-central": "1.0-1"}),
        (["ovn-host"], {"ovn-*": "25.*", "openvswitch-*": "3.*"}, {"ovn-host": "25.*"}),
        (["ovn-host"], {"*": "1", "ovn-*": "2", "ovn-host": "3"}, {"ovn-host": "3"}),
        (["ovn-host=9"], {"ovn-host": "3"}, {"ovn-host": "9"}),
        (["ovn-host"], {"ovn-host": ""}, {"ovn-host": ""}),
        (["ovn-host"], {"ovn-host": None}, {"ovn-host": ""}),
    ],
)
def test_which_versions_are_desired(names: list[str], versions: dict[str, str], expected: dict[str, str]) -> None:
    assert desired_versions(names, versions) == expected


@pytest.mark.parametrize("spec", ["", "=1", "ovn-host="])
def test_what_names_no_package(spec: str) -> None:
    with pytest.raises(InvalidInput, match="NAME=VERSION"):
        desired_versions([spec], {})


def test_what_is_not_as_desired() -> None:
    desired = {"any": "", "pinned": "1.*", "missing": "", "other": "2-1"}
    assert unsatisfied(desired, {"any": "9", "pinned": "1.5", "other": "2-2"}) == ["missing", "other"]


@dataclasses.dataclass(frozen=True)
class Case:
    packages: dict[str, Package]
    desired: dict[str, str]
    install: list[str]
    changes: list[str]
    policy: Policy = POLICY


CASES = {
    "nothing to do": Case(machine(OLD), {"host": ""}, [], []),
    "a pin that is met": Case(machine(OLD), {"host": "23.*"}, [], []),
    "missing, any version": Case(
        machine(""), {"host": ""}, [f"host={NEW}", f"common={NEW}"], [f"install host {NEW}", f"install common {NEW}"]
    ),
    "missing, an older version": Case(
        machine(""), {"host": OLD}, [f"host={OLD}", f"common={OLD}"], [f"install host {OLD}", f"install common {OLD}"]
    ),
    "missing, no lists of packages": Case({"host": Package()}, {"host": ""}, ["host"], ["install host"]),
    "missing, no lists, one version": Case(
        {"host": Package()}, {"host": NEW}, [f"host={NEW}"], [f"install host {NEW}"]
    ),
    "missing, no lists, a pattern": Case({"host": Package()}, {"host": "25.*"}, ["host"], ["install host"]),
    "the newest of a pattern": Case(machine(""), {"common": "2*"}, [f"common={NEW}"], [f"install common {NEW}"]),
    "an upgrade takes the whole family along": Case(
        machine(OLD),
        {"host": "25.*"},
        [f"host={NEW}", f"common={NEW}", f"central={NEW}"],
        [f"upgrade {name} {OLD} to {NEW}" for name in ("host", "common", "central")],
    ),
    "an allowed downgrade": Case(
        machine(NEW),
        {"common": OLD},
        [f"common={OLD}", f"host={OLD}", f"central={OLD}"],
        [f"downgrade {name} {NEW} to {OLD}" for name in ("common", "host", "central")],
        dataclasses.replace(POLICY, allow_downgrade=True),
    ),
    "somebody who needs another version of it stays": Case(
        {"common": Package(OLD, **COMMON), "plugin": Package("7", needs={"common": OLD})},
        {"common": NEW},
        [f"common={NEW}"],
        [f"upgrade common {OLD} to {NEW}"],
    ),
    "holds": Case(machine(OLD), {"host": ""}, [], ["hold host", "hold common"], dataclasses.replace(POLICY, hold=True)),
    "all held": Case(machine(OLD, held=True), {"host": ""}, [], [], dataclasses.replace(POLICY, hold=True)),
    "unholds": Case(
        machine(OLD, held=True),
        {"host": ""},
        [],
        ["unhold host", "unhold common"],
        dataclasses.replace(POLICY, hold=False),
    ),
    "holds are left alone": Case(machine(OLD, held=True), {"host": ""}, [], []),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_run_does(case: Case) -> None:
    plan = plan_packages(case.packages, case.desired, case.policy)
    assert (plan["install"], plan["changes"], plan["refusals"]) == (case.install, case.changes, [])
    assert plan["downgrade"] == any(change.startswith("downgrade") for change in case.changes)


def test_what_changes_and_was_held_is_held_again() -> None:
    for hold, expected in ((True, {"host", "common", "central"}), (False, {"central"})):
        plan = plan_packages(machine(OLD, held=True), {"host": NEW}, dataclasses.replace(POLICY, hold=hold))
        assert set(plan["hold"]) == expected
        assert plan["refusals"] == []


def test_targets_and_what_is_missing() -> None:
    packages = {**machine(OLD), "other": Package()}
    plan = plan_packages(packages, {"host": NEW, "common": "", "other": ""}, POLICY)
    assert plan["targets"] == {"host": NEW, "common": NEW, "other": ""}
    assert plan["missing"] == ["other"]
    assert plan["changed_packages"] == ["central", "common", "host", "other"]


def test_an_installation_that_was_cut_off_is_finished_first() -> None:
    assert plan_packages({}, {"host": ""}, POLICY, ["host"])["repair"] == ["host"]
    assert plan_packages(machine(OLD), {"host": ""}, POLICY, ["somebody's"])["repair"] == []


@pytest.mark.parametrize(
    ("packages", "desired", "policy", "message"),
    [
        (machine(NEW), {"host": OLD}, POLICY, f"host on h1 is {NEW}, and {OLD} is older"),
        (machine(NEW), {"host": OLD}, Policy("h1", downgrade_option="ovn_x=y"), "accept it with ovn_x=y for one run"),
        ({"host": Package(NEW)}, {"host": OLD}, POLICY, "is older"),
        (
            machine(OLD, held=True),
            {"host": NEW},
            POLICY,
            "common on h1 is on hold with 23.03.1-1, and the run would install 25.03.0-1",
        ),
        (
            machine(""),
            {"host": "26.*"},
            Policy("h1", refreshed=True),
            f"No package source of h1 has version 26.* of host. They have {OLD}, {NEW}.",
        ),
        (
            {},
            {"host": ""},
            Policy("h1", refreshed=True),
            "No package source of h1 has host. They have no version of it.",
        ),
    ],
)
def test_what_is_refused(packages: dict[str, Package], desired: dict[str, str], policy: Policy, message: str) -> None:
    assert message in " ".join(plan_packages(packages, desired, policy)["refusals"])


def test_lists_of_yesterday_refuse_nothing() -> None:
    assert plan_packages(machine(""), {"host": "26.*"}, POLICY)["refusals"] == []


@pytest.mark.parametrize(
    ("targets", "changed", "expected"),
    [
        ({"a": NEW, "b": NEW}, ["a"], []),
        ({"a": NEW, "b": "25.03.0-2"}, ["b"], []),
        ({"a": NEW, "b": ""}, ["b"], []),
        ({"a": NEW, "b": OLD}, [], []),
        ({"a": NEW, "b": OLD, "c": OLD}, ["a"], ["central would be 23.03.1 on b, c and 25.03.0 on a"]),
    ],
)
def test_which_hosts_would_differ(targets: dict[str, str], changed: list[str], expected: list[str]) -> None:
    plans = {
        host: {"targets": {"central": version}, "changed_packages": ["central"] if host in changed else []}
        for host, version in targets.items()
    }
    assert mixed_versions(plans) == expected


def test_a_package_of_the_whole_system_is_installed_and_never_held() -> None:
    host = "ovn-host"
    packages = {name: Package(installed="1") for name in (host, "nftables")}
    found = plan_packages(packages, {host: "", "nftables": ""}, Policy("h1", hold=True))
    assert found["hold"] == [host]
