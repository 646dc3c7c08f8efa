"""Which systemctl verbs lead from what systemd says to what is declared."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.systemd_units import (
    DesiredUnit,
    Unit,
    declared_environment,
    is_file_of,
    not_loaded_units,
    parse_show,
    reason_to_keep,
    running_masked,
    systemctl_verbs,
    with_files,
)

NAME = "x.service"
ABSENT = Unit(NAME)
FRESH = Unit(NAME, "loaded", "disabled")
UP = Unit(
    NAME,
    "loaded",
    "enabled",
    "active",
    main_pid=7,
    environment=("R=1",),
    process_environment=frozenset({"R=1", "HOME=/", "INVOCATION_ID=0"}),
)
STARTED = DesiredUnit(NAME, enabled=True, state="started")


@pytest.mark.parametrize(
    ("desired", "unit", "verbs"),
    [
        pytest.param(STARTED, UP, [], id="runs as declared"),
        pytest.param(STARTED, FRESH, ["enable", "start"], id="a new unit"),
        pytest.param(STARTED, ABSENT, ["enable", "start"], id="a unit file that check mode did not write"),
        pytest.param(
            STARTED,
            dataclasses.replace(UP, environment=("R=2",)),
            ["restart"],
            id="the process has the settings of before",
        ),
        pytest.param(
            STARTED,
            dataclasses.replace(UP, process_environment=frozenset({""}), predates_files=False),
            [],
            id="the process has written over its environment, and its files are older",
        ),
        pytest.param(
            STARTED,
            dataclasses.replace(UP, process_environment=frozenset({""}), predates_files=True),
            ["restart"],
            id="the process has written over its environment, and its files are newer",
        ),
        pytest.param(
            STARTED,
            dataclasses.replace(UP, predates_files=True),
            [],
            id="a file was written again, with the same settings",
        ),
        pytest.param(
            STARTED, dataclasses.replace(UP, binary_replaced=True), ["restart"], id="the package was upgraded"
        ),
        pytest.param(STARTED, dataclasses.replace(UP, active_state="failed", main_pid=0), ["start"], id="it failed"),
        pytest.param(STARTED, dataclasses.replace(UP, active_state="activating", main_pid=0), [], id="it is starting"),
        pytest.param(DesiredUnit(NAME, enabled=True), FRESH, ["enable"], id="only enabled"),
        pytest.param(
            STARTED, dataclasses.replace(UP, file_state="enabled-runtime"), ["enable"], id="enabled until the next boot"
        ),
        pytest.param(STARTED, dataclasses.replace(UP, file_state="static"), [], id="nothing says when it starts"),
        pytest.param(STARTED, dataclasses.replace(UP, file_state="generated"), [], id="systemd has made it"),
        pytest.param(
            DesiredUnit(NAME, enabled=False, state="stopped"), UP, ["disable", "stop"], id="disabled and stopped"
        ),
        pytest.param(DesiredUnit(NAME, enabled=False, state="stopped"), ABSENT, [], id="was never there"),
        pytest.param(DesiredUnit(NAME, masked=True), ABSENT, ["mask"], id="masked before its package comes"),
        pytest.param(DesiredUnit(NAME, masked=True), UP, ["mask", "stop"], id="masked while it runs"),
        pytest.param(DesiredUnit(NAME, masked=True), Unit(NAME, "masked", "masked"), [], id="masked already"),
        pytest.param(
            DesiredUnit(NAME, masked=True),
            dataclasses.replace(UP, in_etc=True),
            ["disable", "stop"],
            id="its own file is where the mask would be",
        ),
        pytest.param(
            DesiredUnit(NAME, masked=True),
            Unit(NAME, "loaded", "enabled", in_etc=True),
            ["disable"],
            id="a file in the place of the mask, stopped, but it starts with the machine",
        ),
        pytest.param(
            DesiredUnit(NAME, masked=True),
            Unit(NAME, "loaded", "disabled", in_etc=True),
            [],
            id="a file in the place of the mask, and it never starts",
        ),
        pytest.param(
            DesiredUnit(NAME, masked=True),
            Unit(NAME, "masked", "masked", in_etc=True),
            [],
            id="the mask is in its place",
        ),
    ],
)
def test_systemctl_verbs(desired: DesiredUnit, unit: Unit, verbs: list[str]) -> None:
    assert systemctl_verbs(desired, unit) == verbs


@pytest.mark.parametrize(
    ("desired", "unit", "found"),
    [
        pytest.param(DesiredUnit(NAME, masked=True), UP, [NAME], id="a database of another owner runs"),
        pytest.param(STARTED, UP, [], id="a unit of ours runs"),
        pytest.param(DesiredUnit(NAME, masked=True), FRESH, [], id="it is installed, but does not run"),
        pytest.param(
            DesiredUnit(NAME, masked=True),
            dataclasses.replace(UP, main_pid=0),
            [],
            id="a collective unit without a process",
        ),
    ],
)
def test_what_runs_although_it_has_to_be_masked(desired: DesiredUnit, unit: Unit, found: list[str]) -> None:
    assert running_masked([desired], {NAME: unit}) == found


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Fri 2026-11-27 10:28:20.250000 UTC", 1795775300.25),
        ("", 0.0),
        ("n/a", 0.0),
    ],
)
def test_the_time_of_a_start_has_its_fraction(text: str, seconds: float) -> None:
    (unit,) = parse_show(
        f"Id=a.service\nExecMainStartTimestamp={text}\nFragmentPath=/x/a.service\nDropInPaths=/x/d /x/e\n"
    )
    assert unit.started == seconds
    assert unit.files == ("/x/a.service", "/x/d", "/x/e")


def test_show_is_read_block_by_block() -> None:
    text = (
        'MainPID=2649\nEnvironment=A=1 "B=x y"\nId=a.service\nLoadState=loaded\nActiveState=active\n'
        "UnitFileState=enabled\nNeedDaemonReload=yes\n\n"
        "MainPID=0\nEnvironment=\nId=b.service\nLoadState=masked\nActiveState=inactive\nUnitFileState=masked\n"
    )
    first, second = parse_show(text, {"/etc/systemd/system/b.service"}.__contains__)
    assert (first.in_etc, second.in_etc) == (False, True)
    assert first == Unit("a.service", "loaded", "enabled", "active", True, 2649, ("A=1", "B=x y"))
    assert second.masked
    assert not second.outdated


@pytest.mark.parametrize(
    ("file_state", "active_state", "reason"),
    [
        ("enabled", "active", "x.service is active"),
        ("disabled", "active", "x.service is active"),
        ("disabled", "activating", "x.service is activating"),
        ("disabled", "deactivating", "x.service is deactivating"),
        ("enabled", "inactive", "x.service is enabled"),
        ("enabled", "failed", "x.service is enabled"),
        ("enabled-runtime", "inactive", "x.service is enabled-runtime"),
        ("disabled", "failed", ""),
        ("masked", "inactive", ""),
        ("", "inactive", ""),
    ],
)
def test_what_a_unit_needs_stays_while_it_runs_or_would_start(file_state: str, active_state: str, reason: str) -> None:
    assert reason_to_keep(Unit(NAME, "loaded", file_state, active_state)) == reason


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/etc/systemd/system/x.service", True),
        ("/etc/systemd/system/x.service.d/50-c5c3-ovn.conf", True),
        ("/etc/systemd/system/xx.service.d/50-c5c3-ovn.conf", False),
        ("/etc/systemd/system/y.service", False),
        ("/usr/lib/x.service/program", False),
    ],
)
def test_which_files_are_of_a_unit(path: str, found: bool) -> None:
    assert is_file_of(NAME, path) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[Service]\nEnvironment=R=1\n", {"R": "R=1"}),
        ('Environment="A=b c" B=2\nEnvironment = A=3\n', {"A": "A=3", "B": "B=2"}),
        ("Environment=A=1 \\\n  B=2\n", {"A": "A=1", "B": "B=2"}),
        ("Environment=A=50%%\n", {"A": "A=50%"}),
        ("Environment=A=it's\nEnvironment=B=1\n", {"B": "B=1"}),
        ("# Environment=A=1\nEnvironmentFile=/x\nExecStart=/bin/true A=2\nEnvironment=\n", {}),
    ],
)
def test_what_a_file_sets(text: str, found: dict[str, str]) -> None:
    assert declared_environment(text) == found


SILENT = dataclasses.replace(UP, process_environment=frozenset({""}))  # it has written over its environment


OVERRIDDEN = dataclasses.replace(UP, environment=("R=9",), process_environment=frozenset({"R=9", "INVOCATION_ID=0"}))


@pytest.mark.parametrize(
    ("unit", "texts", "others", "newer", "verbs"),
    [
        pytest.param(UP, {}, {}, False, [], id="no file of its own is written"),
        pytest.param(UP, {"x.service": "Environment=R=1\n"}, {}, True, [], id="another text with the same settings"),
        pytest.param(UP, {"x.service": "Environment=R=2\n"}, {}, True, ["restart"], id="other settings"),
        pytest.param(UP, {"50.conf": "Environment=S=1\n"}, {}, True, ["restart"], id="one more setting"),
        pytest.param(UP, {"x.service": "[Service]\n"}, {}, True, [], id="a setting less restarts nothing"),
        pytest.param(
            UP,
            {"50.conf": "Environment=R=1\n", "x.service": "Environment=R=2\n"},
            {},
            True,
            [],
            id="drop-ins come last",
        ),
        pytest.param(SILENT, {"x.service": "Environment=R=1\n"}, {}, True, ["restart"], id="written over, newer file"),
        pytest.param(SILENT, {"x.service": "Environment=R=1\n"}, {}, False, [], id="written over, older file"),
        pytest.param(FRESH, {"x.service": "Environment=R=2\n"}, {}, True, ["enable", "start"], id="it does not run"),
        pytest.param(
            OVERRIDDEN,
            {"50.conf": "Environment=R=2\n"},
            {"override.conf": "Environment=R=9\n"},
            True,
            [],
            id="a later drop-in of somebody else replaces the setting",
        ),
        pytest.param(
            dataclasses.replace(OVERRIDDEN, environment=("R=x.service",)),
            {"50.conf": "Environment=R=2\n"},
            {"override.conf": "Environment=R=%n\n"},
            True,
            ["restart"],
            id="it has changed since the process began, and systemd has read it",
        ),
        pytest.param(
            UP,
            {"50.conf": "Environment=R=2\n"},
            {"10.conf": "Environment=R=%n\n"},
            True,
            ["restart"],
            id="an earlier one does not",
        ),
        pytest.param(
            dataclasses.replace(OVERRIDDEN, needs_reload=True),
            {},
            {"override.conf": "Environment=R=10\n"},
            False,
            ["restart"],
            id="systemd has not read it yet",
        ),
    ],
)
def test_what_files_will_do(
    unit: Unit, texts: dict[str, str], others: dict[str, str], newer: bool, verbs: list[str]
) -> None:
    assert systemctl_verbs(STARTED, with_files(unit, texts, others, newer=newer)) == verbs


def test_units_to_start_that_systemd_cannot_load_are_named() -> None:
    desired = [STARTED, DesiredUnit("a.service", state="started"), DesiredUnit("b.service", state="stopped")]
    units = {NAME: UP, "a.service": Unit("a.service", "masked"), "b.service": Unit("b.service")}
    assert not_loaded_units(desired, units) == {"a.service": "masked"}
