from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.settings import (
    OvnConnection,
    helm_overrides,
    may_have_secret,
    server_sections,
    with_defaults,
)

TLS = OvnConnection(
    ["ssl:192.0.2.1:6641", "ssl:192.0.2.2:6641"], ["ssl:192.0.2.1:16642"], "/t/key.pem", "/t/cert.pem", "/t/ca.pem"
)
PLAIN = OvnConnection(["tcp:192.0.2.1:6641"], ["tcp:192.0.2.1:16642"])


def test_both_databases_get_endpoints_and_files() -> None:
    assert TLS.options() == {
        "ovn_nb_connection": ["ssl:192.0.2.1:6641", "ssl:192.0.2.2:6641"],
        "ovn_nb_private_key": "/t/key.pem",
        "ovn_nb_certificate": "/t/cert.pem",
        "ovn_nb_ca_cert": "/t/ca.pem",
        "ovn_sb_connection": ["ssl:192.0.2.1:16642"],
        "ovn_sb_private_key": "/t/key.pem",
        "ovn_sb_certificate": "/t/cert.pem",
        "ovn_sb_ca_cert": "/t/ca.pem",
    }


def test_without_tls_no_file_is_named() -> None:
    assert set(PLAIN.options()) == {"ovn_nb_connection", "ovn_sb_connection"}


def test_through_a_proxy_there_are_attempts_without_a_pause_and_tls_goes_through() -> None:
    proxied = TLS.through_proxy("127.0.0.1:6641", "127.0.0.1:6642")
    assert proxied.northbound == ["ssl:127.0.0.1:6641"] * 20
    assert proxied.southbound == ["ssl:127.0.0.1:6642"] * 20
    assert proxied.private_key == TLS.private_key
    assert PLAIN.through_proxy("[::1]:1", "[::1]:2").northbound == ["tcp:[::1]:1"] * 20


def test_sections_of_users_replace_defaults_and_nothing_else() -> None:
    ours = server_sections(TLS, "off")
    extra = {
        "ovn": {"ovn_metadata_enabled": False, "enable_distributed_floating_ip": True, "dns_servers": ["192.0.2.53"]},
        "ml2": {"tenant_network_types": ["geneve", "vlan"], "extension_drivers": ["port_security", "qos"]},
        "ml2_type_flat": {"flat_networks": ["physnet1"]},
    }
    sections = with_defaults(ours, extra)
    assert sections["ovn"] == {
        **TLS.options(),
        "neutron_sync_mode": "off",
        "ovn_metadata_enabled": False,
        "enable_distributed_floating_ip": True,
        "ovn_l3_scheduler": "leastloaded",
        "ovsdb_connection_timeout": 60,
        "ovsdb_retry_max_interval": 5,
        "dns_servers": ["192.0.2.53"],
    }
    assert sections["ml2"] == {**ours["ml2"], **extra["ml2"]}
    assert sections["ml2_type_flat"] == {"flat_networks": ["physnet1"]}


def test_what_nobody_declares_is_left_to_the_rest_of_the_configuration() -> None:
    sections = with_defaults(server_sections(PLAIN, "log"), {})
    assert "service_plugins" not in sections["DEFAULT"]
    assert "ml2_type_flat" not in sections
    assert "ml2_type_vlan" not in sections
    assert "dns_servers" not in sections["ovn"]
    assert sections["ovn"]["neutron_sync_mode"] == "log"
    # Else Neutron puts no port into the groups that keep others out.
    assert sections["ml2"]["extension_drivers"] == ["port_security"]


@pytest.mark.parametrize(
    ("extra", "secret"),
    [
        ({}, False),
        ({"ovn": {"dns_servers": ["192.0.2.53"], "ovn_metadata_enabled": False}}, False),
        ({"DEFAULT": {"service_plugins": "ovn-router"}, "ml2_type_vlan": {"network_vlan_ranges": "p:1:2"}}, False),
        ({"DEFAULT": {"transport_url": "rabbit://neutron:1234@192.0.2.9"}}, True),
        ({"ml2_type_flat": {"dns_servers": "x"}}, True),
    ],
)
def test_an_option_that_nobody_knows_may_be_a_secret(extra: dict[str, dict[str, t.Any]], secret: bool) -> None:
    assert may_have_secret(extra) is secret


SECTIONS = {
    "DEFAULT": {"core_plugin": "ml2"},
    "ovn": {"ovn_nb_connection": ["ssl:192.0.2.1:6641", "ssl:192.0.2.2:6641"], "ovn_metadata_enabled": True},
}


def test_sections_go_where_the_chart_has_their_file() -> None:
    assert helm_overrides(SECTIONS) == {
        "network": {"backend": ["ovn"]},
        "conf": {
            "neutron": {"DEFAULT": {"core_plugin": "ml2"}},
            "plugins": {
                "ml2_conf": {
                    "ovn": {
                        "ovn_nb_connection": "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641",
                        "ovn_metadata_enabled": True,
                    }
                }
            },
        },
        "manifests": {"daemonset_ovn_metadata_agent": False, "daemonset_ovn_agent": False},
    }


def test_values_become_what_the_file_would_have() -> None:
    values = helm_overrides({"x": {"ports": [1, 2], "map": {"a": 1}, "n": 1000000, "on": True}})["conf"]["plugins"][
        "ml2_conf"
    ]["x"]
    assert values == {"ports": "1,2", "map": "a:1", "n": "1000000", "on": True}


def test_a_dollar_means_itself_as_in_the_file() -> None:
    """oslo.config reads the chart's file, too."""
    assert helm_overrides({"x": {"a": "b$c"}})["conf"]["plugins"]["ml2_conf"]["x"] == {"a": "b$$c"}


def test_with_tls_the_secret_is_mounted_where_the_files_are_named() -> None:
    mounts = helm_overrides(SECTIONS, secret="ovn-client-neutron", directory="/etc/neutron/ovn")["pod"]["mounts"]
    server = mounts["neutron_server"]["neutron_server"]
    assert server["volumes"][0]["secret"]["secretName"] == "ovn-client-neutron"
    assert server["volumeMounts"][0]["mountPath"] == "/etc/neutron/ovn"
    assert server["volumes"][0]["name"] == server["volumeMounts"][0]["name"]
    assert set(mounts) == {"neutron_server", "neutron_rpc_server"}


def test_pods_of_the_chart_can_read_the_key() -> None:
    """They run as 42424 without a group of the pod, and files of a Secret are root's."""
    pod = helm_overrides(SECTIONS, secret="s", directory="/d")["pod"]
    for name in ("neutron_server", "neutron_rpc_server"):
        (volume,) = pod["mounts"][name][name]["volumes"]
        assert volume["secret"]["defaultMode"] == 0o440
        assert pod["security_context"][name] == {"pod": {"fsGroup": 42424}}


def test_the_volume_is_the_one_that_genestack_patches() -> None:
    """Kustomize would make one without the name of a Secret otherwise, which the API server refuses."""
    server = helm_overrides(SECTIONS, secret="s", directory="/d")["pod"]["mounts"]["neutron_server"]["neutron_server"]
    assert server["volumes"][0]["name"] == server["volumeMounts"][0]["name"] == "ovn-tls"


def test_agents_of_compute_nodes_are_off() -> None:
    for overrides in (helm_overrides(SECTIONS), helm_overrides(SECTIONS, secret="s", directory="/d")):
        assert overrides["manifests"] == {"daemonset_ovn_metadata_agent": False, "daemonset_ovn_agent": False}
