"""What the options of ovn_metadata_agent mean."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.metadata_agent import desired_metadata_agent

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
    assert desired["service_units"] == [{"name": "neutron-ovn-metadata-agent.service", "state": "started"}]


def test_another_secret_restarts_it() -> None:
    first, second = (desired_metadata_agent(GIVEN, SOUTHBOUND, secret)["service_files"] for secret in ("a", "b"))
    assert first != second
    assert "a" not in first[0]["content"].partition("OVN_SETTINGS=")[0].split()


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
        ({}, [], "s", "no endpoint of the Southbound database is known"),
    ],
)
def test_who_can_have_no_agent_is_told_why(
    given: dict[str, t.Any], southbound: list[str], secret: str, problem: str
) -> None:
    found = desired_metadata_agent({**GIVEN, **given}, southbound, secret)["problem"]
    assert problem in found
    assert found.endswith(" Nothing was changed.")
