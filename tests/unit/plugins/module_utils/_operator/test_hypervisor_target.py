"""What of an object in a hypervisor cluster wakes the operator."""

from __future__ import annotations

import base64
import copy
import re
import typing as t

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._api.hypervisor_clusters import KubeconfigSecret
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.hypervisor_target import (
    Claims,
    endpoints_of,
    identity,
    node_extract,
    read_kubeconfig,
    request_extract,
    secrets_of,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.target import Waiting

NODE: dict[str, t.Any] = {
    "metadata": {"name": "a", "uid": "1", "labels": {"rack": "1"}, "annotations": {"ovn.c5c3.io/gateway": "true"}},
    "status": {
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "conditions": [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "1"},
            {"type": "DiskPressure", "status": "False"},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "value", "wakes"),
    [
        (("metadata", "labels"), {"rack": "2"}, True),
        (("metadata", "annotations"), {"ovn.c5c3.io/gateway": "false"}, True),
        (("metadata", "annotations"), {"ovn.c5c3.io/gateway": "true", "kubelet.example.com/seen": "now"}, False),
        (("metadata", "uid"), "2", True),
        (("metadata", "deletionTimestamp"), "now", True),
        (("status", "addresses"), [{"type": "InternalIP", "address": "192.0.2.2"}], True),
        (("status", "conditions"), [{"type": "Ready", "status": "False"}], True),
        (("status", "conditions"), [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2"}], False),
        (("status", "images"), ["many"], False),
    ],
)
def test_node(path: tuple[str, str], value: t.Any, wakes: bool) -> None:
    changed = copy.deepcopy(NODE)
    changed[path[0]][path[1]] = value
    assert (node_extract(changed) != node_extract(NODE)) is wakes


AGENT = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova"},
    "sharedSecretRef": {"name": "nova"},
}


@pytest.mark.parametrize(
    ("raw", "secrets"),
    [
        ({}, ["ovn-tls"]),
        ({"tls": {"enabled": False}}, []),
        ({"metadataAgent": AGENT}, ["ovn-tls", "nova"]),
        ({"metadataAgent": {**AGENT, "enabled": False}}, ["ovn-tls"]),
    ],
)
def test_secrets_whose_changes_wake_it(raw: dict[str, t.Any], secrets: list[str]) -> None:
    assert secrets_of(parse_spec(raw, name="ovn", namespace="net")) == secrets


def test_a_status_wakes_nobody_and_an_edit_does() -> None:
    one = {"metadata": {"uid": "1", "generation": 1}, "status": {"replicas": 1}}
    assert identity({**one, "status": {"replicas": 2}}) == identity(one)
    assert identity({**one, "metadata": {"uid": "1", "generation": 2}}) != identity(one)
    assert identity({**one, "metadata": {"uid": "2", "generation": 1}}) != identity(one)
    assert identity({**one, "metadata": {**one["metadata"], "deletionTimestamp": "now"}}) != identity(one)


def test_a_request_that_was_dealt_with_differs() -> None:
    one: dict[str, t.Any] = {"metadata": {"uid": "1"}, "status": {}}
    assert request_extract({"metadata": {"uid": "1", "resourceVersion": "77"}}) == request_extract(one)
    for other in (
        {**one, "status": {"certificate": "QQ=="}},
        {**one, "status": {"conditions": [{"type": "Denied"}]}},
        {**one, "metadata": {"uid": "2"}},
    ):
        assert request_extract(other) != request_extract(one)


def test_a_namespace_of_an_api_server_is_one_hypervisor_cluster() -> None:
    claims = Claims()
    for name, server, namespace in (
        ("rack1", "https://a", "net"),
        ("rack1", "https://a", "net"),  # with every new connection
        ("rack2", "https://a", "other"),
        ("rack3", "https://b", "net"),
    ):
        claims.claim(name, server, namespace)
    with pytest.raises(
        Refused, match=r"Hypervisor clusters rack1 and rack4 are namespace net of .*https://a.*Take one"
    ):
        claims.claim("rack4", "https://a", "net")
    # Who was refused holds nothing, and who has moved or is gone no more.
    claims.claim("rack4", "https://c", "net")
    claims.claim("rack1", "https://d", "net")
    claims.claim("rack5", "https://a", "net")
    claims.release("rack5")
    claims.release("rack5")
    claims.claim("rack6", "https://a", "net")


REFERENCE = KubeconfigSecret(name="rack1", key="kubeconfig")
GOOD: dict[str, t.Any] = {
    "clusters": [{"name": "a", "cluster": {"server": "https://192.0.2.1", "certificate-authority-data": "QQ=="}}],
    "users": [{"name": "a", "user": {"token": "secret"}}],
}


def secret(content: t.Any) -> dict[str, t.Any]:
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    return {"data": {"kubeconfig": base64.b64encode(text.encode()).decode()}}


def test_one_that_holds_everything_is_taken() -> None:
    assert read_kubeconfig(secret(GOOD), REFERENCE, "net") == GOOD


def user(**fields: t.Any) -> dict[str, t.Any]:
    return {**GOOD, "users": [{"name": "a", "user": fields}]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "Secret net/rack1 does not exist"),
        ({"data": {"value": "QQ=="}}, "has no key kubeconfig (its keys: value)"),
        ({}, "has no key kubeconfig (its keys: none)"),
        (secret(""), "has nothing in its key kubeconfig"),
        ({"data": {"kubeconfig": base64.b64encode(b"\xff").decode()}}, "cannot be read as YAML (UnicodeDecodeError)"),
        (secret("a: [b"), "cannot be read as YAML"),
        (secret("just a text"), "it names no clusters"),
        (secret({"users": []}), "it names no clusters"),
        (secret(user(exec={"command": "aws"})), "names exec: the operator runs no programs"),
        (secret(user(**{"auth-provider": {"name": "gcp"}})), "names auth-provider"),
        (secret(user(**{"client-key": "/a", "client-certificate": "/b"})), "names client-certificate, client-key"),
        (secret({**GOOD, "users": 7}), "clusters and users are not lists of mappings"),
        (secret({**GOOD, "clusters": ["a"]}), "clusters and users are not lists of mappings"),
        (
            secret({**GOOD, "clusters": [{"name": "a", "cluster": {"insecure-skip-tls-verify": True}}]}),
            "has insecure-skip-tls-verify",
        ),
        (secret(user(tokenFile="/var/run/secrets/kubernetes.io/serviceaccount/token")), "names tokenFile"),
        (
            secret({**GOOD, "clusters": [{"name": "a", "cluster": {"certificate-authority": "/etc/shadow"}}]}),
            "names certificate-authority",
        ),
    ],
)
def test_unusable_kubeconfig_is_reported(given: t.Any, told: str) -> None:
    with pytest.raises(OvnError, match=re.escape(told)) as error:
        read_kubeconfig(given, REFERENCE, "net")
    assert "secret" not in str(error.value).replace("Secret", "").replace("kubeconfigSecretRef", "").replace(
        "serviceaccount", ""
    )


CLUSTER: dict[str, t.Any] = {
    "metadata": {"name": "ovn", "namespace": "net", "uid": "1", "generation": 2},
    "status": {
        "conditions": [
            {"type": "UpToDate", "status": "True", "observedGeneration": 2},
            {"type": "Reconciled", "status": "True"},
        ],
        "endpoints": {"southbound": "ssl:a:2,ssl:b:2", "northbound": "ssl:a:1"},
        "northbound": {"members": []},
    },
}
SPEC = {"southbound": {"service": {"type": "NodePort"}}}


def test_endpoints_of_the_generation() -> None:
    spec = parse_spec(SPEC, name="ovn", namespace="net")
    assert endpoints_of(CLUSTER, spec) == (["ssl:a:2", "ssl:b:2"], ["ssl:a:1"])
    later = copy.deepcopy(CLUSTER)
    later["metadata"]["generation"] = 3
    with pytest.raises(Waiting, match="control plane of OVNCluster ovn is rolled out first"):
        endpoints_of(later, spec)
    without = copy.deepcopy(CLUSTER)
    without["status"]["endpoints"] = {}
    with pytest.raises(Waiting, match="no Southbound endpoints yet"):
        endpoints_of(without, spec)
    with pytest.raises(InvalidInput, match=r"southbound\.service\.type of OVNCluster ovn is ClusterIP"):
        endpoints_of(CLUSTER, parse_spec({}, name="ovn", namespace="net"))
