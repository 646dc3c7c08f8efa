"""The specification of a control plane in Kubernetes, from options of the role."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.c5c3.ovn.plugins.filter.central_cluster import central_cluster

HOSTVARS = {"k1": {"ovn_backend": "kubernetes"}, "k2": {"ovn_backend": "kubernetes"}}
GROUPS = {"ovn_central": ["k1"], "ovn_hypervisors": ["k2"]}


def test_specification_and_problem() -> None:
    fits = central_cluster({"members": ["k1"], "replicas": "1"}, "k1", HOSTVARS, GROUPS)
    assert fits["spec"]["northbound"]["replicas"] == 1
    assert fits["problem"] == ""
    assert fits["pod_security"] == "privileged"
    alone = central_cluster({"members": ["k1"]}, "k1", HOSTVARS, {"ovn_central": ["k1"]})
    assert alone["pod_security"] == "restricted"
    assert "exactly one host" in central_cluster({"members": ["k1", "k2"]}, "k1", HOSTVARS, GROUPS)["problem"]


@pytest.mark.parametrize(
    ("variables", "given", "key"),
    [
        pytest.param({}, {}, "client-ca.crt", id="ovn_pki makes the Secret"),
        pytest.param({"ovn_tls_secret": "a"}, {"tls_secret": "a"}, "client-ca.crt", id="with a name"),
        pytest.param({"ovn_pki_kubernetes_secret_given": True}, {}, None, id="another owner makes it"),
        pytest.param({"ovn_cluster_spec": {"tls": {"certSecretRef": {"name": "a"}}}}, {}, None, id="a named one"),
        pytest.param(
            {},
            {"spec": {"tls": {"southboundClientCaConfigMapRef": {"name": "a"}}}},
            None,
            id="a ConfigMap in its place",
        ),
        pytest.param({"ovn_tls": False}, {"tls": False}, None, id="no TLS"),
        pytest.param(
            {"ovn_pki_kubernetes_secret_given": True},
            {"spec": {"tls": {"southboundClientCaKey": "all.crt"}}},
            "all.crt",
            id="another owner makes one with such a key",
        ),
    ],
)
def test_only_a_secret_of_ours_has_a_bundle_of_clients(
    variables: dict[str, t.Any], given: dict[str, t.Any], key: str | None
) -> None:
    hostvars = {**HOSTVARS, "k1": {**HOSTVARS["k1"], **variables}}
    spec = central_cluster({"members": ["k1"], **given}, "k1", hostvars, GROUPS)["spec"]
    assert spec["tls"].get("southboundClientCaKey") == key


MACHINES = {
    "h1": {},
    "h2": {"ovn_system_id": "chassis2", "ovn_hypervisor_certificate": "/c.pem"},
    "h3": {"ovn_hypervisor_state": "absent"},
}


def test_certificates_to_look_at_before_chassis_get_a_role() -> None:
    hostvars = {**HOSTVARS, **MACHINES}
    groups = {"ovn_central": ["k1"], "ovn_hypervisors": list(MACHINES)}
    found = central_cluster({"members": ["k1"]}, "k1", hostvars, groups)["chassis_certificates"]
    assert [(one["host"], one["system_id"], one["certificate"]) for one in found] == [
        ("h1", "h1", "/etc/ovn/tls/chassis-cert.pem"),
        ("h2", "chassis2", "/c.pem"),
    ]
    shared = {**groups, "ovn_hypervisors": [*MACHINES, "k2"]}
    hostvars["k2"] = {**hostvars["k2"], "ovn_node_certificates": "shared"}
    assert central_cluster({"members": ["k1"]}, "k1", hostvars, shared)["chassis_certificates"] == []
    without = {"members": ["k1"], "southbound_rbac": False}
    assert central_cluster(without, "k1", hostvars, groups)["chassis_certificates"] == []


def test_what_is_wrong_fails_the_task() -> None:
    with pytest.raises(AnsibleFilterError, match='ovn_central_replicas is "three"'):
        central_cluster({"members": ["k1"], "replicas": "three"}, "k1", HOSTVARS, GROUPS)
