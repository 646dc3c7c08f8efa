from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import is_applied
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisors import hypervisor_manifests
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.node_authorities import node_authorities

OWN = {"ovn_backend": "kubernetes", "ovn_node_certificates": "own"}


def of_module(name: str, namespace: str, bundle: str) -> dict[str, t.Any]:
    manifests = hypervisor_manifests(
        parse_spec({"tls": {"nodeCertificates": "own"}}, name=name, namespace=namespace),
        name=name,
        namespace=namespace,
        southbound=[],
        northbound=[],
        tls_secret="ovn-tls",
        api_server="",
        settings={},
        archive=b"",
        authorities=bundle,
    )
    (found,) = [one for one in manifests if one["metadata"]["name"] == "ovn-chassis-ca"]
    return found


@pytest.mark.parametrize(
    ("variables", "name", "namespace"),
    [
        ({}, "ovn", "ovn-system"),
        ({"ovn_namespace": "net", "ovn_cluster_name": "prod"}, "prod", "net"),
    ],
)
def test_it_is_the_object_of_the_module(variables: dict[str, t.Any], name: str, namespace: str) -> None:
    """Else both would write it again and again."""
    found = node_authorities({**OWN, **variables}, "CAs")
    assert is_applied(of_module(name, namespace, "CAs"), found)
    assert not is_applied(of_module(name, namespace, "other CAs"), found)


@pytest.mark.parametrize(
    "variables",
    [
        {"ovn_node_certificates": "shared"},
        {"ovn_cluster_spec": {"tls": {"caConfigMapRef": {"name": "trusted"}}}},
        {"ovn_hypervisor_state": "absent"},
    ],
    ids=["they share", "CAs of another owner", "it is to be removed"],
)
def test_clusters_that_need_none(variables: dict[str, t.Any]) -> None:
    assert node_authorities(OWN, "CAs")
    assert node_authorities({**OWN, **variables}, "CAs") == {}
    assert node_authorities(OWN, "") == {}, "a Secret without CAs takes none away"
