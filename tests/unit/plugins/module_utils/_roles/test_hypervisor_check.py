"""What a machine of the role ovn_hypervisor has to be, and what is due on it."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor import control_plane_of
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor_check import (
    ConnectingHost,
    DesiredMachine,
    HypervisorOptions,
    SingleRunOptions,
    connection_problem,
    described_machine,
    desired_machine,
    forbids_unattended,
    host_questions,
    judge_machine,
    local_options,
    refuse,
    southbound_to_ask,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import (
    check_options,
    options_from,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

SPECS = pathlib.Path(__file__).parents[5] / "roles" / "ovn_hypervisor" / "meta" / "argument_specs.yml"
ROLE = yaml.safe_load(SPECS.read_text())["argument_specs"]["main"]["options"]
GROUPS = {"ovn_hypervisors": ["h1"], "ovn_central": ["c1"]}
PLAN: dict[str, t.Any] = {"install": [], "due": False, "source_files": [], "refusals": []}
UNIT = "/etc/systemd/system/c5c3-ovn-controller.service"
UNDERLAY_UNIT = "/etc/systemd/system/c5c3-ovn-underlay.service"
SYSTEM_ID = "/etc/openvswitch/system-id.conf"
UNDERLAY = {"bridge": "br-phy", "interface": "eth1", "address": "192.0.2.1/24"}
Found = dict[str, t.Any]


def options_with(**variables: t.Any) -> HypervisorOptions:
    return options_from(HypervisorOptions, check_options("h1", {**SPECIFICATION, **ROLE}, variables), "ovn_hypervisor_")


def machine_with(found: Found | None = None, **variables: t.Any) -> DesiredMachine:
    hostvars = {"h1": {"ansible_host": "192.0.2.21", **variables}, "c1": {}}
    return desired_machine("h1", options_with(**variables), hostvars["h1"], hostvars, GROUPS, found)


def found_on(machine: DesiredMachine, **more: t.Any) -> Found:
    """As `ovn_host_info` finds a machine that is as desired."""
    texts = {file["path"]: file["content"] for file in machine.unit_files}
    return {
        "packages": {
            "distribution": {"id": "debian"},
            "paths": [*machine.distribution["files"], "/etc/ovn/tls/chassis-cert.pem"],
        },
        "openvswitch": {"problem": "", "hostname": "n1", "unknown_units": []},
        "files": {**texts, machine.distribution["system_id_file"]: f"{machine.chassis.system_id}\n"},
        "units": [{"changed": False, "actions": []}, {"changed": False, "actions": []}],
        "firewall": [{"changed": False}],
        "certificates": [{"changed": False}],
        "due": False,
        **more,
    }


def judge(found: Found, plan: Found | None = None, facts: Found | None = None, **variables: t.Any) -> Found:
    machine = machine_with(found, **variables)
    return judge_machine("h1", machine, options_with(**variables), found, {**PLAN, **(plan or {})}, facts or {})


def test_machine_as_desired_has_nothing_due() -> None:
    judged = judge(found_on(machine_with()), facts={"ovn_pki_declared": {"due": False}})
    expected = {
        "due": False,
        "certificate_due": False,
        "certificate_missing": False,
        "set_up": True,
        "recorded_system_id": "h1",
        "missing_files": [],
        "units_due": False,
        "underlay_due": False,
        "daemons_due": False,
        "unmasked": [],
        "problems": [],
    }
    assert {name: judged[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("found", "plan", "facts", "due"),
    [
        ({"due": True}, {}, {}, {"due", "daemons_due"}),
        ({}, {"due": True}, {}, {"due", "daemons_due"}),
        ({}, {"source_files": [{"path": "x"}]}, {}, {"due"}),
        ({}, {}, {"ovn_central_permit": "rollback"}, {"due"}),
        ({"files": {UNIT: "other"}}, {}, {}, {"due", "daemons_due", "units_due"}),
    ],
    ids=["comparison", "packages", "package source", "rollback", "unit"],
)
def test_each_difference_is_due(found: Found, plan: Found, facts: Found, due: set[str]) -> None:
    judged = judge(found_on(machine_with(), **found), plan, facts)
    assert {name for name in ("due", "daemons_due", "units_due") if judged[name]} == due


def test_new_machine_is_due_and_not_set_up() -> None:
    judged = judge(found_on(machine_with(), files={}))
    assert (judged["set_up"], judged["recorded_system_id"], judged["due"], judged["problems"]) == (False, "", True, [])


@pytest.mark.parametrize(
    ("files", "openvswitch", "expected"),
    [
        ({SYSTEM_ID: " h2 \n"}, "managed", (False, "h2")),
        ({SYSTEM_ID: "a:b\n", UNIT: "[Unit]\n"}, "managed", (True, "a:b")),
        ({UNIT: ""}, "managed", (False, "")),
        ({UNDERLAY_UNIT: "[Unit]\n"}, "managed", (False, "")),
        ({}, "existing", (False, "h1")),
        ({SYSTEM_ID: "theirs\n", UNIT: "[Unit]\n"}, "existing", (True, "h1")),
    ],
)
def test_recorded_chassis(files: dict[str, str], openvswitch: str, expected: tuple[bool, str]) -> None:
    judged = judge(found_on(machine_with(), files=files), ovn_hypervisor_openvswitch=openvswitch)
    assert (judged["set_up"], judged["recorded_system_id"]) == expected


@pytest.mark.parametrize(
    ("certificates", "facts", "tls", "paths", "due", "missing"),
    [
        ([{"changed": False}], {"ovn_pki_declared": {"due": False}}, True, [], False, False),
        ([{"changed": False}], {"ovn_pki_declared": {"due": True}}, True, [], True, False),
        ([{"changed": True}], {"ovn_pki_declared": {"due": False}}, True, [], True, True),
        ([{"failed": True}], {"ovn_pki_declared": {"due": False}}, True, [], True, True),
        ([], {}, True, ["/etc/ovn/tls/chassis-cert.pem"], True, False),
        ([], {}, True, [], True, True),
        ([], {}, False, [], True, False),
    ],
    ids=["as declared", "not known", "changed", "unreadable", "given", "absent", "without TLS"],
)
def test_certificate(
    certificates: list[Found], facts: Found, tls: bool, paths: list[str], due: bool, missing: bool
) -> None:
    found = found_on(machine_with(), certificates=certificates)
    found["packages"]["paths"] = paths
    judged = judge(found, facts=facts, ovn_tls=tls)
    assert (judged["certificate_due"], judged["certificate_missing"]) == (due, missing)


def test_all_problems_are_named() -> None:
    found = found_on(machine_with(), firewall=[{"failed": True, "msg": "nft is missing."}])
    found["openvswitch"]["problem"] = "Another Open vSwitch runs."
    problems = judge(found, {"refusals": ["No 25.03.", "No 3.5."]})["problems"]
    assert problems == [
        "No 25.03.\nNo 3.5. No package was changed.",
        "Another Open vSwitch runs.",
        "h1: nft is missing. Nothing was changed.",
    ]
    with pytest.raises(InvalidInput, match=r"Another Open vSwitch runs\.\nh1: nft"):
        refuse(problems)
    refuse([])


def test_renamed_chassis_is_refused() -> None:
    (problem,) = judge(found_on(machine_with()), ovn_system_id="other")["problems"]
    assert problem.startswith('h1 is the chassis "h1" and cannot become "other" while it is one')


def test_unknown_distribution_is_refused_before_all_else() -> None:
    found = found_on(machine_with())
    found["packages"]["distribution"] = {"id": "rocky", "name": "Rocky"}
    (problem,) = judge(found, ovn_system_id="other")["problems"]
    assert problem.startswith("h1 runs Rocky, whose packages")
    assert problem.endswith("Nothing was changed.")


def test_open_vswitch_of_others_gets_no_packages_of_its_own() -> None:
    assert machine_with().packages == ["openvswitch-switch", "ovn-host", "python3-openvswitch"]
    assert machine_with(ovn_hypervisor_openvswitch="existing").packages == ["ovn-host", "python3-openvswitch"]
    assert machine_with(ovn_hypervisor_distribution={"packages": []}).packages == []
    assert machine_with(ovn_hypervisor_distribution={"packages": ""}).packages == machine_with().packages


def test_managed_firewall_needs_its_package() -> None:
    managed = {"ovn_firewall": "managed", "ovn_hypervisor_tunnel_networks": ["192.0.2.0/24"]}
    assert machine_with(**managed).packages[-1] == "nftables"
    assert machine_with(**managed, ovn_hypervisor_distribution={"packages": []}).packages == []


def test_underlay_has_a_unit_that_is_compared() -> None:
    machine = machine_with(ovn_hypervisor_underlay=UNDERLAY)
    unit = next(file["content"] for file in machine.unit_files if "underlay" in file["path"])
    assert "ip address replace 192.0.2.1/24 dev br-phy\n" in unit
    found = found_on(machine)
    assert not judge(found, ovn_hypervisor_underlay=UNDERLAY)["underlay_due"]
    found["files"][machine.underlay_unit] = "other"
    assert judge(found, ovn_hypervisor_underlay=UNDERLAY)["underlay_due"]


def test_unit_of_ovn_controller_has_revision_and_sandbox() -> None:
    machine = machine_with()
    controller = machine.state["controller"]
    lines = machine.unit_files[0]["content"].splitlines()
    assert {f"Environment=OVN_REVISION={controller['revision']}", f"ExecStart={controller['command']}"} <= set(lines)
    assert set(controller["sandbox"]) <= set(lines)
    assert "Wants=openvswitch-switch.service" in lines


def test_questions_name_what_is_compared() -> None:
    machine, options = machine_with(), options_with()
    questions = host_questions(machine, options, {"ovn-*": "1"}, [{"certificate": "x"}])
    assert questions["files"] == ["/etc/openvswitch/system-id.conf", UNIT, machine.underlay_unit]
    assert questions["packages"]["versions"] == {"ovn-*": "1"}
    assert options.certificate in questions["packages"]["paths"]
    assert [unit["name"] for unit in questions["units"][0]["units"]][-1] == "c5c3-ovn-controller.service"
    assert questions["certificates"] == [{"certificate": "x"}]


def test_later_tasks_read_no_secret_and_no_unit_of_others() -> None:
    described = described_machine(machine_with(), options_with())
    names = {"system_id", "desired", "distribution", "unit", "pid_file", "firewall", "wait_timeout", "warnings"}
    assert set(described) == names
    assert described["desired"]["files"][:2] == ["/etc/ovn/tls/chassis-key.pem", "/etc/ovn/tls/chassis-cert.pem"]


@pytest.mark.parametrize(
    ("variables", "groups", "host"),
    [
        ({}, GROUPS, "c1"),
        ({"ovn_hypervisor_central_host": "c2"}, GROUPS, "c2"),
        ({"ovn_southbound_endpoints": ["ssl:203.0.113.1:6642"]}, GROUPS, ""),
        ({}, {"ovn_hypervisors": ["h1"]}, ""),
    ],
    ids=["the first central host", "a given one", "another control plane", "no control plane"],
)
def test_southbound_to_ask(variables: Found, groups: dict[str, list[str]], host: str) -> None:
    hostvars = {"h1": variables, "c1": {"ansible_host": "192.0.2.11"}, "c2": {}}
    given = options_with(**variables).central_host or ""
    central = control_plane_of("h1", variables, hostvars, groups, tls=True, central_host=given)
    assert southbound_to_ask(central).get("host", "") == host


CENTRAL: Found = {"host": "c1", "asked": True, "problem": "c1 has no address.", "southbound": ["ssl:c1:6642"]}
MISSING: Found = {"ovn_hypervisor_check": {"certificate_missing": True, "certificate": "/c.pem"}}


@pytest.mark.parametrize(
    ("state", "is_cluster", "check_mode", "central", "variables", "expected"),
    [
        ("present", False, False, {"problem": ""}, {}, ""),
        ("present", False, False, {}, {}, "c1 has no address."),
        ("absent", False, False, {}, {}, "c1 has no address."),
        ("absent", True, False, {}, {}, ""),
        ("present", True, True, {"southbound": []}, MISSING, ""),
        ("present", False, False, {"asked": False, "southbound": []}, {}, "No endpoint of the Southbound"),
        ("absent", False, False, {"asked": False, "southbound": []}, {}, ""),
        ("present", False, False, {"asked": False}, MISSING, "There is no /c.pem on h1, and the chassis uses TLS."),
        ("present", False, False, {"asked": False}, {**MISSING, "ovn_pki_state": {}}, ""),
        ("gone", False, False, {}, {}, ""),
        ("gone", False, True, {"host": ""}, {}, "No central host is known"),
    ],
    ids=[
        "connected",
        "unreachable",
        "unreachable at a removal",
        "a cluster may be emptied without it",
        "check mode",
        "no endpoint",
        "no endpoint at a removal",
        "no certificate",
        "certificate issued in this run",
        "dead machine",
        "dead machine without a central host",
    ],
)
def test_connection(
    state: str, is_cluster: bool, check_mode: bool, central: Found, variables: Found, expected: str
) -> None:
    hypervisor = ConnectingHost("h1", state, is_cluster, check_mode)
    problem = connection_problem(hypervisor, {**CENTRAL, **central}, variables)
    assert problem.startswith(expected)
    assert bool(problem) is bool(expected)


def test_machine_and_its_resource_are_one_chassis() -> None:
    mappings = [{"physical_network": "p", "bridge": "br-ex"}]
    chassis = machine_with(
        ovn_encapsulation_ip="192.0.2.7",
        ovn_hypervisor_bridge_mappings=mappings,
        ovn_hypervisor_chassis_settings={"monitor_all": "yes"},
    ).chassis
    given = {name: value for name, value in chassis.options().items() if value is not None}
    assert given == {
        "system_id": "h1",
        "encapsulation": {"type": ["geneve"], "ip": ["192.0.2.7"]},
        "bridge_mappings": mappings,
        "bridges": [],
        "gateway": False,
        "monitor_all": True,
        "external_ids": {"ovn-ofctrl-wait-before-clear": "8000"},
        "preserve_foreign": False,
    }
    assert chassis.resource(present=True) == {
        "name": "h1",
        "state": "present",
        "system_id": "h1",
        "encapsulation_type": ["geneve"],
        "encapsulation_ip": ["192.0.2.7"],
        "bridge_mappings": mappings,
    }
    assert machine_with(ovn_hypervisor_hostname="n1").chassis.resource(present=False)["hostname"] == "n1"


def test_settings_leave_alone_what_is_not_given() -> None:
    """An empty list removes a setting, an empty text is absent."""
    zones = {"ovn_hypervisor_availability_zones": [], "ovn_hypervisor_hostname": ""}
    options = machine_with(**zones).chassis.options()
    assert (options["availability_zones"], options["hostname"], options["cms_options"]) == ([], None, None)


def test_files_are_named_with_tls_alone() -> None:
    assert local_options(options_with())["certificate"] == "/etc/ovn/tls/chassis-cert.pem"
    assert local_options(options_with(ovn_tls=False, ovn_wait_timeout=5)) == {
        "database": "unix:/run/openvswitch/db.sock",
        "allow_takeover": False,
        "wait_timeout": 5,
    }


@pytest.mark.parametrize(
    ("given", "variables", "named"),
    [
        ({}, {}, []),
        ({}, {"ovn_central_permit": []}, []),
        ({"break_lock": True}, {}, ["ovn_break_lock is set for h1."]),
        (
            {"state": "absent", "permit": ["takeover"]},
            {},
            ["ovn_hypervisor_state, ovn_hypervisor_permit are set for h1."],
        ),
        ({}, {"ovn_central_permit": "rollback"}, ["ovn_central_permit is set for h1."]),
        (
            {"state": "absent"},
            {"ovn_central_permit": ["rollback"]},
            ["ovn_hypervisor_state is set for h1.", "ovn_central_permit is set for h1."],
        ),
    ],
)
def test_unattended_run_has_no_option_of_a_single_one(
    given: dict[str, t.Any], variables: dict[str, t.Any], named: list[str]
) -> None:
    nothing = SingleRunOptions(state="present", permit=[], break_lock=False, force_conflicts=False)
    problem = forbids_unattended("h1", dataclasses.replace(nothing, **given), variables)
    assert [line.partition(" Each")[0] for line in problem.splitlines()] == named
