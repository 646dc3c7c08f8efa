"""The options of the role ovn_packages."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import packages
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.packages import (
    PackagesOptions,
    PackagesRequest,
    mixed_versions_problem,
)

FOUND: dict[str, t.Any] = {
    "manager": "apt",
    "desired": {"ovn-host": ""},
    "packages": {"ovn-host": {"installed": "1-1", "held": False, "needs": {}, "candidate": "", "obtainable": {}}},
    "interrupted": [],
    "paths": [],
}
ELSEWHERE = {**FOUND, "manager": "", "packages": {}, "paths": ["/usr/bin/there"]}


REQUEST: dict[str, t.Any] = {"names": ["ovn-host"], "files": [], "downgrade_option": "ovn_allow_downgrade"}


def packages_plan(
    found: dict[str, t.Any], variables: dict[str, t.Any] | None = None, **options: t.Any
) -> dict[str, t.Any]:
    names = {field.name for field in dataclasses.fields(PackagesOptions)}
    own = {"versions": {}, "hold": "", "repository": {}, **{name: options.pop(name) for name in names & set(options)}}
    arguments = {name: options.pop(name) for name in {"refreshed"} & set(options)}
    request = PackagesRequest(**{**REQUEST, **options})
    return packages.packages_plan(found, request, PackagesOptions(**own), "h1", variables or {}, **arguments)


@pytest.mark.parametrize(
    ("hold", "expected"), [("", []), ("true", ["ovn-host"]), (True, ["ovn-host"]), ("no", []), (False, [])]
)
def test_empty_hold_leaves_holds_alone(hold: t.Any, expected: list[str]) -> None:
    plan = packages_plan(FOUND, hold=hold)
    assert (plan["hold"], plan["manager"], plan["install"]) == (expected, "apt", [])


def test_hold_without_a_boolean_is_refused() -> None:
    with pytest.raises(InvalidInput, match='ovn_packages_hold is "maybe"'):
        packages_plan(FOUND, hold="maybe")


@pytest.mark.parametrize(
    ("files", "expected"), [([], []), (["/usr/bin/there"], []), (["/usr/bin/there", "/usr/bin/missing"], ["ovn-host"])]
)
def test_where_there_is_no_apt_files_prove_that_packages_are_there(files: list[str], expected: list[str]) -> None:
    plan = packages_plan(ELSEWHERE, files=files)
    assert (plan["install"], plan["missing"], plan["refusals"]) == (expected, expected, [])
    assert set(plan) == set(packages_plan(FOUND))


def test_where_there_is_no_apt_nothing_is_pinned_or_held() -> None:
    found = {**ELSEWHERE, "desired": {"ovn-host": "25.*"}}
    (refusal,) = packages_plan(found, hold="true")["refusals"]
    assert "the versions ovn-host=25.* and ovn_packages_hold cannot be kept" in refusal


@pytest.mark.parametrize("found", [FOUND, ELSEWHERE], ids=["apt", "no apt"])
def test_the_plan_says_whether_anything_is_due(found: dict[str, t.Any]) -> None:
    files = ["/usr/bin/there"]
    assert not packages_plan(found, files=files)["due"]
    missing = {**found, "desired": {"missing": ""}, "packages": {}, "unsatisfied": ["missing"], "paths": []}
    if found is FOUND:
        missing["packages"] = {
            "missing": {"installed": "", "held": False, "needs": {}, "candidate": "1", "obtainable": {"1": {}}}
        }
    assert packages_plan(missing, files=files)["due"]


def test_source_file_of_a_repository_is_in_the_plan() -> None:
    """Whether it is there as declared, only the host knows."""
    assert packages_plan(FOUND)["source_files"] == []
    plan = packages_plan(FOUND, repository={"uris": ["x"], "suites": ["./"]})
    (file,) = plan["source_files"]
    assert (set(file), file["path"]) == ({"path", "content"}, "/etc/apt/sources.list.d/c5c3-ovn.sources")
    assert not plan["due"]


@pytest.mark.parametrize(("equal_on", "expected"), [([], False), (["a"], True)])
def test_plans_are_compared_if_hosts_have_to_be_equal(equal_on: list[str], expected: bool) -> None:
    assert packages_plan(FOUND, equal_on=equal_on)["compare"] is expected


@pytest.mark.parametrize(
    ("installed", "refreshed", "compare"), [("", False, False), ("", True, True), ("1-1", False, True)]
)
def test_versions_that_were_compared_are_not_compared_with_other_lists(
    installed: str, refreshed: bool, compare: bool
) -> None:
    """Between a check and the installation the lists of one host may have been refreshed."""
    package = {"installed": installed, "held": False, "needs": {}, "candidate": "1-1", "obtainable": {"1-1": {}}}
    found = {**FOUND, "packages": {"ovn-host": package}}
    plan = packages_plan(found, equal_on=["a"], compared=True, refreshed=refreshed)
    assert (bool(plan["install"]), plan["compare"]) == (not installed, compare)


@pytest.mark.parametrize(
    ("install", "versions", "refreshed", "refused"),
    [
        (["ovn-host"], {}, False, False),  # candidates of lists that are refreshed only later
        (["ovn-host"], {}, True, True),
        (["ovn-host"], {"ovn-*": "1.*"}, False, True),
        ([], {}, False, True),
    ],
)
def test_versions_that_would_differ_are_refused(
    install: list[str], versions: dict[str, str], refreshed: bool, refused: bool
) -> None:
    plans: dict[str, t.Any] = {
        # Of one host alone a version is pinned: what it gets is compared with the others.
        host: {
            "targets": {"ovn-host": version},
            "changed_packages": ["ovn-host"],
            "install": install,
            "pinned": bool(versions) and host == "b",
        }
        for host, version in (("a", "1-1"), ("b", "2-1"))
    }
    problem = mixed_versions_problem({**plans, "c": None}, refreshed=refreshed)
    assert problem.startswith("ovn-host would be 1 on a and 2 on b. Members of one Raft cluster" if refused else "")
    assert bool(problem) is refused


@pytest.mark.parametrize("found", [FOUND, ELSEWHERE], ids=["apt", "no apt"])
@pytest.mark.parametrize(
    ("key", "warned"),
    [
        ("ovn-*", False),
        ("ovn-central", False),  # the other role's
        ("*openvswitch*", False),
        ("tcpdump", False),  # in the list of a role, a text with a version
        ("ovn-hsot", True),
        ("opnvswitch-*", True),
    ],
)
def test_a_version_for_no_package_is_warned_of(key: str, warned: bool, found: dict[str, t.Any]) -> None:
    plan = packages_plan(found, {"ovn_central_distribution": {"packages": "a,tcpdump=4.*"}}, versions={key: "1.*"})
    assert [f'"{key}"' in warning for warning in plan["warnings"]] == [True] * warned
