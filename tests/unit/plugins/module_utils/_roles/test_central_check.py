"""What a central machine has to be, and what of that is due or forbids a run."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central import CentralMachineOptions
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central_check import (
    CentralCheckOptions,
    DesiredCentral,
    central_state,
    described_central,
    desired_central,
    host_questions,
    is_adoption,
    judge_central,
    membership_problem,
    settings_questions,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import check_options, options_from
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

SPECS = Path(__file__).resolve().parents[5] / "roles/ovn_central/meta/argument_specs.yml"
DOCUMENTED = yaml.safe_load(SPECS.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
GROUPS = {"ovn_central": ["c1", "c2", "c3"]}
HOSTVARS: dict[str, dict[str, t.Any]] = {
    name: {"ovn_address": f"192.0.2.{number}"} for number, name in enumerate(("c1", "c2", "c3"), 11)
}
CERTIFICATES = ("/etc/ovn/tls/central-cert.pem", "/etc/ovn/tls/relay-ca.pem")
RELAY = "c5c3-ovn-southbound-relay.service"
FOREIGN = {
    "name": "northd",
    "own": False,
    "pid": 7,
    "supervisor": {"kind": "unit", "name": "ovn-northd.service", "runtime": ""},
    "state": "active",
    "file": "",
    "problem": "",
    "container": None,
    "root": "",
    "sockets": {"control": "", "database": ""},
}


def given(kind: t.Any, **variables: t.Any) -> t.Any:
    values = check_options("c1", {**SPECIFICATION, **DOCUMENTED}, variables)
    return options_from(kind, values, "ovn_central_")


def machine(*, adopt: bool = False, **variables: t.Any) -> DesiredCentral:
    state = central_state("c1", given(CentralMachineOptions, **variables), HOSTVARS, GROUPS, {})
    options = given(CentralCheckOptions, **variables)
    return desired_central("c1", options, state, {}, HOSTVARS, GROUPS, adopt=adopt)


def found(**changes: t.Any) -> dict[str, t.Any]:
    """What a machine reports that is as desired."""
    return {
        "due": False,
        "members": [],
        "files": {},
        "units": [],
        "databases": [],
        "firewall": [{"changed": False}],
        "certificates": [],
        "packages": {"paths": list(CERTIFICATES)},
        "daemons": {"daemons": [], "missing_files": [], "stopped_northd_units": []},
        **changes,
    }


def judged(
    observed: dict[str, t.Any] | None = None, plan: dict[str, t.Any] | None = None, **variables: t.Any
) -> dict[str, t.Any]:
    adopt = bool(variables.pop("adopt", False))
    declared = {"ovn_pki_declared": variables.pop("declared")} if "declared" in variables else {}
    options = given(CentralCheckOptions, **variables)
    return judge_central("c1", machine(adopt=adopt, **variables), options, observed or found(), plan or {}, declared)


def test_machine_as_desired_is_not_due() -> None:
    result = judged()
    assert (result["problems"], result["due"], result["planned"]) == ([], False, False)
    assert result["missing_certificates"] == []


@pytest.mark.parametrize(
    ("host", "groups", "variables", "words"),
    [
        ("c1", GROUPS, {}, ""),
        ("h1", GROUPS, {}, "h1 is no member of the control plane, whose members are c1, c2, c3"),
        ("c1", {}, {}, "whose members are unknown. Put all of them into the group ovn_central"),
        (
            "c1",
            GROUPS,
            {"ovn_central_managed": "false"},
            "Others run the control plane of c1 (ovn_central_managed is false)",
        ),
    ],
)
def test_host_of_others_is_refused(
    host: str, groups: dict[str, list[str]], variables: dict[str, t.Any], words: str
) -> None:
    problem = membership_problem(host, given(CentralCheckOptions, **variables), groups)
    assert words in problem
    assert bool(problem) is bool(words)


def test_all_problems_are_reported_together() -> None:
    strangers = [{"port": 6641, "address": "203.0.113.7"}]
    observed = found(
        firewall=[{"strangers": strangers}],
        daemons={"daemons": [FOREIGN], "missing_files": [], "stopped_northd_units": []},
    )
    problems = judged(observed, {"refusals": ["a on c1 is on hold."]})["problems"]
    assert problems[0] == "a on c1 is on hold. No package was changed."
    assert "Adopt it with the playbook c5c3.ovn.adopt" in problems[1]
    assert "203.0.113.7 to port 6641" in problems[2]
    assert len(judged(observed, ovn_central_permit="firewall_disconnect")["problems"]) == 1


@pytest.mark.parametrize(
    ("plan", "variables", "planned"),
    [
        ({}, {}, False),
        ({"due": True}, {}, True),
        ({}, {"declared": {"due": True, "pairs": []}}, True),
        ({}, {"adopt": True}, True),
    ],
)
def test_packages_certificates_and_adoptions_are_due(
    plan: dict[str, t.Any], variables: dict[str, t.Any], planned: bool
) -> None:
    assert judged(plan=plan, **variables)["planned"] is planned


class TestCertificates:
    @pytest.mark.parametrize(
        ("paths", "variables", "missing"),
        [
            ([], {}, list(CERTIFICATES)),
            (CERTIFICATES[:1], {}, [CERTIFICATES[1]]),
            ([], {"ovn_southbound_rbac": False}, [CERTIFICATES[0]]),
            ([], {"ovn_tls": False}, []),
        ],
    )
    def test_files_that_are_not_there_are_named(
        self, paths: t.Sequence[str], variables: dict[str, t.Any], missing: list[str]
    ) -> None:
        texts = judged(found(packages={"paths": list(paths)}), **variables)["missing_certificates"]
        assert [text.split()[3] for text in texts] == missing
        assert all(text.endswith("Nothing was changed.") for text in texts)

    @pytest.mark.parametrize(
        ("changed", "path", "count"), [(False, CERTIFICATES[0], 0), (True, CERTIFICATES[0], 2), (False, "/own", 2)]
    )
    def test_pair_as_declared_needs_no_look(self, changed: bool, path: str, count: int) -> None:
        observed = found(packages={"paths": []}, certificates=[{"changed": changed}])
        declared = {"due": False, "pairs": [{"certificate": path}]}
        assert len(judged(observed, declared=declared)["missing_certificates"]) == count


class TestRelay:
    def test_port_of_chassis_is_taken_over_from_members(self) -> None:
        rows = [{"target": target} for target in machine().state["relay"]["former_rows"][:1]]
        assert judged(found(databases=[{"connections": rows}]))["relay_takes_over"]
        assert not judged(found(databases=[{"connections": [{"target": "pssl:16642:[::]"}]}]))["relay_takes_over"]
        assert not judged(found(databases=[{"connections": rows}]), ovn_tls=False)["relay_takes_over"]
        assert judged(found(units=[], databases=[], firewall=[]), adopt=True)["relay_takes_over"]

    @pytest.mark.parametrize(("action", "starts"), [(f"start {RELAY}", True), (f"restart {RELAY}", False)])
    def test_first_start_is_told_from_a_restart(self, action: str, starts: bool) -> None:
        assert judged(found(units=[{"actions": ["write a file"]}, {"actions": [action]}]))["relay_starts"] is starts


class TestAdoption:
    def test_it_compares_no_settings(self) -> None:
        asked = host_questions(machine(adopt=True), given(CentralCheckOptions), {}, [])
        assert (asked["units"], asked["databases"], asked["firewall"]) == ([], [], [])
        assert asked["daemons"]["stopped_units"]
        assert {one["adopt"] for one in asked["members"]} == {True}

    def test_northd_of_others_is_described(self) -> None:
        daemons = {
            "daemons": [FOREIGN],
            "missing_files": [],
            "stopped_northd_units": ["other.service", "ovn-northd.service"],
        }
        result = judged(found(daemons=daemons, firewall=[]), adopt=True)
        assert result["northd"] == {"units": ["ovn-northd.service", "other.service"], "state": "active"}
        assert judged()["northd"] == {"units": [], "state": None}

    def test_listeners_are_added_where_a_database_runs(self) -> None:
        sockets = {"control": "/run/ovn/x.ctl", "database": ""}
        daemons = {
            **found()["daemons"],
            "daemons": [{**FOREIGN, "name": "northbound", "own": True, "sockets": sockets}],
        }
        (listener,) = judged(found(daemons=daemons, firewall=[]), adopt=True)["listeners"]
        assert (listener["database"], listener["control_socket"], listener["socket"]) == (
            "northbound",
            "/run/ovn/x.ctl",
            None,
        )

    @pytest.mark.parametrize(("value", "expected"), [({}, False), ({"_ovn_central_adopt": True}, True)])
    def test_variable_of_its_tasks_says_so(self, value: dict[str, t.Any], expected: bool) -> None:
        assert is_adoption(value) is expected


def test_source_of_packages_is_compared_as_well() -> None:
    source = {"path": "/etc/apt/sources.list.d/c5c3-ovn.sources", "content": "x"}
    assert len(settings_questions(machine(), [], [])["units"]) == 2
    assert settings_questions(machine(), [source], [])["units"][2] == {"files": [source]}


def test_units_are_complete_and_nothing_is_left_of_what_is_not_desired() -> None:
    units = described_central(machine(ovn_tls=False, ovn_central_observer=False))["units"]
    assert units["relay"] == {"files": [], "units": [{"name": RELAY, "enabled": False, "state": "stopped"}]}
    assert [unit["state"] for unit in units["services"]["units"]] == ["started", "stopped"]
    assert all("{{" not in file["content"] for part in units.values() for file in part["files"])
    assert len(units["databases"]["files"]) == 5
    desired = described_central(machine())["units"]
    assert len(desired["relay"]["files"]) == 3
    assert [file["path"] for file in desired["services"]["files"]] == [
        "/etc/systemd/system/c5c3-ovn-northd.service",
        "/etc/systemd/system/c5c3-ovn-observer.service",
    ]


@pytest.mark.parametrize(
    ("packages", "firewall", "expected"), [(None, "none", 4), (None, "managed", 5), ([], "managed", 0)]
)
def test_firewall_needs_its_package(packages: list[str] | None, firewall: str, expected: int) -> None:
    state = central_state("c1", given(CentralMachineOptions), HOSTVARS, GROUPS, {})
    options = given(CentralCheckOptions, ovn_central_distribution={"packages": packages}, ovn_firewall=firewall)
    assert len(desired_central("c1", options, state, {}, HOSTVARS, GROUPS).packages) == expected


@pytest.mark.parametrize(
    ("plan", "timer"),
    [
        ({}, 5000),
        ({"sizes": None}, 5000),
        ({"sizes": {"southbound": {"file_bytes": 400_000_000, "election_timer": None}}}, 60000),
    ],
)
def test_sizes_are_those_of_the_last_plan(plan: dict[str, t.Any], timer: int) -> None:
    state = central_state("c1", given(CentralMachineOptions), HOSTVARS, GROUPS, plan)
    assert state["databases"]["southbound"]["timers"]["election_timer"] == timer
    assert state["databases"]["northbound"]["timers"]["election_timer"] == 5000


def test_addresses_of_the_members() -> None:
    hostvars = {
        "c1": {"ovn_address": "192.0.2.11", "ansible_host": "198.51.100.1"},
        "c2": {"ovn_address": "", "ansible_host": "[2001:db8::12]"},
        "c3": {"ovn_address": ""},
    }
    state = central_state("c1", given(CentralMachineOptions), hostvars, GROUPS, {})
    assert state["raft_addresses"]["northbound"] == {
        "c1": "ssl:192.0.2.11:6643",
        "c2": "ssl:[2001:db8::12]:6643",
        "c3": "ssl:c3:6643",
    }
