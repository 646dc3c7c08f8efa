"""What the step takes from hostvars; the report itself is tested in _report/test_report.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.action.verify_report import verify_report

HEARTBEAT = {"nb_cfg": 3, "probed": True, "northd_alive": True, "reason": "", "sb_ms": 1.0, "hv_ms": 2.0, "chassis": []}
CLUSTER = {"ovn_backend": "kubernetes"}


def report(hostvars: dict[str, dict[str, t.Any]], **options: t.Any) -> dict[str, t.Any]:
    return verify_report(hostvars, **options)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["hv1"]),
        ({"ovn_system_id": "chassis-1"}, ["chassis-1"]),
        ({"ovn_hypervisor_state": "absent"}, []),
        ({"ovn_hypervisor_state": "gone"}, []),
    ],
)
def test_expected_chassis(variables: dict[str, t.Any], expected: list[str]) -> None:
    answer = report({"hv1": variables}, central=[], hypervisors=["hv1"], heartbeat=HEARTBEAT)
    assert answer["chassis"]["expected"] == expected
    assert answer["chassis"]["missing"] == expected


@pytest.mark.parametrize(("state", "days"), [("present", {"hv1": 12}), ("absent", {}), ("gone", {})])
def test_certificates_of_chassis(state: str, days: dict[str, int]) -> None:
    variables = {
        "ovn_hypervisor_state": state,
        "ovn_verify_chassis": {"certificates": [{"in_service": True, "days_left": 12}]},
    }
    answer = report({"hv1": variables}, central=[], hypervisors=["hv1"], heartbeat=HEARTBEAT)
    assert answer["certificates"]["chassis"] == days


def test_a_machine_that_was_asked_without_tls_has_a_datapath_alone() -> None:
    lookups = {"hit": 1, "missed": 1, "lost": 0}
    datapath = {"type": "netdev", "conntrack_zones": True, "handlers": 1, "lookups": lookups, "lost": 0, "missed": 0}
    asked = {"certificates": [], "datapath": {**datapath, "seconds": 1.0, "uplinks_down": []}}
    hostvars = {
        "hv1": {"ovn_verify_chassis": asked},
        "hv2": {"ovn_verify_chassis": {"certificates": [], "datapath": None}},
    }
    answer = report(hostvars, central=[], hypervisors=["hv1", "hv2"], heartbeat=HEARTBEAT)
    assert answer["chassis"]["lookups"] == {"hv1": lookups}
    assert answer["certificates"]["chassis"] == {}
    assert [finding["code"] for finding in answer["findings"] if "certificate" in finding["code"]] == []


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        pytest.param(
            {"failed": True, "msg": "Task failed: Module failed: no space."}, "Module failed: no space", id="crash"
        ),
        pytest.param({"failed": True, "msg": "Timed out after 20 s.", "timedout": {"period": 20}}, "", id="timeout"),
        pytest.param({"unreachable": True, "msg": "no route to host"}, "", id="unreachable"),
        pytest.param({"certificates": [], "datapath": None}, "", id="nothing to read"),
    ],
)
def test_a_machine_on_which_the_call_fails(result: dict[str, t.Any], cause: str) -> None:
    """Nothing is said of its certificate, which may not even have been asked for."""
    answer = report({"hv1": {"ovn_verify_chassis": result}}, central=[], hypervisors=["hv1"], heartbeat=HEARTBEAT)
    found = [finding for finding in answer["findings"] if finding["severity"] == "warning"]
    assert [finding["code"] for finding in found] == ["hypervisor_not_read"] * bool(cause)
    assert all(one["message"].startswith(f"Hypervisor hv1 could not be examined: {cause}. The") for one in found)


def test_a_cluster_whose_certificate_cannot_be_read() -> None:
    variables = {**CLUSTER, "ovn_verify_chassis": {"certificates": [{"msg": "Forbidden"}]}}
    answer = report({"rack1": variables}, central=[], hypervisors=["rack1"], heartbeat=HEARTBEAT)
    assert "The certificate of chassis rack1 cannot be read: Forbidden." in answer["warnings"]


@pytest.mark.parametrize(
    ("checked", "variables", "days"),
    [
        pytest.param({"certificate_due": False}, {}, {"hv1": 12}, id="found as declared in the same run"),
        pytest.param({"certificate_due": True}, {}, {}, id="it was to be replaced after that"),
        pytest.param({}, {}, {}, id="nothing is known of what became of it"),
        pytest.param(
            {"certificate_due": False},
            {"ovn_verify_chassis": {"certificates": [{"in_service": True, "days_left": 5}]}},
            {"hv1": 5},
            id="what was read later counts",
        ),
    ],
)
def test_a_certificate_that_was_compared_before_is_not_read_again(
    checked: dict[str, t.Any], variables: dict[str, t.Any], days: dict[str, int]
) -> None:
    found = {"ovn_hypervisor_check": {**checked, "certificates": [{"in_service": True, "days_left": 12}]}}
    answer = report({"hv1": {**found, **variables}}, central=[], hypervisors=["hv1"], heartbeat=HEARTBEAT)
    assert answer["certificates"]["chassis"] == days


def test_a_host_that_was_not_asked_is_silent() -> None:
    answer = report({"c1": {}}, central=["c1"], heartbeat=HEARTBEAT)
    assert "Northbound and Southbound: c1: the host was not asked." in answer["problems"]


def test_an_unreachable_host_is_told_once() -> None:
    unreachable = {"unreachable": True, "msg": "Task failed: no route to host."}
    answer = report({"c1": {"ovn_verify_info": unreachable}}, central=["c1"], heartbeat=HEARTBEAT)
    assert [problem for problem in answer["problems"] if "c1" in problem] == ["c1 cannot be reached: no route to host."]


def test_chassis_of_a_cluster_are_what_its_api_server_says() -> None:
    resources = [{"spec": {"systemId": name}} for name in ("worker1", "worker2")]
    answer = report(
        {"hypervisors": CLUSTER, "hv1": {}},
        central=[],
        hypervisors=["hypervisors", "hv1"],
        cluster_chassis={"hypervisors": {"resources": resources}},
        heartbeat=HEARTBEAT,
    )
    assert answer["chassis"]["expected"] == ["hv1", "worker1", "worker2"]
    assert any("Chassis worker1 (hypervisors) is not registered" in problem for problem in answer["problems"])


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        pytest.param("UplinkDown", "uplink_down", id="as on machines"),
        pytest.param("TwoClusters", "packets_lost", id="written by somebody else"),
    ],
)
def test_chassis_of_a_cluster_whose_datapath_loses_packets_is_a_problem(reason: str, code: str) -> None:
    message = "The datapath loses packets: bridge br-ex has no port with a link, down: eth1. Check that the port is up."
    unhealthy = {"type": "DatapathHealthy", "status": "False", "reason": reason, "message": message}
    ready, silent = ({"type": "Ready", "status": status, "reason": "x", "message": "x"} for status in ("True", "False"))
    conditions = {
        "worker1": [ready, unhealthy],
        "worker2": [ready, {**unhealthy, "status": "Unknown"}],
        "worker3": [silent, unhealthy],  # of an agent that may have died
    }
    resources = [{"spec": {"systemId": name}, "status": {"conditions": found}} for name, found in conditions.items()]
    answer = report(
        {"hypervisors": CLUSTER},
        central=[],
        hypervisors=["hypervisors"],
        cluster_chassis={"hypervisors": {"resources": [*resources, {"spec": {"systemId": "worker4"}}]}},
    )
    words = "Chassis worker1: bridge br-ex has no port with a link, down: eth1. Check that the port is up."
    found = [(one["code"], one["message"]) for one in answer["findings"] if one["message"].startswith("Chassis worker")]
    assert found == [(code, words)]


@pytest.mark.parametrize(
    ("uids", "problem"),
    [(("1", "2"), True), (("1", "1"), False)],
    ids=["two clusters", "two inventory hosts of one cluster"],
)
def test_one_system_id_in_two_clusters(uids: tuple[str, str], problem: bool) -> None:
    answers = {
        name: {"resources": [{"metadata": {"uid": uid}, "spec": {"systemId": "worker1"}}]}
        for name, uid in zip(("rack1", "rack2"), uids)
    }
    answer = report(
        dict.fromkeys(answers, CLUSTER),
        central=[],
        hypervisors=list(answers),
        cluster_chassis=answers,
        heartbeat=HEARTBEAT,
    )
    words = "Two chassis have the system id worker1 (rack1, rack2)"
    assert any(found.startswith(words) for found in answer["problems"]) is problem


def test_a_cluster_that_cannot_be_asked_is_a_problem() -> None:
    answer = report(
        {"hypervisors": CLUSTER},
        central=[],
        hypervisors=["hypervisors"],
        cluster_chassis={"hypervisors": {"msg": "the token has expired"}},
        heartbeat=HEARTBEAT,
    )
    assert "hypervisors cannot be asked for its chassis: the token has expired." in answer["problems"]


@pytest.mark.parametrize(
    ("cluster", "declared"),
    [({"cluster": {"spec": {"northbound": {"replicas": 5}}}}, "0/5 members"), ({"msg": "no"}, "0/0 members")],
    ids=["as the OVNCluster says", "nobody knows"],
)
def test_declared_members_of_a_control_plane_in_kubernetes(cluster: dict[str, t.Any], declared: str) -> None:
    answer = report({"plane": {**CLUSTER, "ovn_verify_cluster": cluster}}, central=["plane"], heartbeat=HEARTBEAT)
    assert any(line.startswith("Northbound") and declared in line for line in answer["lines"])


@pytest.mark.parametrize(
    ("condition", "line", "problems"),
    [
        ({"status": "True", "reason": "AllAnswer", "message": "2 of 2 chassis answer."}, "healthy", []),
        (
            {"status": "False", "reason": "ChassisUnresponsive", "message": "1 of 2 chassis answer."},
            "problem",
            ["The OVNCluster says of its chassis: 1 of 2 chassis answer."],
        ),
        ({"status": "False", "reason": "NoChassis", "message": "No chassis is registered."}, "none", []),
        ({}, "unknown", []),
    ],
    ids=["all answer", "one is silent", "none yet", "nobody looked"],
)
def test_databases_that_are_only_reachable_inside(condition: dict[str, str], line: str, problems: list[str]) -> None:
    conditions = [{"type": "ControllersReady", **condition}] if condition else []
    endpoints = {"southbound": "ssl:a:6642", "southbound_inside": "ssl:a:6642"}
    cluster = {"exists": True, "endpoints": endpoints, "cluster": {"status": {"conditions": conditions}}}
    answer = report({"plane": {**CLUSTER, "ovn_verify_cluster": cluster}}, central=["plane"], heartbeat={"msg": "x"})
    assert next(text for text in answer["lines"] if text.startswith("Chassis")).split()[1] == line
    assert [problem for problem in answer["problems"] if "chassis" in problem.split(":")[0]] == problems
    assert not [problem for problem in answer["problems"] if "heartbeat" in problem]
