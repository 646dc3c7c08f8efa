from __future__ import annotations

import typing as t

import pytest
from refused_specs import REFUSED, northbound

from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import complete
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import CLUSTER_SPEC, ClusterSpec, parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._api.tls_spec import ConfigMapReference
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput


def parse(raw: dict[str, t.Any]) -> ClusterSpec:
    return parse_spec(raw, name="ovn", namespace="ovn-system")


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(("raw", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(raw: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse(raw)


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("1ovn", "net", '^name is "1ovn"'),
        ("Ovn", "net", "^name is "),
        ("o" * 41, "net", "^name has 41 characters"),
        ("ovn", "my_net", "^namespace is "),
    ],
)
def test_names_that_no_pod_can_have(name: str, namespace: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_spec({}, name=name, namespace=namespace)


def test_defaults() -> None:
    spec = parse({})
    assert (spec.ovn_image.reference, spec.ovs_image.reference) == (
        "ghcr.io/c5c3/ovn:24.03.4",
        "ghcr.io/c5c3/ovs:3.4.1",
    )
    for database in (spec.northbound, spec.southbound):
        assert (database.replicas, database.storage.size, database.storage.storage_class) == (3, "10Gi", None)
        assert (database.election_timer, database.inactivity_probe) == (5000, 30000)
        assert (database.service.type, database.service.exposed) == ("ClusterIP", False)
    assert (spec.northd.replicas, spec.northd.threads) == (3, 1)
    for daemons in (spec.controller, spec.ovs):
        assert daemons.node_selector == {"node-role.kubernetes.io/hypervisor": ""}
    assert (spec.ovs.datapath_type, spec.ovs.underlay) == ("system", None)
    assert (spec.encapsulation.type, spec.encapsulation.interface, spec.encapsulation.cidr) == ("geneve", None, None)
    assert (spec.tls.enabled, spec.tls_secret) == (True, "ovn-tls")
    assert spec.gateway.node_selector == {}
    services = [spec.neutron_integration.service(database) for database in DATABASES]
    assert [(service.name, service.port) for service in services] == [("ovn-nb", 6641), ("ovn-sb", 6642)]


def test_configmaps_with_cas() -> None:
    tls = parse({}).tls
    assert (tls.ca_config_map_ref, tls.southbound_client_ca_config_map_ref) == (None, None)
    clients = {"southboundClientCaKey": None, "southboundClientCaConfigMapRef": {"name": "clients", "key": "all.pem"}}
    tls = parse({"tls": {"caConfigMapRef": {"name": "trusted"}, **clients}}).tls
    assert tls.ca_config_map_ref == ConfigMapReference("trusted", "ca.crt")
    assert tls.southbound_client_ca_config_map_ref == ConfigMapReference("clients", "all.pem")


def test_what_the_api_server_completed_means_the_same() -> None:
    raw = {"northbound": {"replicas": 5}, "bridgeMappings": [{"physicalNetwork": "a", "bridge": "x"}]}
    assert parse(complete(CLUSTER_SPEC, raw, "spec")) == parse(raw)


def test_null_is_not_given() -> None:
    assert parse({"northbound": {"replicas": None, "service": None}, "gateway": None}) == parse({})


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ({"tag": "25.03"}, "ghcr.io/c5c3/ovn:25.03"),
        ({"repository": "registry.example.com:5000/ovn"}, "registry.example.com:5000/ovn:24.03.4"),
        ({"tag": "25.03", "digest": DIGEST}, f"ghcr.io/c5c3/ovn@{DIGEST}"),
    ],
)
def test_image(image: dict[str, str], reference: str) -> None:
    assert parse({"ovnImage": image}).ovn_image.reference == reference


def test_quantities_read_as_the_api_server_gives_them_back() -> None:
    spec = parse(northbound(storage={"size": "1024Mi"}, resources={"requests": {"cpu": 1, "memory": "0.5Gi"}}))
    assert spec.northbound.storage.size == "1Gi"
    assert spec.northbound.resources.as_dict() == {"requests": {"cpu": "1", "memory": "512Mi"}}


@pytest.mark.parametrize("cidr", ["192.0.2.0/24", "2001:db8::/64"])
def test_both_families(cidr: str) -> None:
    assert parse({"encapsulation": {"cidr": cidr}}).encapsulation.cidr == cidr
    assert parse({"network": {"netCidr": f"10.128.0.0/14/23,{cidr}", "svcCidr": cidr}}).network.svc_cidr == cidr
