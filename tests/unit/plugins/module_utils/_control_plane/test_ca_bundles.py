"""Where the CAs are that members let in, as it is declared and as their pods show it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.ca_bundles import (
    Bundle,
    bundle_in_use,
    declared_bundle,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._databases import DATABASES, Database
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.central import central_manifests

Object = dict[str, t.Any]
TRUSTED = {"caConfigMapRef": {"name": "trusted", "key": "all.pem"}}


def stateful_set(tls: Object, database: Database = "southbound") -> Object:
    manifests = central_manifests(
        parse_spec({"tls": tls}, name="ovn", namespace="net"),
        name="ovn",
        namespace="net",
        cluster_domain="cluster.local",
        owner=None,
        launcher="",
        archive=b"",
        replicas=dict.fromkeys(DATABASES, 3),
    )
    (found,) = [
        one for one in manifests if one["metadata"]["name"] == f"ovn-{database}" and one["kind"] == "StatefulSet"
    ]
    return found


@pytest.mark.parametrize(
    ("tls", "declared", "field"),
    [
        ({}, Bundle("Secret", "ovn-tls", "ca.crt"), ""),
        ({"certSecretRef": {"name": "a"}}, Bundle("Secret", "a", "ca.crt"), ""),
        (TRUSTED, Bundle("ConfigMap", "trusted", "all.pem"), "caConfigMapRef"),
        ({"southboundClientCaKey": "b"}, Bundle("Secret", "ovn-tls", "b"), "southboundClientCaKey"),
        ({**TRUSTED, "southboundClientCaKey": "b"}, Bundle("Secret", "ovn-tls", "b"), "southboundClientCaKey"),
        (
            {"southboundClientCaConfigMapRef": {"name": "clients"}},
            Bundle("ConfigMap", "clients", "ca.crt"),
            "southboundClientCaConfigMapRef",
        ),
        (
            {**TRUSTED, "southboundClientCaConfigMapRef": {"name": "clients"}},
            Bundle("ConfigMap", "clients", "ca.crt"),
            "southboundClientCaConfigMapRef",
        ),
    ],
)
def test_declared_and_shown_are_the_same(tls: Object, declared: Bundle, field: str) -> None:
    spec = parse_spec({"tls": tls}, name="ovn", namespace="net")
    assert declared_bundle(spec, "southbound") == (declared, field)
    assert bundle_in_use(stateful_set(tls)) == declared
    northbound = (
        Bundle("ConfigMap", "trusted", "all.pem")
        if "caConfigMapRef" in tls
        else Bundle("Secret", spec.tls_secret, "ca.crt")
    )
    assert declared_bundle(spec, "northbound") == (northbound, "caConfigMapRef" if "caConfigMapRef" in tls else "")
    assert bundle_in_use(stateful_set(tls, "northbound")) == northbound


def test_members_without_tls_have_none() -> None:
    assert bundle_in_use(None) is None
    assert bundle_in_use(stateful_set({"enabled": False})) is None
