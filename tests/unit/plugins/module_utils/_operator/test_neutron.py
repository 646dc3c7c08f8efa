"""Which Neutron resources get endpoints, and which."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.neutron import neutron_patch

ENDPOINTS = {"northbound": "ssl:a:1,ssl:b:1", "southbound": "ssl:a:2", "southboundUnrestricted": ""}
WANTED = {"nbConnection": "ssl:a:1,ssl:b:1", "sbConnection": "ssl:a:2"}


def neutron(namespace: str = "openstack", **ovn: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": "neutron", "namespace": namespace}, "spec": {"ovn": ovn}}


REFERENCE = {"name": "ovn", "namespace": "ovn-system"}


@pytest.mark.parametrize(
    ("resource", "endpoints", "expected"),
    [
        (neutron(enabled=True, clusterRef=REFERENCE), ENDPOINTS, WANTED),
        (neutron(enabled=True, clusterRef=REFERENCE, **WANTED), ENDPOINTS, None),
        (
            neutron(enabled=True, clusterRef=REFERENCE, **{**WANTED, "sbConnection": "old"}),
            ENDPOINTS,
            {"sbConnection": "ssl:a:2"},
        ),
        (
            neutron(enabled=True, clusterRef=REFERENCE),
            {**ENDPOINTS, "southboundUnrestricted": "ssl:a:16642"},
            {**WANTED, "sbConnection": "ssl:a:16642"},
        ),
        (neutron(enabled=False, clusterRef=REFERENCE), ENDPOINTS, None),
        (neutron(enabled=True), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef={"name": "other", "namespace": "ovn-system"}), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef={"name": "ovn"}), ENDPOINTS, None),  # in its own namespace
        (neutron("ovn-system", enabled=True, clusterRef={"name": "ovn"}), ENDPOINTS, WANTED),
        (neutron(enabled=True, clusterRef={"name": "ovn", "namespace": "other"}), ENDPOINTS, None),
        (neutron(enabled=True, clusterRef=REFERENCE, nbConnection="ssl:mine:1"), {}, None),  # nothing is known
        ({"metadata": {"name": "neutron", "namespace": "openstack"}}, ENDPOINTS, None),
    ],
)
def test_neutron(resource: dict[str, t.Any], endpoints: dict[str, str], expected: dict[str, str] | None) -> None:
    patch = neutron_patch(resource, "ovn", "ovn-system", endpoints)
    assert (patch or {"spec": {"ovn": None}})["spec"]["ovn"] == expected
