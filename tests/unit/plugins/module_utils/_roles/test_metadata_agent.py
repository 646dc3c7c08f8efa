"""What the options of ovn_metadata_agent mean."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.metadata_agent import (
    AgentHost,
    DesiredMetadataAgent,
    MetadataAgentOptions,
    desired_metadata_agent,
    is_certificate_due,
    southbound_problem,
    unit_problem,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron_proxy import service_files

OPTIONS = MetadataAgentOptions(
    tls=True,
    system_id=None,
    southbound_endpoints=None,
    neutron_group="neutron",
    program="neutron-ovn-metadata-agent",
    service=None,
    config_file=None,
    nova_host="192.0.2.80",
    shared_secret="s3cret",
    config={},
)
SOUTHBOUND = ["ssl:192.0.2.1:6642"]
HOST = AgentHost(name="compute1", southbound=SOUTHBOUND)


def desired(host: AgentHost = HOST, files_found: t.Sequence[str] = (), **options: t.Any) -> DesiredMetadataAgent:
    return desired_metadata_agent(dataclasses.replace(OPTIONS, **options), host, files_found)


def test_the_agent_has_its_own_certificate_and_the_secret() -> None:
    agent = desired(config_file="/etc/x/agent.ini")
    assert agent.problems == []
    for line in (
        "nova_metadata_host = 192.0.2.80",
        "metadata_proxy_shared_secret = s3cret",
        "ovn_sb_connection = ssl:192.0.2.1:6642",
        "ovn_sb_private_key = /etc/x/ovn-metadata-agent/chassis-key.pem",
        "ovn_sb_certificate = /etc/x/ovn-metadata-agent/chassis-cert.pem",
        "ovn_sb_ca_cert = /etc/x/ovn-metadata-agent/ca.pem",
        "ovsdb_connection = unix:/run/openvswitch/db.sock",
    ):
        assert f"\n{line}\n" in agent.config
    assert agent.service_units == [{"name": "neutron-ovn-metadata-agent.service", "enabled": True, "state": "started"}]
    assert "s3cret" not in repr(agent)


@pytest.mark.parametrize("program", ["neutron-ovn-metadata-agent", "neutron-ovn-agent"])
def test_file_and_certificate_have_their_usual_places(program: str) -> None:
    agent = desired(program=program)
    assert agent.config_file == f"/etc/neutron/{program.replace('-', '_')}.ini"
    assert agent.directory == "/etc/neutron/ovn-metadata-agent"


def test_port_and_protocol_of_nova_are_options_of_the_agent() -> None:
    assert "nova_metadata_port" not in desired().config
    given = {"DEFAULT": {"nova_metadata_port": 8776, "nova_metadata_protocol": "https"}}
    agent = desired(config=given)
    assert (agent.problems, "\nnova_metadata_port = 8776\n" in agent.config) == ([], True)


def test_endpoint_that_cannot_work_is_refused() -> None:
    (problem,) = desired(dataclasses.replace(HOST, southbound=["ssl://192.0.2.1:6642"])).problems
    assert "Use ssl:HOST:PORT, tcp:HOST:PORT" in problem


def test_another_secret_restarts_it() -> None:
    configs = [desired(shared_secret=secret).config for secret in ("s3cret", "other")]
    first, second = (service_files(["x"], config, has_secret=True) for config in configs)
    assert first[0]["content"] != second[0]["content"]
    assert "s3cret" not in first[0]["content"]
    assert first == service_files(["x"], configs[0], has_secret=True)
    assert first != service_files(["x"], configs[0]), "the digest is as fast as that of settings without a secret"


def test_the_other_program_has_the_extension_and_replaces_the_first() -> None:
    agent = desired(program="neutron-ovn-agent")
    assert "\n[agent]\nextensions = metadata\n" in agent.config
    assert "\novsdb_connection = unix:/run/openvswitch/db.sock\n" in agent.config
    assert agent.left_units == [{"name": "neutron-ovn-metadata-agent.service", "enabled": False, "state": "stopped"}]
    assert agent.service_units == [{"name": "neutron-ovn-agent.service", "enabled": True, "state": "started"}]
    assert agent.left_files == [
        {"path": "/etc/systemd/system/neutron-ovn-metadata-agent.service.d/50-c5c3-ovn.conf", "state": "absent"}
    ]
    assert agent.former_settings == ""


def test_the_way_back_ends_the_other_program_only_if_it_had_settings_of_ours() -> None:
    agent = desired()
    path = agent.former_settings
    assert path == "/etc/systemd/system/neutron-ovn-agent.service.d/50-c5c3-ovn.conf"
    assert (agent.left_units, agent.left_files) == ([], [])

    agent = desired(files_found=[path])
    ended = {"name": "neutron-ovn-agent.service", "enabled": False, "state": "stopped"}
    assert (agent.left_units, agent.left_files) == ([ended], [{"path": path, "state": "absent"}])


@pytest.mark.parametrize("suffix", ["", ".service"])
@pytest.mark.parametrize(
    ("program", "service"),
    [("neutron-ovn-agent", "neutron-ovn-metadata-agent"), ("neutron-ovn-metadata-agent", "neutron-ovn-agent")],
)
def test_a_unit_with_the_name_of_the_other_program_is_not_ended(program: str, service: str, suffix: str) -> None:
    agent = desired(program=program, service=service + suffix)
    assert agent.service_units == [{"name": f"{service}.service", "enabled": True, "state": "started"}]
    assert (agent.left_units, agent.left_files, agent.former_settings) == ([], [], "")


def test_in_check_mode_endpoints_may_follow() -> None:
    agent = desired(AgentHost(name="compute1", endpoints_follow=True))
    assert agent.problems == []
    assert "\nmetadata_proxy_shared_secret = s3cret\n" in agent.config


@pytest.mark.parametrize("extensions", ["metadata,evpn", ["evpn", "metadata"]])
def test_more_extensions(extensions: t.Any) -> None:
    text = extensions if isinstance(extensions, str) else ",".join(extensions)
    agent = desired(program="neutron-ovn-agent", config={"AGENT": {"extensions": extensions}})
    assert f"[agent]\nextensions = {text}\n" in agent.config


@pytest.mark.parametrize("extensions", ["evpn", ""])
def test_what_would_not_answer_for_metadata_is_refused(extensions: str) -> None:
    (problem,) = desired(program="neutron-ovn-agent", config={"agent": {"extensions": extensions}}).problems
    assert "ovn_metadata_agent_config sets extensions in [agent] to" in problem
    assert "neutron-ovn-agent would not answer for metadata. Add metadata." in problem


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
    assert "ovn_sb_private_key" not in desired(tls=False).config


def test_more_options_are_taken_and_ours_refused() -> None:
    agent = desired(config={"agent": {"extensions": "metadata"}})
    assert "[agent]\nextensions = metadata\n" in agent.config
    (problem,) = desired(config={"ovs": {"ovsdb_connection": "x"}}).problems
    assert "ovn_metadata_agent_config sets ovsdb_connection in [ovs]" in problem


@pytest.mark.parametrize(
    ("host", "options", "expected"),
    [
        ({"gateway": True}, {}, "compute1 is a gateway (group ovn_gateways) and gets no metadata agent"),
        ({}, {"shared_secret": "two words"}, "ovn_metadata_agent_shared_secret has a space, a quotation mark"),
        (
            {},
            {"shared_secret": "line\n"},
            "several lines, which configuration files do not keep as they are. Give Nova",
        ),
        ({"southbound": []}, {}, "no endpoint of the Southbound database is known"),
    ],
)
def test_who_can_have_no_agent_is_told_why(host: dict[str, t.Any], options: dict[str, t.Any], expected: str) -> None:
    (problem,) = desired(dataclasses.replace(HOST, **host), **options).problems
    assert expected in problem
    assert problem.endswith(" Nothing was changed.")


def test_all_problems_are_in_one_list() -> None:
    host = AgentHost(name="compute1", gateway=True)
    assert len(desired(host, shared_secret="a b", config={"ovs": {"ovsdb_connection": "x"}}).problems) == 4


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        ({"not_loaded": {}}, ""),
        ({"not_loaded": {"a.service": "masked"}}, "systemd cannot start its unit a.service (LoadState=masked)"),
        ({"failed": True, "msg": "systemctl show failed."}, "compute1 gets no metadata agent: systemctl show failed."),
    ],
)
def test_unit_that_systemd_cannot_start_is_a_problem(predicted: dict[str, t.Any], expected: str) -> None:
    problem = unit_problem("compute1", "neutron-ovn-agent", "a.service", predicted)
    assert expected in problem
    assert bool(problem) is bool(expected)


@pytest.mark.parametrize(
    ("tls", "declared", "certificates", "due"),
    [
        (False, {}, [], False),
        (True, {}, [], True),
        (True, {"due": True}, [{"changed": False}], True),
        (True, {"due": False}, [{"changed": False}], False),
        (True, {"due": False}, [{"changed": True}], True),
        (True, {"due": False}, [{"failed": True}], True),
    ],
)
def test_whether_the_certificate_is_due(
    tls: bool, declared: dict[str, t.Any], certificates: list[dict[str, t.Any]], due: bool
) -> None:
    assert is_certificate_due(dataclasses.replace(OPTIONS, tls=tls), declared, certificates) is due
