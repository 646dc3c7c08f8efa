from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.metadata_agent import metadata_agent_settings


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
    assert set(sections["DEFAULT"]) == {"nova_metadata_host", "nova_metadata_port", "nova_metadata_protocol"}
    assert set(sections["ovn"]) == {"ovn_sb_connection"}
