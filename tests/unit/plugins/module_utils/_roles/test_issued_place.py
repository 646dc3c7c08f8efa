"""Where the list of issued certificates of a central host is."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.issued_place import issued_path, issued_place

FILE = "issued-certificates.json"
KUBERNETES = {"ovn_backend": "kubernetes"}
CLUSTER = {"kubeconfig": "", "context": "", "namespace": "ovn-system", "cluster": "ovn"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, f"/etc/c5c3-ovn/{FILE}"),
        ({"ovn_central_config_directory": ""}, f"/etc/c5c3-ovn/{FILE}"),
        ({"ovn_central_config_directory": "/srv"}, f"/srv/{FILE}"),
        # where the observer reads it, whatever a play has said
        ({"ovn_central_config_directory": "/srv", "ovn_central_check": {"desired": {"issued_certificates": "/own/list"}}}, "/own/list"),
        ({**KUBERNETES, "ovn_backend": "host"}, f"/etc/c5c3-ovn/{FILE}"),
    ],
)  # fmt: skip
def test_the_file_of_a_machine(variables: dict[str, t.Any], expected: str) -> None:
    assert issued_path(variables) == expected
    assert issued_place({"c1": variables}, "c1") == {"title": expected, "path": expected}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (KUBERNETES, {}),
        ({"ovn_backend": "kubernetes"}, {}),
        (
            {**KUBERNETES, "ovn_kubeconfig": "/k", "ovn_context": "x", "ovn_namespace": "n", "ovn_cluster_name": "c"},
            {"kubeconfig": "/k", "context": "x", "namespace": "n", "cluster": "c"},
        ),
        (
            {
                **KUBERNETES,
                "ovn_kubeconfig": {"clusters": []}, "ovn_context": "y", "ovn_namespace": "m", "ovn_cluster_name": "d",
            },
            {"kubeconfig": {"clusters": []}, "context": "y", "namespace": "m", "cluster": "d"},
        ),
    ],
)  # fmt: skip
def test_a_control_plane_in_kubernetes(variables: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    found = issued_place({"c1": variables}, "c1")
    place = {**CLUSTER, **expected}
    assert found.pop("title") == f"ConfigMap {place['namespace']}/{place['cluster']}-issued-certificates"
    assert found == place
