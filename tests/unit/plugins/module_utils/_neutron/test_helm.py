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
