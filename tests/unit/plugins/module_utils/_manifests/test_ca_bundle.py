"""Where the CAs are that members let in, as it is declared and as their pods show it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.ca_bundle import (
    Bundle,
    bundle_in_use,
    declared_bundle,
)

Object = dict[str, t.Any]
TRUSTED = {"caConfigMapRef": {"name": "trusted", "key": "all.pem"}}


@pytest.mark.parametrize(
    ("tls", "declared", "field"),
    [
        ({}, Bundle("Secret", "prod-tls", "ca.crt"), ""),
        ({"certSecretRef": {"name": "a"}}, Bundle("Secret", "a", "ca.crt"), ""),
        (TRUSTED, Bundle("ConfigMap", "trusted", "all.pem"), "caConfigMapRef"),
        ({"southboundClientCaKey": "b"}, Bundle("Secret", "prod-tls", "b"), "southboundClientCaKey"),
        ({**TRUSTED, "southboundClientCaKey": "b"}, Bundle("Secret", "prod-tls", "b"), "southboundClientCaKey"),
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
def test_declared_and_shown_are_the_same(
    central: t.Callable[..., t.Any], tls: Object, declared: Bundle, field: str
) -> None:
    manifests = central({"tls": tls})
    spec = parse_spec({"tls": tls}, name="prod", namespace="net")
    assert declared_bundle(spec, "southbound") == (declared, field)
    assert bundle_in_use(manifests.pod("StatefulSet", "prod-southbound")) == declared
    northbound = (
        Bundle("ConfigMap", "trusted", "all.pem")
        if "caConfigMapRef" in tls
        else Bundle("Secret", spec.tls_secret, "ca.crt")
    )
    assert declared_bundle(spec, "northbound") == (northbound, "caConfigMapRef" if "caConfigMapRef" in tls else "")
    assert bundle_in_use(manifests.pod("StatefulSet", "prod-northbound")) == northbound


def test_members_without_tls_have_none(central: t.Callable[..., t.Any]) -> None:
    assert bundle_in_use(central({"tls": {"enabled": False}}).pod("StatefulSet", "prod-southbound")) is None
