"""The options of the role ovn_packages."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.packages import package_source, packages_plan

FOUND: dict[str, t.Any] = {
    "manager": "apt",
    "desired": {"ovn-host": ""},
    "packages": {"ovn-host": {"installed": "1-1", "held": False, "needs": {}, "candidate": "", "obtainable": {}}},
    "interrupted": [],
    "paths": [],
}
ELSEWHERE = {**FOUND, "manager": "", "packages": {}, "paths": ["/usr/bin/there"]}


@pytest.mark.parametrize(
    ("hold", "expected"), [("", []), (None, []), ("true", ["ovn-host"]), (True, ["ovn-host"]), ("no", [])]
)
def test_options_as_ansible_gives_them(hold: t.Any, expected: list[str]) -> None:
    plan = packages_plan(
        FOUND, {"host": "h1", "hold": hold, "allow_downgrade": "false", "refreshed": False, "files": []}
    )
    assert (plan["hold"], plan["manager"], plan["install"]) == (expected, "apt", [])


@pytest.mark.parametrize(
    ("files", "expected"), [([], []), (["/usr/bin/there"], []), (["/usr/bin/there", "/usr/bin/missing"], ["ovn-host"])]
)
def test_where_there_is_no_apt_files_prove_that_packages_are_there(files: list[str], expected: list[str]) -> None:
    plan = packages_plan(ELSEWHERE, {"host": "h1", "files": files})
    assert (plan["install"], plan["missing"], plan["refusals"]) == (expected, expected, [])
    assert set(plan) == set(packages_plan(FOUND, {"host": "h1"}))


def test_where_there_is_no_apt_nothing_is_pinned_or_held() -> None:
    found = {**ELSEWHERE, "desired": {"ovn-host": "25.*"}}
    (refusal,) = packages_plan(found, {"host": "h1", "hold": "true"})["refusals"]
    assert "the versions ovn-host=25.* and ovn_packages_hold cannot be kept" in refusal


def test_the_file_of_a_source() -> None:
    assert package_source({}, "/d") == []
    (file,) = package_source({"uris": "x", "suites": "./"}, "/d")
    assert set(file) == {"path", "content"}


@pytest.mark.parametrize("found", [FOUND, ELSEWHERE], ids=["apt", "no apt"])
def test_the_plan_says_whether_anything_is_due(found: dict[str, t.Any]) -> None:
    files = ["/usr/bin/there"]
    assert not packages_plan(found, {"host": "h1", "files": files})["due"]
    missing = {**found, "desired": {"missing": ""}, "packages": {}, "unsatisfied": ["missing"], "paths": []}
    if found is FOUND:
        missing["packages"] = {
            "missing": {"installed": "", "held": False, "needs": {}, "candidate": "1", "obtainable": {"1": {}}}
        }
    assert packages_plan(missing, {"host": "h1", "files": files})["due"]


def test_the_plan_names_the_files_of_the_source() -> None:
    """Whether they are there as declared, only the host knows."""
    files = [{"path": "/etc/apt/sources.list.d/ovn.sources", "content": "Types: deb"}]
    plan = packages_plan(FOUND, {"host": "h1", "source_files": files})
    assert (plan["source_files"], plan["due"]) == (files, False)


@pytest.mark.parametrize("found", [FOUND, ELSEWHERE], ids=["apt", "no apt"])
@pytest.mark.parametrize(
    ("key", "warned"),
    [
        ("ovn-*", False),
        ("ovn-central", False),  # the other role's
        ("*openvswitch*", False),
        ("tcpdump", False),  # in the list of a role, with a version
        ("ovn-hsot", True),
        ("opnvswitch-*", True),
    ],
)
def test_a_version_for_no_package_is_warned_of(key: str, warned: bool, found: dict[str, t.Any]) -> None:
    plan = packages_plan(found, {"host": "h1", "versions": {key: "1.*"}, "role_packages": ["tcpdump=4.*"]})
    assert [f'"{key}"' in warning for warning in plan["warnings"]] == [True] * warned
