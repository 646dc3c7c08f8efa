from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._neutron.helm import helm_overrides

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
    }


def test_numbers_and_dictionaries_become_what_the_file_would_have() -> None:
    values = helm_overrides({"x": {"ports": [1, 2], "map": {"a": 1}, "n": 3}})["conf"]["plugins"]["ml2_conf"]["x"]
    assert values == {"ports": "1,2", "map": "a:1", "n": 3}


def test_with_tls_the_secret_is_mounted_where_the_files_are_named() -> None:
    mounts = helm_overrides(SECTIONS, secret="ovn-client-neutron", directory="/etc/neutron/ovn")["pod"]["mounts"]
    server = mounts["neutron_server"]["neutron_server"]
    assert server["volumes"][0]["secret"]["secretName"] == "ovn-client-neutron"
    assert server["volumeMounts"][0]["mountPath"] == "/etc/neutron/ovn"
    assert server["volumes"][0]["name"] == server["volumeMounts"][0]["name"]
    assert set(mounts) == {"neutron_server", "neutron_rpc_server", "neutron_ovn_db_sync"}
