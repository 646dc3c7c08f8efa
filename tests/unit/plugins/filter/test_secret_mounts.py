"""Which pods have to show what a Secret says before a CA phase goes on."""

from __future__ import annotations

import base64
import hashlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.secret_mounts import secret_mounts
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.node_certificates import authorities_volume
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import tls_volume

Object = dict[str, t.Any]


def secret(**data: str) -> Object:
    encoded = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {"metadata": {"name": "ovn-tls"}, "data": encoded}


def pod(
    name: str, secret_name: str = "ovn-tls", mounted: bool = True, phase: str = "Running", **metadata: str
) -> Object:
    mounts = [{"name": "run", "mountPath": "/run/ovn"}, *([{"name": "tls", "mountPath": "/tls"}] if mounted else [])]
    containers = [
        {"name": "database", "volumeMounts": mounts},
        {"name": "second", "volumeMounts": [{"name": "tls", "mountPath": "/tls"}] if mounted else []},
    ]
    volumes = [{"name": "run", "emptyDir": {}}, {"name": "tls", "secret": {"secretName": secret_name}}]
    return {
        "metadata": {"name": name, "namespace": "x", **metadata},
        "spec": {"containers": containers, "volumes": volumes},
        "status": {"phase": phase},
    }


GIVEN = secret(ca_crt="bundle", tls_crt="certificate", tls_key="key")
DIGESTS = [hashlib.sha256(text).hexdigest() for text in (b"bundle", b"certificate")]
MOUNT: Object = {"host": "plane", "namespace": "x", "pod": "a", "container": "database", "digests": DIGESTS}
MOUNT["files"] = ["/tls/ca.crt", "/tls/tls.crt"]


def pod_with(volume: Object) -> Object:
    found = pod("a")
    found["spec"]["volumes"] = [{"name": "tls", **volume}]
    return found


def shown(tls: Object) -> Object:
    """The volume of a member of the Southbound."""
    spec = parse_spec({"tls": tls}, name="ovn", namespace="x")
    volume = tls_volume(spec.tls, spec.tls_secret, mode=0o440, database="southbound")
    return {key: value for key, value in volume.items() if key != "name"}


CA_ONLY = [{"key": "ca.crt", "path": "cacert.pem"}]
CA_ITEM = [{"key": "all.pem", "path": "ca.crt"}]
ONLY_CA = {**MOUNT, "files": ["/tls/cacert.pem"], "digests": DIGESTS[:1]}


@pytest.mark.parametrize(
    ("volume", "found"),
    [
        ({"secret": {"secretName": "ovn-tls", "items": CA_ONLY}}, [ONLY_CA]),
        ({"secret": {"secretName": "ovn-tls", "items": [{"key": "tls.key", "path": "key"}]}}, []),
        ({"projected": {"sources": [{"secret": {"name": "ovn-tls"}}]}}, [MOUNT]),
        (
            {
                "projected": {
                    "sources": [{"configMap": {"name": "a"}}, {"secret": {"name": "ovn-tls", "items": CA_ONLY}}]
                }
            },
            [ONLY_CA],
        ),
        ({"projected": {"sources": [{"secret": {"name": "another"}}]}}, []),
        (shown({"caConfigMapRef": {"name": "ca"}}), [{**MOUNT, "files": ["/tls/tls.crt"], "digests": DIGESTS[1:]}]),
        (shown({"southboundClientCaConfigMapRef": {"name": "ca"}}), [MOUNT]),
        (
            {
                "projected": {
                    "sources": [{"secret": {"name": "ovn-tls"}}, {"configMap": {"name": "a", "items": CA_ITEM}}]
                }
            },
            [{**MOUNT, "files": ["/tls/tls.crt"], "digests": DIGESTS[1:]}],
        ),
        (
            authorities_volume(parse_spec({}, name="ovn", namespace="x").tls),
            [{**MOUNT, "files": ["/tls/ca.crt"], "digests": DIGESTS[:1]}],
        ),
        (
            authorities_volume(parse_spec({"tls": {"caConfigMapRef": {"name": "ca"}}}, name="ovn", namespace="x").tls),
            [],
        ),
    ],
    ids=[
        "only the bundle, renamed",
        "only the key",
        "projected",
        "projected, only the bundle",
        "another, projected",
        "the bundle from a ConfigMap",
        "the bundle of clients from a ConfigMap",
        "whole, with the bundle of a ConfigMap in its place",
        "our ConfigMap for nodes with certificates of their own",
        "a ConfigMap of another owner for these",
    ],
)
def test_only_files_that_the_pod_has_are_asked_for(volume: Object, found: list[Object]) -> None:
    listings = [{"item": "plane", "resources": [pod_with(volume)]}]
    assert secret_mounts(listings, [{"item": "plane", "resources": [GIVEN]}]) == found


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        ([pod("a")], [MOUNT]),
        ([pod("a"), pod("b")], [MOUNT, {**MOUNT, "pod": "b"}]),
        ([pod("a", secret_name="another")], []),
        ([pod("a", mounted=False)], []),
        ([pod("a", deletionTimestamp="2026-01-01T00:00:00Z")], []),
        ([], []),
    ],
    ids=[
        "it mounts the Secret",
        "two of them",
        "it mounts another one",
        "no container has it",
        "terminating",
        "no pods",
    ],
)
def test_pods_that_mount_the_secret(pods: list[Object], found: list[Object]) -> None:
    listings = [{"item": "plane", "resources": pods}]
    assert secret_mounts(listings, [{"item": "plane", "resources": [GIVEN]}]) == found


def test_the_bundle_of_clients_counts_where_there_is_one() -> None:
    with_clients = {**GIVEN, "data": {**GIVEN["data"], "client-ca.crt": base64.b64encode(b"clients").decode()}}
    listings = [{"item": "plane", "resources": [pod("a")]}]
    (found,) = secret_mounts(listings, [{"item": "plane", "resources": [with_clients]}])
    assert found["files"] == [*MOUNT["files"], "/tls/client-ca.crt"]
    assert found["digests"] == [*DIGESTS, hashlib.sha256(b"clients").hexdigest()]


def test_each_cluster_is_compared_with_its_own_secret() -> None:
    listings = [{"item": "plane", "resources": [pod("a")]}, {"item": "rack1", "resources": [pod("a")]}]
    other = secret(ca_crt="another bundle", tls_crt="certificate")
    found = secret_mounts(listings, [{"item": "plane", "resources": [GIVEN]}, {"item": "rack1", "resources": [other]}])
    assert [one["host"] for one in found] == ["plane", "rack1"]
    assert found[0]["digests"] != found[1]["digests"]


def test_a_cluster_without_a_secret_has_nothing_to_wait_for() -> None:
    assert secret_mounts([{"item": "plane", "resources": [pod("a")]}], [{"item": "plane", "resources": []}]) == []
