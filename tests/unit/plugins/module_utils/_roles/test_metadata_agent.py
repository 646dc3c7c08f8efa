"""What the options of ovn_metadata_agent mean."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.metadata_agent import (
    desired_metadata_agent,
    southbound_problem,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.service_settings import service_files

GIVEN = {
    "host": "compute1",
    "directory": "/etc/neutron/x",
    "service": "neutron-ovn-metadata-agent",
    "openvswitch_database": "unix:/run/openvswitch/db.sock",
    "nova_host": "192.0.2.80",
}
SOUTHBOUND = ["ssl:192.0.2.1:6642"]


def test_the_agent_has_its_own_certificate_and_the_secret() -> None:
    desired = desired_metadata_agent(GIVEN, SOUTHBOUND, "s3cret")
    assert desired["problem"] == ""
    for line in (
        "nova_metadata_host = 192.0.2.80",
        "metadata_proxy_shared_secret = s3cret",
        "ovn_sb_connection = ssl:192.0.2.1:6642",
        "ovn_sb_private_key = /etc/neutron/x/chassis-key.pem",
        "ovn_sb_certificate = /etc/neutron/x/chassis-cert.pem",
        "ovn_sb_ca_cert = /etc/neutron/x/ca.pem",
        "ovsdb_connection = unix:/run/openvswitch/db.sock",
    ):
        assert f"\n{line}\n" in desired["config"]
    assert desired["service_units"] == [
        {"name": "neutron-ovn-metadata-agent.service", "enabled": True, "state": "started"}
    ]


def test_endpoint_that_cannot_work_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Use ssl:HOST:PORT, tcp:HOST:PORT"):
        desired_metadata_agent(GIVEN, ["ssl://192.0.2.1:6642"], "s")


def test_another_secret_restarts_it() -> None:
    configs = [desired_metadata_agent(GIVEN, SOUTHBOUND, secret)["config"] for secret in ("s3cret", "other")]
    first, second = (service_files(["x"], config, has_secret=True) for config in configs)
    assert first[0]["content"] != second[0]["content"]
    assert "s3cret" not in first[0]["content"]
    assert first == service_files(["x"], configs[0], has_secret=True)
    assert first != service_files(["x"], configs[0]), "the digest is as fast as that of settings without a secret"


def test_the_other_program_has_the_extension_and_replaces_the_first() -> None:
    given = {**GIVEN, "program": "neutron-ovn-agent", "service": "neutron-ovn-agent"}
    desired = desired_metadata_agent(given, SOUTHBOUND, "s")
    assert "\n[agent]\nextensions = metadata\n" in desired["config"]
    assert "\novsdb_connection = unix:/run/openvswitch/db.sock\n" in desired["config"]
    assert desired["left_units"] == [
        {"name": "neutron-ovn-metadata-agent.service", "enabled": False, "state": "stopped"}
    ]
    assert desired["service_units"] == [{"name": "neutron-ovn-agent.service", "enabled": True, "state": "started"}]
    assert desired["left_files"] == [
        {"path": "/etc/systemd/system/neutron-ovn-metadata-agent.service.d/50-c5c3-ovn.conf", "state": "absent"}
    ]
    assert desired["former_settings"] == ""


def test_the_way_back_ends_the_other_program_only_if_it_had_settings_of_ours() -> None:
    desired = desired_metadata_agent(GIVEN, SOUTHBOUND, "s")
    path = desired["former_settings"]
    assert path == "/etc/systemd/system/neutron-ovn-agent.service.d/50-c5c3-ovn.conf"
    assert (desired["left_units"], desired["left_files"]) == ([], [])

    desired = desired_metadata_agent({**GIVEN, "files_found": [path]}, SOUTHBOUND, "s")
    ended = {"name": "neutron-ovn-agent.service", "enabled": False, "state": "stopped"}
    assert (desired["left_units"], desired["left_files"]) == ([ended], [{"path": path, "state": "absent"}])


@pytest.mark.parametrize("suffix", ["", ".service"])
@pytest.mark.parametrize(
    ("program", "service"),
    [("neutron-ovn-agent", "neutron-ovn-metadata-agent"), ("neutron-ovn-metadata-agent", "neutron-ovn-agent")],
)
def test_a_unit_with_the_name_of_the_other_program_is_not_ended(program: str, service: str, suffix: str) -> None:
    given = {**GIVEN, "program": program, "service": service + suffix}
    desired = desired_metadata_agent(given, SOUTHBOUND, "s")
    assert desired["service_units"] == [{"name": f"{service}.service", "enabled": True, "state": "started"}]
    assert (desired["left_units"], desired["left_files"], desired["former_settings"]) == ([], [], "")


def test_in_check_mode_endpoints_may_follow() -> None:
    given = {**GIVEN, "endpoints_follow": True}
    desired = desired_metadata_agent(given, [], "s3cret")
    assert desired["problem"] == ""
    assert "\nmetadata_proxy_shared_secret = s3cret\n" in desired["config"]
    assert "nova_host is empty" in desired_metadata_agent({**given, "nova_host": ""}, [], "s3cret")["problem"]


@pytest.mark.parametrize("extensions", ["metadata,evpn", ["evpn", "metadata"]])
def test_more_extensions(extensions: t.Any) -> None:
    given = {**GIVEN, "program": "neutron-ovn-agent", "config": {"AGENT": {"extensions": extensions}}}
    text = extensions if isinstance(extensions, str) else ",".join(extensions)
    assert f"[agent]\nextensions = {text}\n" in desired_metadata_agent(given, SOUTHBOUND, "s")["config"]


@pytest.mark.parametrize("extensions", ["evpn", ""])
def test_what_would_not_answer_for_metadata_is_refused(extensions: str) -> None:
    given = {**GIVEN, "program": "neutron-ovn-agent", "config": {"agent": {"extensions": extensions}}}
    start = r"^ovn_metadata_agent_config sets extensions in \[agent\] to .*: neutron-ovn-agent"
    with pytest.raises(InvalidInput, match=rf"{start} would not answer for metadata\. Add metadata\.$"):
        desired_metadata_agent(given, SOUTHBOUND, "s")


def test_a_program_that_nobody_knows() -> None:
    with pytest.raises(InvalidInput, match=r"ovn_metadata_agent_program is neutron-x\. Use"):
        desired_metadata_agent({**GIVEN, "program": "neutron-x"}, SOUTHBOUND, "s")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"tables": {"Chassis_Private": [{"name": "compute1"}]}}, ""),
        (
            {"tables": {"Chassis_Private": []}},
            "has no chassis node7, whose row the agent needs. Run c5c3.ovn.hypervisors",
        ),
        (
            {"failed": True, "msg": "ssl:192.0.2.1:6642 refused."},
            "does not answer. ssl:192.0.2.1:6642 refused. Run c5c3",
        ),
        ({}, "cause unknown"),
    ],
)
def test_whether_the_southbound_is_of_use(answer: dict[str, t.Any], problem: str) -> None:
    found = southbound_problem(answer, "compute1", "node7")
    assert problem in found
    assert bool(found) is bool(problem)
    assert not found or found.endswith(". The settings of the agent were not changed.")
    found = southbound_problem(answer, "compute1", "node7", certificate_replaced=True)
    assert not found or found.endswith(". Its certificate was replaced. The settings of the agent were not changed.")


def test_without_tls_no_file_is_named() -> None:
    assert "ovn_sb_private_key" not in desired_metadata_agent({**GIVEN, "tls": False}, SOUTHBOUND, "s")["config"]


def test_more_options_are_taken_and_ours_refused() -> None:
    desired = desired_metadata_agent({**GIVEN, "config": {"agent": {"extensions": "metadata"}}}, SOUTHBOUND, "s")
    assert "[agent]\nextensions = metadata\n" in desired["config"]
    with pytest.raises(InvalidInput, match=r"ovn_metadata_agent_config sets ovsdb_connection in \[ovs\]"):
        desired_metadata_agent({**GIVEN, "config": {"ovs": {"ovsdb_connection": "x"}}}, SOUTHBOUND, "s")


@pytest.mark.parametrize(
    ("given", "southbound", "secret", "problem"),
    [
        ({"gateway": True}, SOUTHBOUND, "s", "compute1 is a gateway (group ovn_gateways) and gets no metadata agent"),
        ({"nova_host": ""}, SOUTHBOUND, "s", "ovn_metadata_agent_nova_host is empty"),
        ({}, SOUTHBOUND, "", "ovn_metadata_agent_shared_secret is empty"),
        ({"nova_host": ""}, SOUTHBOUND, "", "nova_host and ovn_metadata_agent_shared_secret are empty"),
        ({}, SOUTHBOUND, "two words", "ovn_metadata_agent_shared_secret has a space, a quotation mark"),
        ({}, SOUTHBOUND, "line\n", "several lines, which configuration files do not keep as they are. Give Nova"),
        ({}, [], "s", "no endpoint of the Southbound database is known"),
    ],
)
def test_who_can_have_no_agent_is_told_why(
    given: dict[str, t.Any], southbound: list[str], secret: str, problem: str
) -> None:
    found = desired_metadata_agent({**GIVEN, **given}, southbound, secret)["problem"]
    assert problem in found
    assert found.endswith(" Nothing was changed.")
