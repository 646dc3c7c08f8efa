"""Which Southbound members refuse certificates of the chassis CA, and which pods have to show what a Secret says before a CA phase goes on."""

from __future__ import annotations

import base64
import hashlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._base.tls_options import tls_arguments
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.ca_bundle import authorities_volume
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import (
    certificates,
    relay_tls_files,
    tls_files,
    tls_volume,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki_pods import secret_mounts, unready_members

Object = dict[str, t.Any]
ISSUER = "-----BEGIN CERTIFICATE-----\nYmI=\n-----END CERTIFICATE-----\n"
CENTRAL = "-----BEGIN CERTIFICATE-----\nYWE=\n-----END CERTIFICATE-----\n"


def pod(
    database: Database = "southbound",
    key: str = "",
    secret: str = "ovn-tls",
    phase: str = "Running",
    more: Object | None = None,
    has_relay: bool = True,
    **metadata: str,
) -> Object:
    client_ca = {"southboundClientCaKey": key} if key else {}
    tls = {"enabled": True, "certSecretRef": {"name": secret}, **client_ca, **(more or {})}
    spec = parse_spec({"tls": tls}, name="ovn", namespace="x")
    of_relay = relay_tls_files(spec)
    files = tls_files(enabled=True) if database == "northbound" or has_relay else of_relay
    env = [{"name": name, "value": value} for name, value in files.as_environment().items()]
    relay = {"name": "relay", "command": ["sh", "launcher", "run", *tls_arguments(of_relay)]}
    return {
        "kind": "Pod",
        "metadata": {"name": f"ovn-{database}-0", "namespace": "x", "labels": labels("ovn", database), **metadata},
        "spec": {
            "containers": [{"name": "beside"}, {"name": "database", "env": env}],
            **({"initContainers": [relay]} if database == "southbound" and has_relay else {}),
            "volumes": [{"name": "data", "emptyDir": {}}, *(volume for volume, _mount in certificates(spec, database))],
        },
        "status": {"phase": phase},
    }


def stateful_set(**given: t.Any) -> Object:
    one = pod(**given)
    metadata = {**one["metadata"], "name": "ovn-southbound"}
    return {"kind": "StatefulSet", "metadata": metadata, "spec": {"template": {"spec": one["spec"]}}, "status": {}}


def secret(**data: str) -> Object:
    encoded = {
        key.replace("_", ".").replace("client.", "client-"): base64.b64encode(text.encode()).decode()
        for key, text in data.items()
    }
    return {"item": "plane", "resources": [{"metadata": {"name": "ovn-tls"}, "data": encoded}]}


SECRET = secret(ca_crt=CENTRAL, client_ca_crt=CENTRAL + ISSUER, all_crt=ISSUER)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (pod(), ["Pod x/ovn-southbound-0"]),
        (pod(phase="Pending"), ["Pod x/ovn-southbound-0"]),
        (pod(key="client-ca.crt"), []),
        (pod(key="client-ca.crt", has_relay=False), []),
        (pod(has_relay=False), ["Pod x/ovn-southbound-0"]),
        (pod(key="all.crt"), []),
        (pod(key="nothing.crt"), ["Pod x/ovn-southbound-0"]),
        (pod("northbound"), []),
        (pod(phase="Failed"), []),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), []),
        (pod(secret="another"), []),
        ({**pod(), "metadata": {"name": "stranger", "namespace": "x"}}, []),
        (pod(more={"caConfigMapRef": {"name": "trusted"}}), []),
        (pod(more={"southboundClientCaConfigMapRef": {"name": "clients"}}), []),
        (pod(key="all.crt", more={"caConfigMapRef": {"name": "trusted"}}), []),
        (pod(key="nothing.crt", more={"caConfigMapRef": {"name": "trusted"}}), ["Pod x/ovn-southbound-0"]),
        (stateful_set(), ["StatefulSet x/ovn-southbound"]),
        (stateful_set(key="client-ca.crt"), []),
    ],
    ids=[
        *(
            "former",
            "not started yet",
            "with the bundle",
            "with the bundle, without a relay",
            "without both",
            "in a file of its owner",
            "in a file that is not there",
            "northbound",
            "has ended",
        ),
        *(
            "terminating",
            "another installation",
            "without labels",
            "a ConfigMap",
            "a ConfigMap for clients",
            "a projected file",
            "a projected file that is not there",
            "a template",
            "a template with the bundle",
        ),
    ],
)
def test_members_without_the_bundle(given: Object, found: list[str]) -> None:
    assert unready_members([{"item": "plane", "resources": [given]}], [SECRET], ISSUER) == found


def test_a_bundle_without_the_ca() -> None:
    """A member that was started with the file of a Secret which another one has written meanwhile."""
    listings = [{"item": "plane", "resources": [pod(key="client-ca.crt")]}, {"item": "rack1"}]
    assert unready_members(listings, [secret(ca_crt=CENTRAL, client_ca_crt=CENTRAL)], ISSUER) == [
        "Pod x/ovn-southbound-0"
    ]
    assert unready_members(listings, [{"item": "plane", "resources": []}], ISSUER) == []


def test_a_member_with_the_secret_of_before() -> None:
    """Its StatefulSet names the new one already; the OVN cluster beside it has nothing to do with that."""
    other = pod(secret="another")
    other["metadata"] = {**other["metadata"], "labels": labels("second", "southbound"), "name": "second-southbound-0"}
    listings = [{"item": "plane", "resources": [pod(secret="former"), stateful_set(key="client-ca.crt"), other]}]
    assert unready_members(listings, [SECRET], ISSUER) == ["Pod x/ovn-southbound-0"]


def test_a_ca_with_text_around_it() -> None:
    """As `openssl x509 -text` writes it."""
    listings = [{"item": "plane", "resources": [pod(key="client-ca.crt")]}]
    assert unready_members(listings, [SECRET], f"Certificate:\n    Data:\n{ISSUER}") == []


def mounted_secret(**data: str) -> Object:
    encoded = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {"metadata": {"name": "ovn-tls"}, "data": encoded}


def mounting_pod(
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


GIVEN = mounted_secret(ca_crt="bundle", tls_crt="certificate", tls_key="key")
DIGESTS = [hashlib.sha256(text).hexdigest() for text in (b"bundle", b"certificate")]
MOUNT: Object = {"host": "plane", "namespace": "x", "pod": "a", "container": "database", "digests": DIGESTS}
MOUNT["files"] = ["/tls/ca.crt", "/tls/tls.crt"]


def pod_with(volume: Object) -> Object:
    found = mounting_pod("a")
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
        ([mounting_pod("a")], [MOUNT]),
        ([mounting_pod("a"), mounting_pod("b")], [MOUNT, {**MOUNT, "pod": "b"}]),
        ([mounting_pod("a", secret_name="another")], []),
        ([mounting_pod("a", mounted=False)], []),
        ([mounting_pod("a", deletionTimestamp="2026-01-01T00:00:00Z")], []),
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
    listings = [{"item": "plane", "resources": [mounting_pod("a")]}]
    (found,) = secret_mounts(listings, [{"item": "plane", "resources": [with_clients]}])
    assert found["files"] == [*MOUNT["files"], "/tls/client-ca.crt"]
    assert found["digests"] == [*DIGESTS, hashlib.sha256(b"clients").hexdigest()]


def test_each_cluster_is_compared_with_its_own_secret() -> None:
    listings = [
        {"item": "plane", "resources": [mounting_pod("a")]},
        {"item": "rack1", "resources": [mounting_pod("a")]},
    ]
    other = mounted_secret(ca_crt="another bundle", tls_crt="certificate")
    found = secret_mounts(listings, [{"item": "plane", "resources": [GIVEN]}, {"item": "rack1", "resources": [other]}])
    assert [one["host"] for one in found] == ["plane", "rack1"]
    assert found[0]["digests"] != found[1]["digests"]


def test_a_cluster_without_a_secret_has_nothing_to_wait_for() -> None:
    assert (
        secret_mounts([{"item": "plane", "resources": [mounting_pod("a")]}], [{"item": "plane", "resources": []}]) == []
    )
