"""Which Southbound members refuse certificates of the chassis CA."""

from __future__ import annotations

import base64
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._base.tls_options import tls_arguments
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import certificates, relay_tls_files, tls_files
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki_pods import unready_members

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
