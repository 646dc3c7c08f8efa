from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.metadata_agent import (
    METADATA_AGENT,
    OVN_AGENT,
    NovaMetadataAddress,
    container_settings,
    extension_settings,
    extensions_problem,
    is_ours,
    metadata_agent_settings,
)

NOVA = NovaMetadataAddress("nova.example.com", 8775, "https")


def settings(*tls: str | None, **more: t.Any) -> dict[str, dict[str, t.Any]]:
    given = {
        "program": "neutron-ovn-metadata-agent",
        "open_vswitch": "unix:/run/openvswitch/db.sock",
        "state_path": "/run/agent",
        "workers": None,
        **more,
    }
    return container_settings(["ssl:192.0.2.11:6642"], tls or (None, None, None), NOVA, **given)


def test_what_a_container_needs_beside_what_machines_need() -> None:
    found = settings("/tls/tls.key", "/tls/tls.crt", "/tls/ca.crt", workers=2)
    assert found["DEFAULT"] == {
        "nova_metadata_host": "nova.example.com",
        "nova_metadata_port": 8775,
        "nova_metadata_protocol": "https",
        "metadata_workers": 2,
        "state_path": "/run/agent",
    }
    # The default is sudo, which images lack; the empty text would mean sudo, too (oslo_privsep/priv_context.py:init).
    assert found["agent"] == {"root_helper": "env"}
    assert found["oslo_concurrency"] == {"lock_path": "/run/agent/lock"}
    assert found["ovn"]["ovn_sb_private_key"] == "/tls/tls.key"
    assert found["ovs"] == {"ovsdb_connection": "unix:/run/openvswitch/db.sock"}


def test_the_other_program_has_its_extension_beside_them() -> None:
    found = settings(program="neutron-ovn-agent")
    assert found["agent"] == {"root_helper": "env", "extensions": ["metadata"]}
    assert {**found, "agent": settings()["agent"]} == settings()


def test_without_tls_no_files_are_named() -> None:
    assert settings()["ovn"] == {"ovn_sb_connection": ["ssl:192.0.2.11:6642"]}


@pytest.mark.parametrize(
    ("section", "option", "ours"),
    [
        ("DEFAULT", "nova_metadata_host", True),
        ("DEFAULT", "nova-metadata-host", True),
        ("DEFAULT", "metadata_workers", True),
        ("DEFAULT", "metadata_proxy_shared_secret", True),
        ("DEFAULT", "metadata_proxy_socket", True),
        ("AGENT", "root_helper", True),
        ("agent", "extensions", False),
        ("OVN", "ovn_sb_ca_cert", True),
        ("DEFAULT", "debug", False),
        ("ovs", "ovsdb_connection_timeout", False),
        ("default", "nova_metadata_host", False),  # another section than DEFAULT
        ("metadata_rate_limiting", "rate_limit_enabled", False),
    ],
)
def test_which_options_are_ours(section: str, option: str, ours: bool) -> None:
    assert is_ours(section, option) is ours


def test_the_agent_knows_nova_its_switch_and_the_southbound() -> None:
    assert metadata_agent_settings(
        southbound=["ssl:192.0.2.1:6642"],
        open_vswitch="unix:/run/openvswitch/db.sock",
        nova_host="192.0.2.80",
        nova_port=8776,
        nova_protocol="https",
        shared_secret="s3cret",
        private_key="/k",
        certificate="/c",
        ca_certificate="/ca",
        workers=0,
    ) == {
        "DEFAULT": {
            "nova_metadata_host": "192.0.2.80",
            "nova_metadata_port": 8776,
            "nova_metadata_protocol": "https",
            "metadata_proxy_shared_secret": "s3cret",
            "metadata_workers": 0,
        },
        "ovs": {"ovsdb_connection": "unix:/run/openvswitch/db.sock"},
        "ovn": {
            "ovn_sb_connection": ["ssl:192.0.2.1:6642"],
            "ovn_sb_private_key": "/k",
            "ovn_sb_certificate": "/c",
            "ovn_sb_ca_cert": "/ca",
        },
    }


def test_what_is_not_given_is_left_out() -> None:
    sections = metadata_agent_settings(southbound=["tcp:192.0.2.1:6642"], open_vswitch="unix:/x", nova_host="nova")
    assert set(sections["DEFAULT"]) == {"nova_metadata_host"}
    assert set(sections["ovn"]) == {"ovn_sb_connection"}


def test_one_program_answers_by_an_extension() -> None:
    assert extension_settings(OVN_AGENT) == {"agent": {"extensions": ["metadata"]}}
    assert extension_settings(METADATA_AGENT) == {}


@pytest.mark.parametrize(
    ("program", "extra", "start"),
    [
        (OVN_AGENT, {}, ""),
        (OVN_AGENT, {"agent": {"root_helper": "env"}}, ""),
        (OVN_AGENT, {"agent": {"extensions": "metadata"}}, ""),
        (OVN_AGENT, {"agent": {"extensions": " ovn-bgp , metadata"}}, ""),
        (OVN_AGENT, {"agent": {"extensions": ["ovn-bgp", "metadata"]}}, ""),
        (OVN_AGENT, {"agent": {"extensions": "ovn-bgp"}}, "sets extensions in [agent] to ovn-bgp: neutron-ovn-agent"),
        (OVN_AGENT, {"AGENT": {"extensions": "ovn-bgp"}}, "sets extensions in [agent] to ovn-bgp: neutron-ovn-agent"),
        (OVN_AGENT, {"agent": {"extensions": ["a", "b"]}}, "sets extensions in [agent] to a, b: neutron-ovn-agent"),
        (OVN_AGENT, {"agent": {"extensions": "metadata2"}}, "sets extensions in [agent] to metadata2:"),
        (OVN_AGENT, {"agent": {"extensions": ""}}, "sets extensions in [agent] to nothing: neutron-ovn-agent"),
        (OVN_AGENT, {"agent": {"extensions": []}}, "sets extensions in [agent] to nothing: neutron-ovn-agent"),
        (METADATA_AGENT, {"agent": {"extensions": "ovn-bgp"}}, ""),
    ],
)
def test_what_would_not_answer(program: str, extra: dict[str, t.Any], start: str) -> None:
    problem = extensions_problem(program, extra)
    assert problem.startswith(start)
    assert bool(problem) is bool(start)


def test_extensions_without_a_value() -> None:
    with pytest.raises(InvalidInput, match=r"extensions in \[agent\] is None"):
        extensions_problem(OVN_AGENT, {"agent": {"extensions": None}})
