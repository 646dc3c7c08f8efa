from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.metadata_agent import (
    METADATA_AGENT,
    OVN_AGENT,
    extension_settings,
    extensions_problem,
    metadata_agent_settings,
)


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
