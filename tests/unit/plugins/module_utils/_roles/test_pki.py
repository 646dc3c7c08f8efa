"""Certificates and Secrets of the hosts of an inventory: machines, clusters, both."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles import pki

Vars = dict[str, t.Any]
GROUPS = {"ovn_central": ["plane"], "ovn_hypervisors": ["rack1", "rack2", "h1"]}
CLUSTER: Vars = {"ovn_backend": "kubernetes"}
SHARED: Vars = {"ovn_node_certificates": "shared"}


def named(name: str) -> Vars:
    return {"tls": {"certSecretRef": {"name": name}}}


def hostvars(**hosts: Vars) -> dict[str, Vars]:
    return {"plane": CLUSTER, "rack1": CLUSTER, "rack2": {**CLUSTER, "ovn_namespace": "b"}, "h1": {}, **hosts}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, "ovn-tls", id="nothing said"),
        pytest.param({"ovn_cluster_name": "x"}, "x-tls", id="name of the cluster"),
        pytest.param({"ovn_tls_secret": "s"}, "s", id="shared variable"),
        pytest.param({"ovn_tls_secret": ""}, "ovn-tls", id="an empty one is absent"),
        pytest.param({"ovn_tls_secret": "s", "ovn_cluster_spec": named("c")}, "c", id="specification"),
        pytest.param({"ovn_cluster_spec": named(""), "ovn_tls_secret": "s"}, "s", id="an empty name"),
        pytest.param({"ovn_cluster_spec": {"tls": None}}, "ovn-tls", id="null"),
    ],
)
def test_name_of_the_secret(variables: Vars, expected: str) -> None:
    assert pki.secret_of(variables).name == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ("", "", "ovn-system")),
        ({"ovn_kubeconfig": "/k", "ovn_context": "c", "ovn_namespace": "n"}, ("/k", "c", "n")),
        (
            {"ovn_kubeconfig": {"apiVersion": "v1"}},
            ({"apiVersion": "v1"}, "", "ovn-system"),
        ),
        ({"ovn_namespace": "n"}, ("", "", "n")),
    ],
)
def test_way_to_the_secret(variables: Vars, expected: tuple[t.Any, ...]) -> None:
    secret = pki.secret_of(variables)
    assert (secret.kubeconfig, secret.context, secret.namespace) == expected


def test_given_secrets_are_not_ours() -> None:
    hosts = hostvars(
        plane={**CLUSTER, "ovn_cluster_spec": named("a")}, rack1={**CLUSTER, "ovn_pki_kubernetes_secret_given": "yes"}
    )
    assert pki.hosts_with_own_secret(["plane", "rack1", "rack2", "h1"], hosts, GROUPS) == ["rack2"]
    hosts["rack2"] = {**CLUSTER, "ovn_cluster_spec": {"tls": {"certificates": "operator"}}}
    assert pki.hosts_with_own_secret(["rack2"], hosts, GROUPS) == []
    hosts["plane"] = {**hosts["plane"], "ovn_pki_kubernetes_secret_given": False}
    assert pki.hosts_with_own_secret(["plane"], hosts, GROUPS) == ["plane"]


def test_a_secret_that_the_control_plane_has_as_well_is_made_there() -> None:
    """Also when the same cluster has another name among the hypervisors."""
    hosts = hostvars()
    assert pki.hosts_with_own_secret(["plane", "rack1", "rack2"], hosts, GROUPS) == ["plane", "rack2"]
    hosts["rack1"] = {**CLUSTER, "ovn_tls_secret": "another"}
    assert pki.hosts_with_own_secret(["plane", "rack1", "rack2"], hosts, GROUPS) == ["plane", "rack1", "rack2"]
    assert pki.hosts_with_own_secret(["plane"], hosts, {**GROUPS, "ovn_hypervisors": ["plane"]}) == ["plane"]


class TestDesired:
    def test_a_machine(self) -> None:
        hosts = {"c1": {"ovn_address": "192.0.2.1"}}
        given = {"ovn_pki_certificate": "central", "ovn_system_id": "sys", "ovn_pki_directory": "/d"}
        desired = pki.desired_state(given, hosts, {}, "c1")
        assert desired["pair"]["common_name"] == "c1"
        assert desired["pair"]["subject_alt_names"] == ["c1", "192.0.2.1"]
        assert {name: value for name, value in desired["pair"].items() if str(value).startswith("/")} == {
            "private_key": "/d/central-key.pem",
            "certificate": "/d/central-cert.pem",
            "ca_certificate": "/d/ca.pem",
            "client_ca_certificate": "/d/relay-ca.pem",
        }
        assert desired["pair"]["extended_key_usage"] == ["serverAuth", "clientAuth"]

    def test_a_chassis_has_the_name_that_rbac_checks(self) -> None:
        desired = pki.desired_state({"ovn_system_id": "sys"}, hostvars(), GROUPS, "h1")
        assert (desired["certificate"], desired["pair"]["common_name"]) == ("chassis", "sys")
        assert desired["pair"]["extended_key_usage"] == ["clientAuth"]
        assert "client_ca_certificate" not in desired["pair"]
        assert pki.desired_state({"ovn_system_id": ""}, hostvars(), GROUPS, "h1")["pair"]["common_name"] == "h1"

    def test_options_of_the_user_count(self) -> None:
        given = {"ovn_pki_common_name": "cn", "ovn_pki_subject_alt_names": ["x"]}
        desired = pki.desired_state(given, hostvars(), GROUPS, "h1")
        assert (desired["pair"]["common_name"], desired["pair"]["subject_alt_names"]) == ("cn", ["x"])
        given["ovn_pki_subject_alt_names"] = []
        assert pki.desired_state(given, hostvars(), GROUPS, "h1")["pair"]["subject_alt_names"] == []

    def test_names_of_a_control_plane(self) -> None:
        spec = {
            "neutronIntegration": {"sbConnection": {"service": {"name": "south"}}, "nbConnection": {}},
            "northbound": {"service": {"hostnames": ["db-0.example.com", "db-1.example.com"]}},
            "southbound": {"service": {"hostnames": ["db-0.example.com"]}},
        }
        given = {**CLUSTER, "ovn_cluster_name": "o", "ovn_namespace": "n", "ovn_cluster_spec": spec}
        desired = pki.desired_state(given, hostvars(), GROUPS, "plane")
        assert desired["pair"]["subject_alt_names"] == [
            "plane",
            "*.o-northbound.n.svc",
            "*.o-northbound.n.svc.cluster.local",
            "*.o-southbound.n.svc",
            "*.o-southbound.n.svc.cluster.local",
            "ovn-nb.n.svc",
            "ovn-nb.n.svc.cluster.local",
            "south.n.svc",
            "south.n.svc.cluster.local",
            "db-0.example.com",
            "db-1.example.com",
        ]
        assert desired["secret"]["place"] == "Secret n/o-tls of plane"
        assert desired["secret"]["client_ca_key"] == "client-ca.crt"
        assert desired["central_backend"] == "kubernetes"

    def test_a_hypervisor_cluster_has_its_own_name(self) -> None:
        desired = pki.desired_state(CLUSTER, hostvars(), GROUPS, "rack1")
        assert desired["pair"]["subject_alt_names"] == ["rack1"]
        assert desired["pair"]["extended_key_usage"] == ["clientAuth"]
        assert desired["secret"]["client_ca_key"] == ""

    def test_the_configmap_with_the_cas_that_pods_trust(self) -> None:
        spec = {"tls": {"caConfigMapRef": {"name": "trusted"}}}
        for host in ("plane", "rack1"):
            desired = pki.desired_state({**CLUSTER, "ovn_cluster_spec": spec}, hostvars(), GROUPS, host)
            assert desired["secret"]["ca_config_map"] == "trusted"
        assert pki.desired_state(CLUSTER, hostvars(), GROUPS, "plane")["secret"]["ca_config_map"] == ""

    @pytest.mark.parametrize(
        ("given", "renew", "remove"),
        [
            ({}, True, False),
            ({"ovn_pki_ca_rotation": "prepare"}, False, False),
            ({"ovn_pki_ca_rotation": "switch"}, True, False),
            ({"ovn_pki_ca_rotation": "finish"}, True, True),
            ({"ovn_pki_ca_rotation": "lost_key"}, False, False),
            ({"ovn_pki_ca_rotation": ""}, True, False),
        ],
    )
    def test_what_may_change(self, given: Vars, renew: bool, remove: bool) -> None:
        desired = pki.desired_state(given, hostvars(), GROUPS, "h1")
        assert (desired["pair"]["renew_on_issuer_change"], desired["pair"]["remove_authorities"]) == (renew, remove)


@pytest.mark.parametrize(
    ("central", "expected"),
    [
        pytest.param({"c1": {}, "c2": {"ovn_tls": "", "ovn_southbound_rbac": None}}, True, id="the default"),
        pytest.param({}, False, id="in another inventory"),
        pytest.param({"c1": {"ovn_southbound_rbac": "no"}}, False, id="no role"),
        pytest.param({"c1": {}, "c2": {"ovn_tls": False}}, False, id="no TLS"),
        pytest.param({"c1": CLUSTER}, True, id="in Kubernetes"),
        pytest.param(
            {"c1": CLUSTER, "rack1": {**CLUSTER, **SHARED}},
            False,
            id="in Kubernetes, with nodes that share a certificate",
        ),
    ],
)
def test_where_chassis_connect(central: dict[str, Vars], expected: bool) -> None:
    assert pki.chassis_have_role({**hostvars(), **central}, {**GROUPS, "ovn_central": list(central)}) is expected


@pytest.mark.parametrize(
    ("rack", "share"),
    [
        pytest.param(CLUSTER, False, id="a hypervisor cluster"),
        pytest.param({**CLUSTER, **SHARED}, True, id="nodes that share a certificate"),
        pytest.param({**CLUSTER, **SHARED, "ovn_hypervisor_state": "absent"}, False, id="one that is removed"),
        pytest.param({**CLUSTER, **SHARED, "ovn_hypervisor_state": "gone"}, False, id="one that is gone"),
        pytest.param({**CLUSTER, **SHARED, "ovn_tls": False}, False, id="one without TLS"),
        pytest.param(
            {**CLUSTER, **SHARED, "ovn_cluster_spec": {"tls": {"enabled": False}}}, False, id="no TLS by specification"
        ),
        pytest.param(
            {**CLUSTER, **SHARED, "ovn_cluster_spec": {"tls": {"nodeCertificates": "own"}}},
            False,
            id="by the specification",
        ),
        pytest.param(
            {
                **CLUSTER,
                "ovn_node_certificates": "own",
                "ovn_cluster_spec": {"tls": {"nodeCertificates": "shared"}},
            },
            True,
            id="the specification counts more",
        ),
        pytest.param({**CLUSTER, "ovn_node_certificates": "own", "ovn_tls": False}, False, id="own, and no TLS"),
        pytest.param(
            {**CLUSTER, "ovn_node_certificates": "own", "ovn_cluster_spec": {"tls": {"enabled": False}}},
            False,
            id="own, and no TLS by specification",
        ),
        pytest.param(SHARED, False, id="a machine"),
    ],
)
def test_relays_in_pods_know_chassis_by_name_unless_nodes_share_a_certificate(rack: Vars, share: bool) -> None:
    hosts, groups = {"plane": CLUSTER, "rack1": rack, "h1": {}}, {**GROUPS, "ovn_hypervisors": ["rack1", "h1"]}
    assert pki.share_certificates(hosts, groups) is share
    assert pki.clusters_with_node_certificates(hosts, groups) == (["rack1"] if pki.has_node_certificates(rack) else [])
    assert not (share and pki.has_node_certificates(rack))
    assert pki.chassis_have_role(hosts, groups) is not share
    assert not pki.chassis_have_role({**hosts, "plane": {**CLUSTER, "ovn_southbound_rbac": False}}, groups)
    assert pki.chassis_have_role({**hosts, "plane": {}}, groups), (
        "members on machines have a port of their own for nodes"
    )
    assert not pki.chassis_have_role(hosts, {**groups, "ovn_central": []})


@pytest.mark.parametrize(
    ("central", "expected"),
    [
        pytest.param({"c1": {}}, True, id="relays"),
        pytest.param({}, None, id="in another inventory"),
        pytest.param({"c1": {"ovn_southbound_rbac": "no"}}, False, id="no role"),
        pytest.param({"c1": CLUSTER}, True, id="in Kubernetes"),
        pytest.param({"c1": {**CLUSTER, "ovn_tls": False}}, False, id="in Kubernetes without TLS"),
        pytest.param({"c1": {**CLUSTER, "ovn_cluster_spec": named("a")}}, False, id="with a given Secret"),
    ],
)
def test_whose_chassis_have_a_ca_of_their_own(central: dict[str, Vars], expected: bool | None) -> None:
    hosts, groups = {**hostvars(), **central}, {**GROUPS, "ovn_central": list(central)}
    assert pki.chassis_service(hosts, groups)["chassis_ca"] is expected
    assert pki.desired_state(CLUSTER, hosts, groups, "rack1")["chassis_ca"] is expected


class TestNeighbors:
    def test_the_central_host_makes_the_common_secret(self) -> None:
        found = pki.neighbors(CLUSTER, hostvars(), GROUPS, "rack1")
        assert (found["central_twin"], found["given"], found["rivals"]) == ("plane", True, [])

    @pytest.mark.parametrize(
        "plane",
        [
            pytest.param({**CLUSTER, "ovn_namespace": "other"}, id="another namespace"),
            pytest.param({**CLUSTER, "ovn_kubeconfig": "/other"}, id="another cluster"),
            pytest.param({**CLUSTER, "ovn_context": "other"}, id="another context"),
            pytest.param({**CLUSTER, "ovn_cluster_spec": named("other")}, id="another Secret"),
            pytest.param({}, id="a machine"),
        ],
    )
    def test_another_secret_is_its_own(self, plane: Vars) -> None:
        found = pki.neighbors(CLUSTER, hostvars(plane=plane), GROUPS, "rack1")
        assert (found["central_twin"], found["given"]) == ("", False)

    def test_a_control_plane_has_no_twin(self) -> None:
        found = pki.neighbors(CLUSTER, hostvars(), GROUPS, "plane")
        assert (found["central_twin"], found["given"]) == ("", False)

    def test_the_option_decides_who_makes_it(self) -> None:
        given = {**CLUSTER, "ovn_pki_kubernetes_secret_given": "no"}
        assert pki.neighbors(given, hostvars(), GROUPS, "rack1")["given"] is False
        given = {**CLUSTER, "ovn_cluster_spec": named("theirs")}
        assert pki.neighbors(given, hostvars(), GROUPS, "rack1")["given"] is True

    def test_rivals_are_in_the_same_namespace(self) -> None:
        groups = {"ovn_hypervisors": ["rack1", "rack2", "h1"]}
        assert pki.neighbors(CLUSTER, hostvars(rack2=CLUSTER), groups, "rack1")["rivals"] == ["rack2"]
        assert pki.neighbors(CLUSTER, hostvars(), groups, "rack1")["rivals"] == []
        leaving = {**CLUSTER, "ovn_hypervisor_state": "absent"}
        assert pki.neighbors(CLUSTER, hostvars(rack2=leaving), groups, "rack1")["rivals"] == []

    def test_a_namespace_with_chassis_is_privileged(self) -> None:
        privileged = {"pod-security.kubernetes.io/enforce": "privileged"}
        elsewhere = {**CLUSTER, "ovn_namespace": "elsewhere"}
        assert pki.neighbors(CLUSTER, hostvars(), GROUPS, "plane")["namespace_labels"] == privileged
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        assert pki.neighbors(CLUSTER, hostvars(rack1=elsewhere), GROUPS, "plane")["namespace_labels"] == restricted
        assert pki.neighbors(CLUSTER, hostvars(), GROUPS, "rack1")["namespace_labels"] == privileged


@pytest.mark.parametrize(
    ("plane", "role"),
    [
        pytest.param({}, True, id="the default"),
        pytest.param({"ovn_cluster_spec": {"relay": {"rbac": False}}}, False, id="not by the specification"),
        pytest.param(
            {"ovn_southbound_rbac": False, "ovn_cluster_spec": {"relay": {"rbac": True}}},
            True,
            id="by the specification",
        ),
        pytest.param({"ovn_tls": False, "ovn_cluster_spec": {"relay": {"rbac": True}}}, False, id="no TLS"),
    ],
)
def test_the_specification_says_whether_relays_in_pods_give_a_role(plane: Vars, role: bool) -> None:
    hosts, groups = {"plane": {**CLUSTER, **plane}, "h1": {}}, {**GROUPS, "ovn_hypervisors": ["h1"]}
    assert pki.chassis_have_role(hosts, groups) is role
    on_machines = {"plane": {key: value for key, value in plane.items() if key != "ovn_tls"}, "h1": {}}
    assert pki.chassis_have_role(on_machines, groups) is ("ovn_southbound_rbac" not in plane)


def test_the_names_of_machines() -> None:
    hosts: dict[str, Vars] = {
        "h1": {},
        "h2": {"ovn_system_id": "two"},
        "h3": {"ovn_hypervisor_state": "absent"},
        "rack1": CLUSTER,
    }
    assert pki.machine_names(hosts, {"ovn_hypervisors": [*hosts]}) == ["h1", "two"]
