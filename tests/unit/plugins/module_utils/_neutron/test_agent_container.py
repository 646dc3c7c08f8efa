from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.agent_container import (
    NovaMetadataAddress,
    container_settings,
    is_ours,
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
