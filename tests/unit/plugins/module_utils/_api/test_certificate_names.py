"""By which names clients reach a control plane in Kubernetes."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.certificate_names import service_names

MEMBERS = [
    "*.ovn-northbound.net.svc",
    "*.ovn-northbound.net.svc.example.org",
    "*.ovn-southbound.net.svc",
    "*.ovn-southbound.net.svc.example.org",
]
NB, SB = ([f"{service}.net.svc", f"{service}.net.svc.example.org"] for service in ("ovn-nb", "ovn-sb"))


def integration(**connections: str) -> dict[str, t.Any]:
    return {"neutronIntegration": {key: {"service": {"name": name}} for key, name in connections.items()}}


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ({}, [*MEMBERS, *NB, *SB]),
        # what somebody has written and left empty
        (
            {"neutronIntegration": None, "northbound": None, "southbound": {"service": {"hostnames": None}}},
            [*MEMBERS, *NB, *SB],
        ),
        (integration(nbConnection="theirs"), [*MEMBERS, "theirs.net.svc", "theirs.net.svc.example.org", *SB]),
        (integration(sbConnection="theirs"), [*MEMBERS, *NB, "theirs.net.svc", "theirs.net.svc.example.org"]),
        # one name for both databases is there once
        (
            {
                "northbound": {"service": {"hostnames": ["a.example.com", "b.example.com"]}},
                "southbound": {"service": {"hostnames": ["b.example.com", "c.example.com"]}},
            },
            [*MEMBERS, *NB, *SB, "a.example.com", "b.example.com", "c.example.com"],
        ),
    ],
)
def test_names(specification: dict[str, t.Any], expected: list[str]) -> None:
    assert service_names(specification, "ovn", "net", "example.org") == expected


def test_they_are_those_of_this_cluster_and_namespace() -> None:
    names = service_names({}, "blue", "other", "cluster.local")
    assert names[:2] == ["*.blue-northbound.other.svc", "*.blue-northbound.other.svc.cluster.local"]
    assert "ovn-nb.other.svc" in names
